"""Strategies inside real runs: what they let through, what is counted, and what a resumed task asks again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ModelUnavailable
from perdure.core.session import PastSession


def config(strategy: dict[str, Any], **environment: Any) -> dict[str, Any]:
    return {
        "environment": {"name": "warehouse", "tasks": 2, "horizon": 60, **environment},
        "agent": {"strategy": strategy},
        "models": {"default": {"provider": "perfect_reader"}},
    }


@pytest.mark.parametrize(
    "strategy",
    [
        {"name": "memory"},
        {"name": "memory", "window": 0, "period": 5},
        {"name": "stateful"},
        {"name": "stateful", "state_position": "last", "merge": "deep"},
        {"name": "sliding_window", "turns": 60},
        {"name": "sliding_window", "budget_tokens": 100_000},
        {"name": "capped_summary", "budget_tokens": 900},
        {"name": "prompt_compression", "budget_tokens": 100_000},
    ],
    ids=str,
)
@pytest.mark.parametrize("profile", ["paper", "growth"])
def test_a_strategy_that_keeps_everything_lets_everything_through(
    tmp_path: Path, strategy: dict[str, Any], profile: str
) -> None:
    run = perdure.run(config(strategy, profile=profile), out=tmp_path / "run")
    assert [record.reward for record in run.records()] == [1.0, 1.0]


@pytest.mark.parametrize(
    "strategy",
    [
        {"name": "sliding_window", "turns": 1},
        {"name": "sliding_window", "budget_tokens": 500},
        {"name": "capped_summary", "summary_tokens": 6},
        {"name": "prompt_compression", "budget_tokens": 520},
    ],
    ids=str,
)
def test_a_strategy_that_drops_what_matters_shows_it(tmp_path: Path, strategy: dict[str, Any]) -> None:
    run = perdure.run(config(strategy, profile="growth"), out=tmp_path / "run")
    assert all(record.reward < 0.5 for record in run.records())


@pytest.mark.parametrize("noise", [5, 50])
def test_noise_does_not_reach_a_perfect_reader(tmp_path: Path, noise: int) -> None:
    for name in ("memory", "stateful", "full_history", "structured_state"):
        run = perdure.run(config({"name": name}, noise=noise, tasks=1), out=tmp_path / name)
        assert [record.reward for record in run.records()] == [1.0]


def test_summaries_are_counted_for_the_strategy(tmp_path: Path) -> None:
    run = perdure.run(config({"name": "memory", "period": 3}), out=tmp_path / "run")
    callers = Counter(call.caller for index in range(2) for call in run.reader.calls(index))
    assert callers == {"agent": 120, "strategy": 2 * ((60 - 1 - 3) // 3)}
    totals = run.summary().tokens
    assert totals["strategy"].calls == callers["strategy"]
    assert totals["strategy"].prompt > 0
    assert run.sessions[0].trace["summaries"] == callers["strategy"] // 2


FAILING = '''
from pathlib import Path

from perdure.core.errors import ModelUnavailable
from perdure.strategies.summary_prompt import asks_for_summary

ASKED = Path(__file__).with_name("asked.txt")


def answer(request):
    """Counts what it is asked, and is down once."""
    asked = ASKED.read_text().splitlines() if ASKED.exists() else []
    if len(asked) == 11 and "down" not in asked:
        ASKED.write_text("\\n".join([*asked, "down"]))
        raise ModelUnavailable("the server is down")
    kind = "summary" if asks_for_summary(request.messages) else "action"
    ASKED.write_text("\\n".join([*asked, kind]))
    return f"summary {len(asked)}" if kind == "summary" else "Action: add 1"
'''


def test_a_resumed_task_asks_for_no_summary_twice(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    settings = {
        "environment": {"name": "counter", "tasks": 1},
        "agent": {"strategy": {"name": "memory", "window": 1}},
        "models": {"default": {"provider": "scripted", "replies": str(tmp_path / "failing.py:answer")}},
        "limits": {"max_interactions": 10},
    }

    def played(out: Path) -> tuple[PastSession, list[str]]:
        run = perdure.run(settings, out=out)
        return run.sessions[0], (tmp_path / "asked.txt").read_text().splitlines()

    with pytest.raises(ModelUnavailable):
        perdure.run(settings, out=tmp_path / "run")
    session, asked = played(tmp_path / "run")
    calls = list(perdure.load(tmp_path / "run").reader.calls(0))
    assert len(calls) == len([entry for entry in asked if entry != "down"])
    assert [call.caller for call in calls].count("strategy") == session.trace["summaries"] > 3


def test_overspends_are_in_the_record(tmp_path: Path) -> None:
    run = perdure.run(config({"name": "sliding_window", "budget_tokens": 100}), out=tmp_path / "run")
    trace = run.sessions[0].trace
    assert len(trace["overspends"]) == 60
    assert trace["counts"] == "exact"
    prompts = [line["calls"][0][5] for line in run.reader.ledger()]
    assert trace["overspends"][0] == [1, prompts[0], 100]
