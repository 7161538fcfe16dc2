from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.conformance.environments import check_environment
from perdure.core.errors import ConfigError
from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus
from perdure.environments.knowledge_graph import WORLD, KnowledgeGraphEnvironment
from perdure.environments.knowledge_graph.actions import ARITY
from perdure.environments.knowledge_graph.scoring import f1_score, grade
from perdure.environments.knowledge_graph.tasks import load_tasks
from perdure.environments.knowledge_graph.world import SHIPPED_GRAPH, SHIPPED_TASKS
from tests.environments.knowledge_graph.graphs import write_towns

TASKS = load_tasks(SHIPPED_TASKS)


@pytest.mark.parametrize("parameters", [{}, {"compat": "paper"}, {"on_invalid_action": "end"}])
def test_conformance(parameters: dict[str, Any]) -> None:
    results = list(
        check_environment(WORLD, lambda: KnowledgeGraphEnvironment(**parameters), sample=len(TASKS))
    )
    assert len(results) > 10
    assert [result for result in results if not result.passed] == []


def run(tmp_path: Path, kind: str, **parameters: Any) -> perdure.Run:
    return perdure.run(
        {
            "name": f"kg-{kind}",
            "environment": {"name": "knowledge_graph", **parameters},
            "agent": {"kind": kind},
            "execution": {"out": str(tmp_path / kind)},
        }
    )


def test_a_run_of_the_oracle_scores_one(tmp_path: Path) -> None:
    metrics = run(tmp_path, "oracle").metrics
    assert metrics["overall.success_rate"] == 1.0
    assert metrics["overall.additional.f1_score"] == 1.0
    assert metrics["overall.additional.executable_rate"] == 1.0
    for name in ARITY:
        assert metrics[f"skill.{name}.count"] >= 10
        assert metrics[f"skill.{name}.correct_rate"] == 1.0


def test_a_run_of_nothing_scores_zero(tmp_path: Path) -> None:
    metrics = run(tmp_path, "do_nothing").metrics
    assert metrics["overall.success_rate"] == 0.0
    assert metrics["overall.additional.f1_score"] == 0.0
    assert metrics["overall.additional.executable_rate"] == 0.0


def test_paths_of_a_configuration_are_found(tmp_path: Path) -> None:
    files = {name: str(path) for name, path in write_towns(tmp_path).items()}
    assert run(tmp_path, "oracle", **files).metrics["overall.success_rate"] == 1.0


def test_the_paper_s_limit_of_rounds() -> None:
    assert WORLD.max_interactions == 15
    assert "at most 15 actions" in KnowledgeGraphEnvironment().instructions
    assert max(len(task.actions) for task in TASKS.values()) < WORLD.max_interactions


@pytest.mark.parametrize(
    ("answer", "f1", "right"),
    [
        (None, 0.0, False),
        (set(), 0.0, False),
        ({"a", "b"}, 1.0, True),
        ({"a"}, 2 / 3, False),
        ({"a", "b", "c", "d"}, 2 / 3, False),
        ({"c"}, 0.0, False),
    ],
)
def test_grades(answer: set[str] | None, f1: float, right: bool) -> None:
    evaluation = grade({"a", "b"}, answer)
    assert evaluation.outcome is (EvaluationOutcome.CORRECT if right else EvaluationOutcome.INCORRECT)
    assert evaluation.reward == float(right)
    assert evaluation.detail["f1_score"] == pytest.approx(f1)
    assert evaluation.detail["executable_flag"] is (answer is not None)
    assert f1_score(set(), set()) == 0.0


def test_metrics_are_means_over_all_sessions() -> None:
    task = next(iter(TASKS))
    correct, failed = EvaluationOutcome.CORRECT, EvaluationOutcome.UNKNOWN
    records = [
        SessionRecord(
            task, 0, SessionStatus.COMPLETED, correct, 1.0, {"f1_score": 1.0, "executable_flag": True}
        ),
        SessionRecord(
            task, 1, SessionStatus.COMPLETED, failed, 0.0, {"f1_score": 0.5, "executable_flag": True}
        ),
        SessionRecord(task, 2, SessionStatus.AGENT_UNKNOWN_ERROR, failed, 0.0),
        SessionRecord(task, 3, SessionStatus.AGENT_UNKNOWN_ERROR, failed, 0.0),
    ]
    metrics = KnowledgeGraphEnvironment().calculate_metric(iter(records))
    assert metrics["overall.additional.f1_score"] == 0.375
    assert metrics["overall.additional.executable_rate"] == 0.5
    assert metrics["overall.basic.session_count"] == 4.0
    assert metrics["skill.get_neighbors.correct_rate"] == 0.25
    assert all(f"skill.{name}.count" in metrics for name in ARITY)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"store": "sparql"}, "endpoint"),
        ({"graph": SHIPPED_GRAPH}, "tasks"),
        ({"endpoint": "http://127.0.0.1:1/sparql"}, "endpoint"),
        ({"store": "sparql", "endpoint": "http://127.0.0.1:1/", "graph": SHIPPED_GRAPH}, "graph"),
    ],
)
def test_contradictions_are_named(parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=f"environment.{told}"):
        KnowledgeGraphEnvironment(**parameters)


def test_the_version_follows_the_data(tmp_path: Path) -> None:
    files = write_towns(tmp_path)
    first = KnowledgeGraphEnvironment(**files).version
    assert first == KnowledgeGraphEnvironment(**files).version
    for path in (files["graph"], files["tasks"], files["ontology"] / "roles.txt"):
        path.write_text(path.read_text("utf-8") + "\n", "utf-8")
        changed = KnowledgeGraphEnvironment(**files).version
        assert changed != first
        first = changed


def test_acting_without_a_task_is_a_bug_of_the_caller() -> None:
    environment = KnowledgeGraphEnvironment()
    for act in (lambda: environment.interact(WORLD.do_nothing), environment.complete):
        with pytest.raises(RuntimeError):
            act()
