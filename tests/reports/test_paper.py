"""The published numbers, and which of ours stand beside which of theirs."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.reports.paper import paper_cells, paper_model, paper_table, published

GEMINI = "Gemini-3-Flash"


@pytest.mark.parametrize(
    ("benchmark", "condition", "runtime", "metric", "value"),
    [
        ("warehouse", "T=200", "SKILL.state", "score", "0.94"),
        ("warehouse", "T=200", "Memory", "total_tokens", "6175509"),
        ("warehouse", "T=100 budget~1800", "Sliding window", "score", "0.18"),
        ("warehouse", "T=50 noise=50/turn", "ReAct", "score", "0.53"),
        ("warehouse", "A", "Stateful", "recovery_steps", "5-8"),
        ("warehouse", "T=10", "Nobody", "score", None),
        ("warehouse", "T=1", "ReAct", "score", None),
        ("repository", "T=100", "SKILL.state", "total_tokens", "90200"),
        ("repository", "B", "Memory", "recovery_steps", "9"),
    ],
)
def test_cells(benchmark: str, condition: str, runtime: str, metric: str, value: str | None) -> None:
    assert published(benchmark, condition, runtime, metric, model=GEMINI) == value


def test_the_ratios_that_the_paper_is_known_for() -> None:
    def ratio(benchmark: str, runtime: str) -> float:
        own, state = (
            published(benchmark, "T=100", name, "total_tokens", model=GEMINI)
            for name in (runtime, "SKILL.state")
        )
        assert own is not None
        assert state is not None
        return float(own) / float(state)

    assert ratio("warehouse", "Stateful") == pytest.approx(16.2, abs=0.05)
    assert ratio("repository", "ReAct") == pytest.approx(20.5, abs=0.05)
    assert len(paper_cells()) > 200


def facts(strategy: str, total: int, **parameters: Any) -> dict[str, Any]:
    return {
        "run": strategy,
        "error": None,
        "environment": "warehouse",
        "parameters": parameters,
        "strategy": strategy,
        "model": "perfect_reader",
        "score": 1.0,
        "prompt_mean": 1000.0,
        "tokens": {"total": total},
        "recovery_steps": 0.0 if "drift" in parameters else None,
    }


def test_ours_beside_theirs() -> None:
    table = paper_table([facts("structured_state", 100), facts("stateful", 1500), facts("own_idea", 50)])
    assert table is not None
    assert [row[0] for row in table.rows] == ["structured_state", "stateful"]
    assert table.rows[1] == (
        "stateful",
        f"{GEMINI}, T=100, Stateful",
        "1.00",
        "0.91",
        "1,000",
        "31,354",
        "15.0",
        "16.2",
    )


def test_a_drift_is_compared_by_recovery() -> None:
    table = paper_table([facts("memory", 100, drift="B", horizon=50)])
    assert table is not None
    assert table.rows == (("memory", f"{GEMINI}, B, Memory", "0.0", "6-8"),)


def test_nothing_to_compare_is_no_table() -> None:
    assert paper_table([facts("memory", 100, horizon=33), {"run": "x", "error": "broken"}]) is None


def test_models_are_recognised_by_name() -> None:
    assert paper_model("openai_compatible:Qwen/Qwen3-8B") == "Qwen-3-8B-it"
    assert paper_model("openai_compatible:google/gemma-4-31b-it") == "Gemma-4-31B-it"
    assert paper_model(None) == GEMINI
