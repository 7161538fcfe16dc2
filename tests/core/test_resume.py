"""Interrupted runs taken up again: by the world, by the model, by another schedule; and what differs then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perdure
from perdure.core.errors import EnvironmentUnavailable, ModelUnavailable, RunFolderError
from perdure.core.types import JSON, Draw, SessionStatus, Trial
from perdure.environments.counter import CounterEnvironment
from tests.core.bench import Bench
from tests.core.playing import play
from tests.core.sealed import edit


def finished(bench: Bench, name: str = "other") -> bytes:
    """The sessions of an uninterrupted run of the same bench."""
    there = bench.out
    bench.out = bench.folder / name
    bench.run()
    sessions = bench.sessions()
    bench.out = there
    return sessions


def test_a_world_that_dies_stops_the_run_which_resumes_identically(bench: Bench) -> None:
    expected = finished(bench)
    asked = bench.asked
    bench.knobs(lost_at=2)
    with pytest.raises(EnvironmentUnavailable, match="the world is gone"):
        bench.run()
    assert len(perdure.load(bench.out).sessions) == 0, "nothing is scored"
    assert bench.asked == asked + 2
    bench.knobs()
    run = bench.run()
    assert bench.sessions() == expected
    assert bench.asked == 2 * asked, "no call was asked twice"
    assert (run.summary().resumes, run.summary().restarts) == (1, 0)
    assert run.summary().divergences == 0


def test_a_model_server_that_is_down_stops_the_run_which_resumes_identically(bench: Bench) -> None:
    body = "return 'end' if len(request.messages) > 2 else 'win'"
    bench.model(body)
    expected = finished(bench)
    bench.model("if len(request.messages) > 2: raise ModelUnavailable('down')\n    return 'win'")
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="down"):
            bench.run()
    bench.model(body)
    run = bench.run()
    assert bench.sessions() == expected
    assert run.summary().resumes == 3
    assert run.summary().total_tokens.unanswered == 3, "a server that is down may have been paid"


def interrupted(bench: Bench, prefix: str = "") -> None:
    """Stop in the second round of the first task."""
    bench.knobs(lost_at=2, prefix=prefix)
    with pytest.raises(EnvironmentUnavailable):
        bench.run()


def test_a_model_that_would_answer_otherwise_now_is_not_asked(bench: Bench) -> None:
    interrupted(bench)
    bench.knobs()
    bench.model("return 'end'")
    first, second, third = bench.run().records()
    assert (first.correct, first.interactions) == (True, 2), "its recorded `win` counts"
    assert (second.interactions, third.interactions) == (1, 1)


def test_a_world_that_answers_otherwise_now_restarts_the_task_by_default(bench: Bench) -> None:
    interrupted(bench)
    bench.knobs(prefix="new ")
    expected = finished(bench)
    run = bench.run()
    assert bench.sessions() == expected
    assert run.summary().divergences == 1
    assert (run.summary().resumes, run.summary().restarts) == (1, 1)
    assert [line["divergences"] for line in run.reader.ledger()] == [1, 0, 0]


def test_a_task_that_starts_again_does_so_in_a_fresh_environment(bench: Bench) -> None:
    interrupted(bench)
    built = bench.built
    bench.knobs()
    bench.run()
    assert bench.built == built + 1
    bench.out = bench.folder / "other"
    interrupted(bench)
    built = bench.built
    bench.knobs(prefix="new ")
    bench.run()
    assert bench.built == built + 2, "what the one before it did may have changed it"


def test_a_difference_may_be_kept(bench: Bench) -> None:
    interrupted(bench)
    before = bench.asked
    bench.knobs(prefix="new ")
    run = bench.run("execution.on_divergence=keep")
    assert [past.interactions[0].observation.text for past in run.sessions] == ["new 1"] * 3
    assert [line["divergences"] for line in run.reader.ledger()] == [1, 0, 0]
    assert bench.asked == before + 6, "the rest of the record was dropped, all of it is asked again"


def test_a_difference_later_on_keeps_what_came_before(bench: Bench) -> None:
    bench.model("return 'win' if len(request.messages) < 6 else 'end'")
    bench.knobs(lost_at=3)
    with pytest.raises(EnvironmentUnavailable):
        bench.run("environment.tasks=1")
    before = bench.asked
    assert before == 3

    def answer_two_otherwise(lines: list[dict[str, JSON]]) -> None:
        (line,) = [line for line in lines if line.get("observation", {}).get("text") == "2"]
        line["observation"]["text"] = "two"

    edit(bench.out / "calls" / "0.jsonl", answer_two_otherwise)
    bench.knobs()
    run = bench.run("environment.tasks=1", "execution.on_divergence=keep")
    assert run.summary().divergences == 1
    assert bench.asked == before + 1, "two replies were served, the third is asked again"
    assert len(run.sessions[0].interactions) == 3


def test_a_task_that_ends_earlier_than_it_did_is_a_difference(bench: Bench) -> None:
    bench.model("return 'win' if len(request.messages) < 6 else 'end'")
    bench.knobs(lost_at=3)
    with pytest.raises(EnvironmentUnavailable):
        bench.run()
    bench.knobs(ends_at=1)
    run = bench.run()
    assert [record.interactions for record in run.records()] == [1, 1, 1]
    assert run.summary().divergences == 1


def test_what_legitimately_differs_is_no_difference(bench: Bench) -> None:
    bench.knobs(prefix="<10 s>", lost_at=1)
    with pytest.raises(EnvironmentUnavailable):
        bench.run("agent.kind=do_nothing")
    assert "ready" in (bench.out / "calls" / "0.jsonl").read_text()
    bench.knobs(prefix="<11 s>")
    run = bench.run("agent.kind=do_nothing")
    assert (run.summary().resumes, run.summary().divergences) == (1, 0)


def test_a_larger_limit_continues(bench: Bench) -> None:
    whole = finished(bench)
    run = bench.run("execution.limit=1")
    assert (len(run.sessions), run.planned) == (1, 1)
    run = bench.run("execution.limit=2")
    assert (len(run.sessions), run.planned) == (2, 2)
    run = bench.run()
    assert (len(run.sessions), run.planned) == (3, 3)
    assert bench.sessions() == whole
    asked = bench.asked
    bench.run()
    assert bench.asked == asked, "nothing is left to do"


def test_a_smaller_limit_than_what_is_done_leaves_the_run_as_it_is(bench: Bench) -> None:
    bench.run()
    before, asked = bench.sessions(), bench.asked
    run = bench.run("execution.limit=2")
    assert (len(run.sessions), run.planned) == (3, 3)
    assert (bench.sessions(), bench.asked) == (before, asked)


def test_a_schedule_that_does_not_begin_with_what_is_done_is_refused(bench: Bench) -> None:
    bench.run("execution.limit=2", "execution.repeat=2")
    before = bench.sessions()
    with pytest.raises(
        RunFolderError, match=r"session 2 .* is task '0', this schedule has '2' there"
    ) as caught:
        bench.run("execution.repeat=2")
    assert "\n" not in str(caught.value)
    assert bench.sessions() == before


def test_another_task_in_the_place_of_a_finished_one_is_refused(tmp_path: Path) -> None:
    environment = CounterEnvironment(tasks=3)
    play(tmp_path, environment=environment, schedule=[Trial("0"), Trial("1")])
    with pytest.raises(RunFolderError, match=r"session 1 .* is task '1', this schedule has '2' there"):
        play(tmp_path, environment=environment, schedule=[Trial("0"), Trial("2"), Trial("1")])


def test_other_tasks_are_another_run(bench: Bench) -> None:
    bench.run(tasks=["2", "0"])
    with pytest.raises(RunFolderError, match=r"Changed: tasks: \['2', '0'\] → \['0', '2'\]"):
        bench.run(tasks=["0", "2"])
    assert [record.task_id for record in bench.run(tasks=["2", "0"]).records()] == ["2", "0"]


def test_repeats_are_other_samples_of_the_same_tasks(bench: Bench) -> None:
    run = bench.run("execution.repeat=2", "agent.sampling.temperature=0.7")
    assert [(r.task_id, r.repeat) for r in run.records()] == [(t, s) for s in (0, 1) for t in "012"]
    digests = [[call.digest for call in run.reader.calls(index)] for index in range(6)]
    seeds = [[json.loads(c.options)["sampling"]["seed"] for c in run.reader.calls(i)] for i in range(6)]
    assert len({seed for task in seeds for seed in task}) == 12, "every draw has a seed of its own"
    assert all(digests[i][0] != digests[i + 3][0] for i in range(3))


def test_greedy_repeats_differ_only_in_their_sample_index(bench: Bench) -> None:
    run = bench.run("execution.repeat=2", "environment.tasks=1")
    first, second = (next(iter(run.reader.calls(index))) for index in (0, 1))
    assert first.messages == second.messages
    assert first.options == second.options
    assert [call.draw for call in (first, second)] == [Draw(0, 1, 0), Draw(1, 1, 0)]
    assert first.digest != second.digest, "a response cache keeps repeats apart"


def test_a_broken_task_is_data_and_survives_a_resume(bench: Bench) -> None:
    bench.knobs(broken=["0"], lost_at=2)
    with pytest.raises(EnvironmentUnavailable):
        bench.run()
    bench.knobs(broken=["0"])
    run = bench.run()
    assert [r.status for r in run.records()] == [
        SessionStatus.TASK_ENVIRONMENT_ERROR,
        SessionStatus.COMPLETED,
        SessionStatus.COMPLETED,
    ]


@pytest.mark.parametrize("kind", ["oracle", "do_nothing"])
def test_agents_without_a_model_resume_too(tmp_path: Path, kind: str) -> None:
    config = {"environment": {"name": "counter", "tasks": 4}, "agent": {"kind": kind}}
    perdure.run(config, sets=["execution.limit=2"], out=tmp_path / "a")
    perdure.run(config, out=tmp_path / "a")
    perdure.run(config, out=tmp_path / "b")
    a, b = ((tmp_path / name / "sessions.jsonl").read_bytes() for name in "ab")
    assert a == b
