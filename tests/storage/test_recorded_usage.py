"""What a call cost is in the ledger; `reader.calls` joins it with the exact prompts."""

from __future__ import annotations

import json
from pathlib import Path

import perdure
from perdure.core.types import Completion, Usage
from tests.e2e.learner import config


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
