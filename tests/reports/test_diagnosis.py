"""What lost steps are put down to, in runs whose flaws are known beforehand."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import perdure
from perdure.cli.main import app
from perdure.core.errors import UsageError
from perdure.reports.diagnosis import Cause, diagnose, diagnosis_facts, diagnosis_table

FLAWED = '''
import json
import re

from perdure.environments.{world} import WORLD
from perdure.strategies.summary_prompt import asks_for_summary


def flaw(event):
    """By the sum of the digits of what happens: no action, another action, or none."""
    return {{0: "mute", 3: "wrong"}}.get(sum(map(int, re.findall("[0-9]", event))) % 11, "")


def reply(request):
    messages = request.messages
    if asks_for_summary(messages):
        return WORLD.readers.perfect_summary(messages)
    best = WORLD.readers.perfect_reader(messages)
    told = "\\n".join(message.text for message in messages if message.role != "agent")
    found = flaw(re.findall("Event: (.*)", told)[-1])
    if found == "mute":
        return "I do not know."
    if found == "wrong":
        if best.startswith("```json"):
            answer = json.loads(best[8:-4])
            return "```json\\n" + json.dumps({{**answer, "action": "Wait"}}) + "\\n```"
        return re.sub("Action: .*", "Action: Wait", best)
    return best
'''


def played(
    folder: Path, world: str, strategy: dict[str, Any], *, flawed: bool = True, **more: Any
) -> perdure.Run:
    script = folder / "flawed.py"
    script.write_text(FLAWED.format(world=world))
    model = (
        {"provider": "scripted", "replies": f"{script}:reply"} if flawed else {"provider": "perfect_reader"}
    )
    return perdure.run(
        {
            "environment": {"name": world, "horizon": 40, "tasks": 2, **more.pop("environment", {})},
            "agent": {"strategy": strategy, **more.pop("agent", {})},
            "models": {"default": model},
            **more,
        },
        out=folder / "run",
    )


def flaw(event: str) -> Cause | None:
    digits = sum(map(int, re.findall("[0-9]", event)))
    return {0: Cause.NO_ACTION, 3: Cause.MODEL_ERRED}.get(digits % 11)


def events(run: perdure.Run, session: int) -> list[str]:
    """The event of each step."""
    past = run.sessions[session]
    shown = [past.history[0].text, *(interaction.observation.text for interaction in past.interactions)]
    return [found[1] for text in shown if (found := re.search("Event: (.*)", text))]


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("strategy", ["full_history", "structured_state", "stateful", "memory"])
@pytest.mark.parametrize("world", ["warehouse", "repository"])
def test_flaws_are_found_where_they_were_made(
    tmp_path: Path, world: str, strategy: str, retries: int
) -> None:
    run = played(tmp_path, world, {"name": strategy}, agent={"retries": retries})
    found = diagnose(run)
    assert found.lost
    assert found.counted == sum(int(record.detail["actionable"] or 0) for record in run.records())
    right = sum(int(record.detail["correct_actions"] or 0) for record in run.records())
    assert len(found.lost) == found.counted - right
    told = {(step.task_id, step.step): step.cause for step in found.lost}
    for index, past in enumerate(run.sessions):
        for number, event in enumerate(events(run, index), 1):
            cause = told.get((past.record.task_id, number))
            if cause in (Cause.NO_ACTION, Cause.MODEL_ERRED):
                assert cause is flaw(event), (number, event)
            elif cause is Cause.NOT_IN_PROMPT:
                assert flaw(event) is not Cause.NO_ACTION, (number, event)
    assert found.counts[Cause.NO_ACTION] > 0
    assert found.counts[Cause.MODEL_ERRED] > 0
    if strategy == "full_history":
        assert found.counts[Cause.NOT_IN_PROMPT] == 0, "everything that was said is in the prompt"


@pytest.mark.parametrize("world", ["warehouse", "repository"])
def test_a_short_window_lets_nothing_through(tmp_path: Path, world: str) -> None:
    run = played(tmp_path, world, {"name": "sliding_window", "turns": 2}, flawed=False)
    counts = diagnose(run).counts
    assert counts[Cause.NOT_IN_PROMPT] > 0
    assert counts[Cause.NO_ACTION] == counts[Cause.MODEL_ERRED] == counts[Cause.NOT_REACHED] == 0


def test_a_perfect_run_loses_nothing(tmp_path: Path) -> None:
    run = played(tmp_path, "repository", {"name": "structured_state"}, flawed=False)
    facts = diagnosis_facts(run)
    assert facts is not None
    assert sum(facts["lost"].values()) == 0
    assert diagnosis_table([{"diagnosis": facts}], ["A"]) is None


def test_what_was_not_reached_is_told(tmp_path: Path) -> None:
    run = played(
        tmp_path, "warehouse", {"name": "full_history"}, flawed=False, limits={"max_interactions": 15}
    )
    assert diagnose(run).counts[Cause.NOT_REACHED] == 2 * 25


def test_no_model_is_asked(tmp_path: Path) -> None:
    run = played(tmp_path, "warehouse", {"name": "full_history"})
    before = diagnose(run).counts
    (tmp_path / "flawed.py").write_text(
        "def reply(request):\n    raise AssertionError('a model was asked')\n"
    )
    assert diagnose(perdure.load(run.folder)).counts == before


def test_it_says_why_a_run_cannot_be_diagnosed(tmp_path: Path) -> None:
    floor = perdure.run(
        {"environment": {"name": "warehouse", "horizon": 10, "tasks": 1}, "agent": {"kind": "do_nothing"}},
        out=tmp_path / "floor",
    )
    with pytest.raises(UsageError, match="its agent is 'do_nothing'"):
        diagnose(floor)
    assert diagnosis_facts(floor) is None
    counter = perdure.run(
        {
            "environment": {"name": "counter", "tasks": 1},
            "models": {"default": {"provider": "scripted", "replies": ["Action: done"]}},
        },
        out=tmp_path / "counter",
    )
    with pytest.raises(UsageError, match="'counter' has no perfect reader"):
        diagnose(counter)


def test_the_command_and_the_report_show_it_by_run(tmp_path: Path) -> None:
    first = played(tmp_path, "warehouse", {"name": "full_history"})
    (tmp_path / "second").mkdir()
    second = played(tmp_path / "second", "warehouse", {"name": "sliding_window", "turns": 2}, flawed=False)
    runner = CliRunner()
    result = runner.invoke(app, ["diagnose", str(first.folder), str(second.folder), "--json"])
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    for run, one in zip((first, second), facts, strict=True):
        assert one["lost"] == {str(cause): count for cause, count in diagnose(run).counts.items()}
        assert Counter(step["cause"] for step in one["steps"]) == Counter(one["lost"])
    shown = runner.invoke(app, ["diagnose", str(first.folder), "--steps", "3"], env={"COLUMNS": "300"})
    assert shown.exit_code == 0
    for header in ("no action", "not in the prompt", "model erred", "the perfect reader"):
        assert header in shown.stdout
    report = runner.invoke(app, ["report", str(first.folder), str(second.folder)])
    assert report.exit_code == 0
    assert "Where steps were lost" in report.stdout
    wrong = runner.invoke(app, ["diagnose", str(tmp_path)])
    assert wrong.exit_code == 2
