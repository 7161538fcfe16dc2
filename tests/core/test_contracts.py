"""What a plugin hands over is checked at the boundary, in one line, and nothing saved is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError, ContractBroken
from perdure.core.handed_over import evaluation_problem
from perdure.core.session import SessionRecord
from perdure.core.types import JSON, Evaluation, EvaluationOutcome, Observation, Trial
from perdure.environments.counter import CounterEnvironment
from tests.core.playing import DONE, play


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("nothing to say")


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
        ({"detail": {"n": 10**5000}}, r"detail 'n' = <int without a repr>"),
        ({"detail": {"n": Mute()}}, r"detail 'n' = <Mute without a repr>"),
        ({"detail": None}, r"details None; they are a mapping"),
        ({"reward": 10**5000}, r"reward <int without a repr>; a reward lies in"),
        ({"outcome": "good"}, r"outcome 'good'; it is an EvaluationOutcome"),
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
    assert evaluation_problem(Evaluation(EvaluationOutcome.CORRECT, reward, detail)) is None


class CountingRecords(Grading):
    """Measures what it is given, whatever that is."""

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        return {"sessions": len(list(records))}


def test_sessions_that_are_ignored_are_in_no_metric(tmp_path: Path) -> None:
    """The third task could not be posed: the environment measures the other two."""
    past = play(tmp_path, environment=CountingRecords(outcome=EvaluationOutcome.IGNORED, reward=0.0))
    assert [record.ignored for record in past.records()] == [False, False, True]
    assert past.metrics() == {"v": 2, "environment": {"sessions": 2}}


class Answering(CounterEnvironment):
    """In task 2, its answers and its opening hold what they should not."""

    def __init__(self, *, opening: Any = None, answer: Any = None) -> None:
        super().__init__(tasks=3)
        self._opening, self._answer = opening, answer
        self._under_way = ""

    def reset(self, trial: Trial) -> Opening:
        self._under_way = trial.task_id
        opening = super().reset(trial)
        if self._under_way != "2" or self._opening is None:
            return opening
        return replace(opening, **self._opening) if isinstance(self._opening, dict) else self._opening

    def interact(self, action: str) -> Observation:
        observation = super().interact(action)
        if self._under_way != "2" or self._answer is None:
            return observation
        return replace(observation, **self._answer) if isinstance(self._answer, dict) else self._answer


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"answer": "text"}, r"answered an action with 'text' in place of an Observation"),
        ({"answer": {"text": b"x"}}, r"whose text is b'x'; it is a text"),
        ({"answer": {"text": Mute()}}, r"whose text is <Mute without a repr>"),
        ({"answer": {"accepted": None}}, r"whose accepted is None; it is true or false"),
        ({"answer": {"done": 1}}, r"whose done is 1; it is true or false"),
        ({"answer": {"status": "completed"}}, r"whose status is 'completed'; it is a SessionStatus"),
        ({"answer": {"reason": 3}}, r"whose reason is 3; it is a text"),
        ({"answer": {"reward": float("nan")}}, r"whose reward is nan; it is a finite number"),
        ({"answer": {"reward": None}}, r"whose reward is None"),
        ({"opening": (1, 2)}, r"opened task '2' with \(1, 2\) in place of an Opening"),
        ({"opening": {"goal": None}}, r"the goal None; it is a text"),
        ({"opening": {"history": []}}, r"the history \[\]; it is an InteractionHistory"),
        ({"opening": {"observation": "ready"}}, r"'ready' in place of an Observation"),
    ],
)
def test_an_answer_that_is_none_stops_the_run_in_one_line(
    tmp_path: Path, wrong: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ContractBroken, match=f"the environment .*{problem}"):
        play(tmp_path, lambda request: DONE, environment=Answering(**wrong))
    past = play(tmp_path, lambda request: DONE, environment=Answering())
    assert len(list(past.records())) == 3, "the two before were kept, and can be read"


class Measuring(CounterEnvironment):
    def __init__(self, metrics: Any) -> None:
        super().__init__(tasks=1)
        self._metrics = metrics

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        found: Mapping[str, float] = self._metrics
        return found


@pytest.mark.parametrize(
    ("metrics", "problem"),
    [
        (None, "None in place of metrics"),
        ({"rate": float("nan")}, "the metric 'rate' = nan; a metric is a finite number"),
        ({"rate": None}, "the metric 'rate' = None"),
        ({1: 1}, "the metric 1; names are texts"),
    ],
)
def test_metrics_that_are_none_are_told_and_written_once_they_are_mended(
    tmp_path: Path, metrics: Any, problem: str
) -> None:
    with pytest.raises(ContractBroken, match=f"the environment measured the run with {problem}"):
        play(tmp_path, lambda request: DONE, environment=Measuring(metrics))
    assert not (tmp_path / "metrics.json").exists()
    past = play(tmp_path, lambda request: DONE, environment=Measuring({"rate": 1}))
    assert past.metrics() == {"v": 2, "environment": {"rate": 1}}


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ("version = None", "its version is None; give it a text"),
        ("version = 'a\\ud800'", r"its version is 'a\\ud800'"),
        ("instructions = b'Count.'", "its instructions is b'Count.'"),
        ("task_ids = lambda: [1, 2]", "has a task 1; a task's id is a text"),
        ("task_ids = lambda: 'ab'", "has 'ab' in place of a list of task ids"),
    ],
)
def test_facts_of_an_environment_that_are_no_texts(tmp_path: Path, facts: str, problem: str) -> None:
    (tmp_path / "world.py").write_text(
        "from perdure.environments.counter import CounterEnvironment\n\n\n"
        "class Odd(CounterEnvironment):\n    def __init__(self):\n        super().__init__(tasks=2)\n"
        f"        self.{facts}\n"
    )
    config = {"environment": {"name": f"{tmp_path}/world.py:Odd"}, "agent": {"kind": "oracle"}}
    with pytest.raises(ConfigError, match=problem):
        perdure.run(config, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


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
