from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import perdure
from perdure.callbacks.abort_on_agent_errors import AbortOnAgentErrors
from perdure.callbacks.progress import CALLBACK, Progress
from perdure.core.callback import Callback
from perdure.core.errors import ModelError
from perdure.core.types import Request, Trial
from perdure.environments.counter import CounterEnvironment
from perdure.models.scripted import ScriptedModel
from tests.core.playing import DONE, play, pool_of, step_to_goal
from tests.core.spy import Spy


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_where_stderr_is_no_terminal(tmp_path: Path) -> None:
    stream = io.StringIO()
    play(tmp_path, step_to_goal, [Progress(total=3, every=0, stream=stream)], tasks=3)
    lines = stream.getvalue().splitlines()
    assert "\x1b" not in stream.getvalue()
    assert lines[0] == "task 1 of 3, step 0 …"
    assert lines[1] == "0/3 tasks · task 1 of 3, step 0 … · time left unknown"
    assert re.fullmatch(r"3/3 tasks · success 100\.0% \[44%, 100%\] · step \d · about 0 s left", lines[-1]), (
        lines[-1]
    )
    steps = [int(found) for found in re.findall(r"step (\d)", stream.getvalue())]
    assert max(steps) > 1, "a long task shows its steps"


def test_between_two_lines_pass_so_many_seconds_but_first_and_last_are_always_printed(tmp_path: Path) -> None:
    stream = io.StringIO()
    play(tmp_path, step_to_goal, [Progress(total=3, every=3600, stream=stream)], tasks=3)
    lines = [line.split(" · ")[0] for line in stream.getvalue().splitlines()]
    assert lines == ["task 1 of 3, step 0 …", "3/3 tasks"]


def test_something_is_said_before_a_model_is_asked(tmp_path: Path) -> None:
    stream = io.StringIO()
    seen: list[str] = []

    def reply(request: Request) -> str:
        seen.append(stream.getvalue())
        return DONE

    play(tmp_path, reply, [Progress(total=1, every=3600, stream=stream)], tasks=1)
    assert seen == ["task 1 of 1, step 0 …\n"]


def test_what_an_earlier_process_finished_counts(tmp_path: Path) -> None:
    environment = CounterEnvironment(tasks=4)
    schedule = [Trial(task) for task in environment.task_ids()]
    play(tmp_path, step_to_goal, environment=environment, schedule=schedule[:2])
    stream = io.StringIO()
    play(
        tmp_path,
        lambda request: DONE,
        [Progress(total=4, every=0, stream=stream)],
        environment=environment,
        schedule=schedule,
    )
    lines = stream.getvalue().splitlines()
    assert lines[0] == "task 3 of 4, step 0 …"
    assert lines[1].startswith("2/4 tasks · success 100.0%")
    assert lines[1].endswith("time left unknown")
    assert lines[-1].startswith("4/4 tasks · success 50.0%")


def test_a_task_that_was_given_up_counts_as_done(tmp_path: Path) -> None:
    stream = io.StringIO()
    callbacks: list[Callback] = [AbortOnAgentErrors(tolerance=1), Progress(total=3, every=0, stream=stream)]
    play(tmp_path, [ModelError("down")], callbacks, tasks=3)
    assert stream.getvalue().splitlines()[-1].startswith("3/3 tasks · success 0.0%")


def test_tokens_of_every_caller_are_shown(tmp_path: Path) -> None:
    stream = io.StringIO()
    pool = pool_of(ScriptedModel(step_to_goal))
    play(tmp_path, callbacks=[Progress(total=1, every=0, pool=pool, stream=stream)], tasks=1, pool=pool)
    expected = f"{pool.usage.prompt_tokens:,} prompt + {pool.usage.completion_tokens:,} completion tokens"
    assert pool.usage.prompt_tokens > 0
    assert expected in stream.getvalue().splitlines()[-1]


def test_a_live_bar_on_a_terminal_that_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    progress = Progress(total=3, stream=stream)
    play(tmp_path, step_to_goal, [progress], tasks=3)
    assert "\x1b[?25l" in stream.getvalue(), "the cursor is hidden while the bar lives"
    progress.close()
    progress.close()
    assert stream.getvalue().count("\x1b[?25l") == stream.getvalue().count("\x1b[?25h") == 1
    assert "3/3" in stream.getvalue()
    assert "success 100.0%" in stream.getvalue()


def test_a_failing_run_gives_the_terminal_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    progress = Progress(total=2, stream=stream)

    def fail(event: str, ctx: perdure.CallbackContext) -> None:
        if event == "on_environment_reset":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(tmp_path, step_to_goal, [progress, Spy([], act=fail)], tasks=2)
    progress.close()
    assert stream.getvalue().count("\x1b[?25l") == stream.getvalue().count("\x1b[?25h") == 1


def test_as_a_watcher_it_writes_to_stderr_and_is_no_part_of_the_identity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert CALLBACK is Progress
    config = {"environment": {"name": "counter", "tasks": 2}, "agent": {"kind": "oracle"}}
    watched = perdure.run(config, out=tmp_path / "a", watchers=["progress"])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("2/2 tasks · success 100.0%")
    assert watched.hash == perdure.run(config, out=tmp_path / "b").hash
