"""What a call cost is in the ledger; `reader.calls` joins it with the exact prompts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import perdure
from perdure.core.charges import Call, Charge, Times
from perdure.core.types import Completion, Message, Request
from perdure.core.usage import Usage
from perdure.storage.ledger import ledger_line, rows_of, rows_that_count
from tests.e2e.learner import config
from tests.storage.stores import ended, finished_task, opened


def usages(run: perdure.Run, index: int) -> list[Usage]:
    outcomes = [call.outcome for call in run.reader.calls(index)]
    assert outcomes
    return [outcome.usage for outcome in outcomes if isinstance(outcome, Completion)]


def test_calls_tell_their_usage(tmp_path: Path) -> None:
    run = perdure.run(config(3), out=tmp_path / "run")
    ledger = [json.loads(line) for line in (tmp_path / "run" / "ledger.jsonl").read_text().splitlines()]
    for index in range(3):
        assert usages(run, index) == [Usage(*row[5:9]) for row in ledger[index]["calls"]]
        assert all(usage.prompt_tokens for usage in usages(run, index))


def test_a_lost_ledger_line_leaves_usage_unknown_not_wrong(tmp_path: Path) -> None:
    perdure.run(config(3), out=tmp_path / "run")
    path = tmp_path / "run" / "ledger.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    run = perdure.load(tmp_path / "run")
    spent = [
        [
            call.outcome.usage.prompt_tokens
            for call in run.reader.calls(index)
            if isinstance(call.outcome, Completion)
        ]
        for index in range(3)
    ]
    assert all(spent[0])
    assert not any(spent[1])
    assert all(spent[2])


def test_a_call_that_was_asked_again_has_its_own_usage(tmp_path: Path) -> None:
    """Its row stands where it was asked again: behind those of its batch that were answered."""
    prompt = Request((Message("user", "hm?"),))
    usage = [Usage(10 + number, number) for number in range(3)]
    calls = tuple(
        Call(
            "agent",
            number,
            "m",
            f"{number:032x}",
            prompt,
            Completion(f"answer {number}", usage=usage[number]),
        )
        for number in range(3)
    )
    rows = (
        Charge(0, "agent", 0, "m", "asked", usage[0], 0.1, 1.7e9),
        Charge(0, "agent", 1, "m", "unanswered", Usage(), 0.0, 1.7e9),
        Charge(0, "agent", 2, "m", "asked", usage[2], 0.1, 1.7e9),
        Charge(0, "agent", 1, "m", "asked", usage[1], 0.1, 1.7e9),
    )
    with opened(tmp_path) as store:
        task = finished_task(store, ended("t"))
        store.commit([replace(task, calls=calls, charges=rows)])
        found = [call.outcome for call in store.past.calls(0)]
    assert [outcome.usage for outcome in found if isinstance(outcome, Completion)] == usage


def test_calls_of_an_attempt_that_was_given_up_are_charged_and_do_not_count() -> None:
    charges = [
        Charge(attempt, "agent", number, "m", "asked", Usage(100 * attempt + number, 1), 0.1, 1.7e9)
        for attempt, number in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1))
    ]
    line = ledger_line(0, "t", 0, Times(1.7e9, 2.0, restarts=1), charges)
    assert len(list(rows_of(line))) == 5
    assert [(row.number, row.prompt) for row in rows_that_count(line)] == [(0, 100), (1, 101)]
