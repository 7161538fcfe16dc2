"""What was paid is told, what failed reproducibly poisons nothing, and what a callback edited comes back."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import perdure
from perdure.core.errors import EnvironmentUnavailable, ModelUnavailable, RunFolderError
from perdure.core.types import EvaluationOutcome, SessionStatus
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.storage.ledger import LedgerRow, rows_of
from tests.core import talking_parts
from tests.core.bench import Bench

PARTS = talking_parts.__file__


def charged(run: perdure.Run) -> list[LedgerRow]:
    """Everything that a run's record charges."""
    return [row for line in run.reader.charged() for row in rows_of(line)]


def asked(run: perdure.Run) -> int:
    """Calls that were answered by a model or perhaps."""
    return sum(row.answered in ("asked", "unanswered") for row in charged(run))


def lose(bench: Bench, **knobs: object) -> None:
    """Play until the world dies in the second round."""
    bench.knobs(lost_at=2, **knobs)
    with pytest.raises(EnvironmentUnavailable):
        bench.run()


def test_calls_of_an_attempt_that_was_given_up_stay_charged(bench: Bench) -> None:
    lose(bench)
    bench.knobs(prefix="new ")
    run = bench.run()
    assert run.summary().divergences == 1
    assert asked(run) == bench.asked == 8
    first = [(row.attempt, row.caller, row.number) for row in charged(run)][:4]
    assert first == [(0, "agent", 0), (0, "agent", 1), (1, "agent", 0), (1, "agent", 1)]
    assert run.summary().tokens["agent"].calls == 8


def test_a_call_that_a_kill_cut_off_is_perhaps_paid(bench: Bench) -> None:
    bench.model("if len(request.messages) > 2: raise ModelUnavailable('down')\n    return 'win'")
    with pytest.raises(ModelUnavailable):
        bench.run()
    under_way = perdure.load(bench.out)
    assert [row.answered for row in charged(under_way)] == ["asked", "unanswered"]
    assert under_way.summary().tokens["agent"].calls == 2, "a report of an unfinished run counts them"
    assert under_way.summary().unfinished == 1
    bench.model("return 'end'")
    run = bench.run()
    assert [(row.number, row.answered) for row in charged(run)][:3] == [
        (0, "asked"),
        (1, "unanswered"),
        (1, "asked"),
    ]
    assert run.summary().unfinished == 0


def test_start_times_of_sessions_and_calls_are_told(bench: Bench) -> None:
    before = time.time()
    run = bench.run()
    lines = list(run.reader.ledger())
    starts = [line["started"] for line in lines]
    assert before - 0.01 <= starts[0] <= starts[1] <= starts[2] <= time.time()
    for line in lines:
        assert all(line["started"] - 0.01 <= row.started <= time.time() for row in rows_of(line))


def test_another_trial_in_the_place_of_an_open_one_sets_it_aside_charged(bench: Bench) -> None:
    bench.run("execution.limit=2")
    bench.knobs(lost_at=2)
    with pytest.raises(EnvironmentUnavailable):
        bench.run("execution.limit=2", "execution.repeat=2")
    bench.knobs()
    before = bench.asked
    run = bench.run()
    assert [record.task_id for record in run.records()] == ["0", "1", "2"]
    assert bench.asked == before + 2, "nothing of the other trial was served"
    assert asked(run) == bench.asked
    assert run.summary().unfinished == 1


def test_an_equal_observation_is_answered_with_the_recorded_text(bench: Bench) -> None:
    """Every prompt holds the time of the answers before: the resumed requests must be the same bytes."""
    bench.knobs(prefix="<10:00> ")
    bench.model("if len(request.messages) > 4: raise ModelUnavailable('down')\n    return 'win'")
    with pytest.raises(ModelUnavailable):
        bench.run("environment.tasks=1")
    bench.knobs(prefix="<10:05> ")
    bench.model("return 'end'")
    run = bench.run("environment.tasks=1")
    assert (run.summary().divergences, bench.asked) == (0, 4), "the third call alone was asked again"
    texts = [item.observation.text for item in run.sessions[0].interactions]
    assert texts == ["<10:00> 1", "<10:00> 2", "<10:05> 3"]


def talking(bench: Bench, **more: object) -> None:
    bench.config["environment"] = {
        "name": f"{PARTS}:Talking",
        "knobs": str(bench.folder / "knobs.json"),
        "model": "default",
        **more,
    }


def test_a_model_error_inside_an_environment_is_a_failed_task_and_poisons_no_resume(bench: Bench) -> None:
    talking(bench)
    bench.model(
        "if request.messages[-1].text == 'user: win': return ModelError('the user hung up')\n"
        "    return 'win' if request.messages[-1].text.endswith('ready') else 'end'"
    )
    run = bench.run("execution.limit=1")
    (record,) = run.records()
    assert (record.status, record.finish_reason) == (
        SessionStatus.TASK_ENVIRONMENT_ERROR,
        "the user hung up",
    )
    # Interrupted after the error was recorded, it is served again and comes to the same.
    bench.knobs(broken=[])
    calls = bench.asked
    assert [row.caller for row in charged(run)] == ["agent", "environment"]
    assert asked(run) == calls == 2
    assert [record.status for record in bench.run().records()] == [record.status] * 3


@pytest.mark.parametrize("interactions", [9, 1])
def test_a_model_error_while_grading_is_a_failed_task_however_it_ended(
    bench: Bench, interactions: int
) -> None:
    bench.knobs(ungradable=True)
    run = bench.run("execution.limit=1", f"limits.max_interactions={interactions}")
    (record,) = run.records()
    assert (record.status, record.finish_reason, record.outcome) == (
        SessionStatus.TASK_ENVIRONMENT_ERROR,
        "the judge hung up",
        EvaluationOutcome.UNKNOWN,
    )


def fragile(bench: Bench, reply: str) -> Path:
    path = bench.folder / "breaks_on.txt"
    path.write_text(reply)
    bench.config["callbacks"] = [{"name": f"{PARTS}:Fragile", "breaks_on": str(path)}]
    return path


def test_a_plug_in_that_raised_goes_on_where_it_was_once_it_is_mended(bench: Bench) -> None:
    path = fragile(bench, "end")
    with pytest.raises(KeyError, match="a bug") as caught:
        bench.run()
    assert any("--restart-task" in note for note in caught.value.__notes__)
    calls = bench.asked
    path.unlink()
    run = bench.run()
    assert bench.asked == calls + 4, "the first task's two calls were served"
    assert (run.summary().resumes, run.summary().restarts) == (1, 0)


def test_a_record_that_leads_to_the_same_failure_again_is_given_up(bench: Bench) -> None:
    fragile(bench, "end")
    with pytest.raises(KeyError):
        bench.run("execution.limit=1")
    bench.model("return 'win' if request.messages[-1].text.endswith('ready') else ' end'")
    run = bench.run("execution.limit=1")
    (record,) = run.records()
    assert record.correct
    assert (run.summary().restarts, run.summary().divergences) == (1, 0)
    assert asked(run) == bench.asked


def test_a_plug_in_that_raises_for_every_answer_stops_the_run_each_time(bench: Bench) -> None:
    fragile(bench, "end")
    for attempt in range(1, 4):
        with pytest.raises(KeyError):
            bench.run()
        assert bench.asked == 2 * attempt, "one fresh start a process, no more"


def restart(bench: Bench, wanted: object) -> perdure.Run:
    config = load_config(bench.config, [f"execution.out={json.dumps(str(bench.out))}"])
    with Experiment(config) as experiment:
        experiment.run(restart=wanted)  # type: ignore[arg-type]
    return perdure.load(bench.out)


@pytest.mark.parametrize("wanted", [[0], "all"])
def test_a_fresh_start_of_an_open_task(bench: Bench, wanted: object) -> None:
    lose(bench)
    bench.knobs()
    before = bench.asked
    bench.model("return 'end'")
    run = restart(bench, wanted)
    assert [record.interactions for record in run.records()] == [1, 1, 1], "its recorded `win` is not served"
    assert bench.asked == before + 3
    assert asked(run) == bench.asked
    assert (run.summary().restarts, run.summary().divergences) == (1, 0)


def test_only_an_open_task_can_start_afresh(bench: Bench) -> None:
    lose(bench)
    with pytest.raises(RunFolderError, match="task 2 is not open; open tasks: 0"):
        restart(bench, [2])
    bench.knobs()
    bench.run()
    with pytest.raises(RunFolderError, match="task 0 is not open; open tasks: none"):
        restart(bench, [0])
    assert len(restart(bench, "all").sessions) == 3


def openings(run: perdure.Run) -> list[list[str]]:
    return [[message.text for message in past.history[:-3]] for past in run.sessions]


@pytest.mark.parametrize("every", [1, 2, 50])
def test_edits_of_the_history_factory_are_committed_and_restored(bench: Bench, every: int) -> None:
    bench.config["callbacks"] = [{"name": f"{PARTS}:Editor"}]
    sets = [f"execution.snapshot_every={every}", "environment.tasks=5"]
    whole = bench.run(*sets)
    assert [len(texts) for texts in openings(whole)] == [2, 4, 6, 8, 10]
    assert openings(whole)[4][:2] == ["changed by 3", "yes"]
    expected = {path.name: path.read_bytes() for path in bench.out.glob("s*/*.json")}
    expected["sessions.jsonl"] = bench.sessions()
    bench.out = bench.folder / "parts"
    for limit in (1, 3):
        bench.run(*sets, f"execution.limit={limit}")
    bench.knobs(lost_at=2)
    with pytest.raises(EnvironmentUnavailable):
        bench.run(*sets)
    bench.knobs()
    assert openings(bench.run(*sets)) == openings(whole)
    found = {path.name: path.read_bytes() for path in bench.out.glob("s*/*.json")}
    assert {**found, "sessions.jsonl": bench.sessions()} == expected


def test_edits_that_are_frozen_reach_no_other_session(bench: Bench) -> None:
    bench.config["callbacks"] = [{"name": f"{PARTS}:Editor", "early": True}]
    assert [len(texts) for texts in openings(bench.run())] == [4, 6, 8]
    bench.out = bench.folder / "stateless"
    bench.config["stateless"] = True
    bench.run("execution.limit=1")
    run = bench.run()
    assert [len(texts) for texts in openings(run)] == [4, 4, 4]
    assert not any("history_items" in line for line in run.reader.lines())


def test_probes_meet_the_streams_openings_and_leave_them(bench: Bench) -> None:
    bench.config["callbacks"] = [{"name": f"{PARTS}:Editor", "early": True}]
    plain = openings(bench.run())
    bench.out = bench.folder / "probed"
    run = bench.run(probes={"checkpoints": 3, "tasks": ["0", "1"]})
    assert openings(run) == plain
    probed = [perdure.load(path.parent) for path in sorted(bench.out.glob("probes/*/config.toml"))]
    lengths = [[len(texts) for texts in openings(probe)] for probe in probed]
    assert lengths == [[4, 4], [6, 6], [8, 8], [10, 10]]


@pytest.mark.parametrize("left", ["nothing", "garbage"])
def test_the_metrics_of_a_probe_are_written_again(bench: Bench, left: str) -> None:
    run = bench.run(probes={"checkpoints": 1, "tasks": ["0"]})
    path = run.folder / "probes" / "00000000" / "metrics.json"
    before = path.read_bytes()
    path.unlink()
    if left == "garbage":
        path.write_bytes(before.replace(b"wins", b"Wins"))
    (run.folder / "metrics.json").unlink()
    calls = bench.asked
    bench.run(probes={"checkpoints": 1, "tasks": ["0"]})
    assert path.read_bytes() == before
    assert bench.asked == calls
