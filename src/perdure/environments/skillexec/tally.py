"""What was right, and what that makes: counts of one task, its verdict, metrics over sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, EvaluationOutcome
from perdure.metrics.skills import skill_metrics


class ScoredEvent(Protocol):
    """What is counted of an event."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def actionable(self) -> bool:
        """Whether something other than Wait answers it."""

    @property
    def probe(self) -> bool:
        """Whether it tries if the agent noticed a drift."""


@dataclass
class Tally:
    """Running counts of one task."""

    right: Counter[str] = field(default_factory=Counter)
    probes: list[bool] = field(default_factory=list)
    refused: int = 0
    premise_lost: int = 0
    """Actionable events that earlier failures left without a right answer."""
    tolerated: int = 0
    """Replies whose action was read although its letter case, spaces or marks were not as asked for."""
    needless: int = 0
    """Actions other than Wait that were carried out where Wait was right."""

    def count(self, event: ScoredEvent, *, accepted: bool, acted: bool, right: bool, lost: bool) -> None:
        """One event was answered, with Wait unless `acted`; `lost` says that its premise was."""
        self.refused += not accepted
        if event.probe:
            self.probes.append(right)
        if event.actionable:
            self.right[event.kind] += right
            self.premise_lost += lost
        else:
            self.needless += accepted and acted and not right

    def grade(
        self, events: Iterable[ScoredEvent], probes: int, further: Mapping[str, float | int | None]
    ) -> Evaluation:
        """The verdict: score = right actions / actionable events of the whole script, played or not.

        `further` are details of one world, told after the scores.
        """
        asked = Counter(event.kind for event in events if event.actionable)
        actionable, right = asked.total(), self.right.total()
        score = right / actionable if actionable else 1.0
        local = actionable - self.premise_lost
        detail: dict[str, float | int | bool | None] = {
            "score": score,
            "score_local": right / local if local else 1.0,
            **further,
            "actionable": actionable,
            "correct_actions": right,
            "premise_lost": self.premise_lost,
            "refused": self.refused,
            "needless": self.needless,
            "tolerated": self.tolerated,
            "recovery_steps": None,
            "recovered": None,
        }
        if probes:
            recovered = True in self.probes
            detail["recovered"] = recovered
            detail["recovery_steps"] = self.probes.index(True) if recovered else probes
        for kind in sorted(asked):
            detail[f"{kind}.asked"] = asked[kind]
            detail[f"{kind}.right"] = self.right[kind]
        outcome = EvaluationOutcome.CORRECT if right == actionable else EvaluationOutcome.INCORRECT
        return Evaluation(outcome, score, detail)


def event_metrics(
    records: Iterable[SessionRecord], means: Sequence[str], kinds: Collection[str]
) -> dict[str, float]:
    """Means over sessions, action ratios by kind of event, and the usual counts of sessions."""
    played = list(records)
    metrics = skill_metrics(played, {})
    for name in means:
        values = [float(value) for record in played if (value := record.detail.get(name)) is not None]
        if values:
            metrics[f"overall.mean_{name}"] = sum(values) / len(values)
    for kind in sorted(kinds):
        asked = sum(record.detail.get(f"{kind}.asked") or 0 for record in played)
        if asked:
            right = sum(record.detail.get(f"{kind}.right") or 0 for record in played)
            metrics[f"event.{kind}.count"] = float(asked)
            metrics[f"event.{kind}.correct_rate"] = right / asked
    return metrics


def f1(believed: Iterable[Hashable], true: Iterable[Hashable]) -> float:
    """Of two sets of facts; 1.0 where both are empty."""
    ours, theirs = set(believed), set(true)
    if not ours and not theirs:
        return 1.0
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))
