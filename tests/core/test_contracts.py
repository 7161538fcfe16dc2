"""What a plugin hands over is checked at the boundary, in one line, and nothing saved is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ContractBroken
from perdure.core.types import JSON, Evaluation, EvaluationOutcome, Trial
from perdure.environments.counter import CounterEnvironment
from tests.core.playing import DONE, play


class Grading(CounterEnvironment):
    """Gives task 2 a verdict of its own."""

    def __init__(self, **verdict: Any) -> None:
        super().__init__(tasks=3)
        self._verdict = verdict
        self._graded = 0

    def complete(self) -> Evaluation:
        self._graded += 1
        verdict = super().complete()
        return replace(verdict, **self._verdict) if self._graded == 3 else verdict


@pytest.mark.parametrize(
    ("verdict", "problem"),
    [
        ({"reward": float("nan")}, r"reward nan; a reward lies in \[0, 1\]"),
        ({"reward": 7.0}, r"reward 7\.0; a reward lies in"),
        ({"reward": -0.1}, r"reward -0\.1; a reward lies in"),
        ({"reward": "1"}, r"reward '1'; a reward lies in"),
        ({"detail": {"seen": {1}}}, r"detail 'seen' = \{1\}; a detail is a finite number"),
        ({"detail": {"why": "because"}}, r"detail 'why' = 'because'"),
        ({"detail": {"loss": float("inf")}}, r"detail 'loss' = inf"),
        ({"detail": {3: 1}}, r"the detail 3; names are texts"),
    ],
)
def test_a_verdict_that_is_none_stops_the_run_in_one_line(
    tmp_path: Path, verdict: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ContractBroken, match=f"the environment graded task '2' with {problem}"):
        play(tmp_path, lambda request: DONE, environment=Grading(**verdict))
    past = play(tmp_path, lambda request: DONE, environment=CounterEnvironment(tasks=3))
    assert len(past) == 3, "the two before were kept"


@pytest.mark.parametrize("detail", [{}, {"n": 3, "share": 0.5, "done": True, "grade": None}])
@pytest.mark.parametrize("reward", [0, 1, 0.25, 1.0])
def test_what_is_a_verdict_passes(detail: dict[str, Any], reward: float) -> None:
    assert Evaluation(EvaluationOutcome.CORRECT, reward, detail).problem() is None


class Tracing(Agent):
    def __init__(self, trace: JSON) -> None:
        self._trace = trace

    def start(self, trial: Trial, opening: Opening) -> None:
        pass

    def infer(self, view: ContextView) -> str:
        return DONE

    def trace(self) -> JSON:
        return self._trace


@pytest.mark.parametrize(
    ("trace", "lost"),
    [
        ({"seen": {1, 2}}, r"trace\['seen'\] is \{1, 2\} of type 'set'"),
        ([float("nan")], r"trace\[0\] is nan"),
        ({1: "x"}, r"trace has the key 1; keys are strings"),
        (b"x", r"trace is b'x' of type 'bytes'"),
    ],
)
def test_a_trace_that_no_file_could_give_back_stops_the_run_in_one_line(
    tmp_path: Path, trace: JSON, lost: str
) -> None:
    with pytest.raises(ContractBroken, match=f"the agent's trace of task '0' is no JSON: {lost}"):
        play(tmp_path, agent=lambda model: Tracing(trace))
