"""What was right, and what that makes: both scores, recovery from a drift, fidelity of a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from perdure.core.session import SessionRecord
from perdure.core.types import JSON, Evaluation, EvaluationOutcome
from perdure.environments.repository.events import Event, Kind
from perdure.environments.repository.script import Script
from perdure.environments.repository.world import World
from perdure.metrics.skills import skill_metrics

_MEANS = (
    "score",
    "score_local",
    "feature_score",
    "breaking_merges",
    "premise_lost",
    "refused",
    "needless",
    "recovery_steps",
    "recovered",
)


@dataclass
class Tally:
    """Running counts of one task."""

    right: Counter[Kind] = field(default_factory=Counter)
    probes: list[bool] = field(default_factory=list)
    refused: int = 0
    premise_lost: int = 0
    """Actionable events that earlier failures left without a right answer."""
    needless: int = 0
    """Actions other than Wait that were carried out where Wait was right."""

    def count(self, event: Event, *, accepted: bool, acted: bool, right: bool, lost: bool) -> None:
        """One event was answered, with Wait unless `acted`; `lost` says that its premise was."""
        self.refused += not accepted
        if event.probe:
            self.probes.append(right)
        if event.actionable:
            self.right[event.kind] += right
            self.premise_lost += lost
        else:
            self.needless += accepted and acted and not right

    def grade(self, script: Script, world: World) -> Evaluation:
        """The verdict over the whole script, played or not.

        `score` is right actions / actionable events; `feature_score` is feature requests that were merged on
        fresh passing tests, less merges that broke main, over those that right answers merge.
        """
        asked = Counter(event.kind for event in script.events if event.actionable)
        actionable, right = asked.total(), self.right.total()
        score = right / actionable if actionable else 1.0
        local = actionable - self.premise_lost
        merged = max(0, world.merged_well - world.breaking_merges)
        detail: dict[str, float | int | bool | None] = {
            "score": score,
            "score_local": right / local if local else 1.0,
            "feature_score": min(1.0, merged / script.merges) if script.merges else None,
            "breaking_merges": world.breaking_merges,
            "actionable": actionable,
            "correct_actions": right,
            "premise_lost": self.premise_lost,
            "refused": self.refused,
            "needless": self.needless,
            "recovery_steps": None,
            "recovered": None,
        }
        if probes := sum(event.probe for event in script.events):
            recovered = True in self.probes
            detail["recovered"] = recovered
            detail["recovery_steps"] = self.probes.index(True) if recovered else probes
        for kind in sorted(asked):
            detail[f"{kind}.asked"] = asked[kind]
            detail[f"{kind}.right"] = self.right[kind]
        outcome = EvaluationOutcome.CORRECT if right == actionable else EvaluationOutcome.INCORRECT
        return Evaluation(outcome, score, detail)


def repository_metrics(records: Iterable[SessionRecord]) -> dict[str, float]:
    """Means over sessions, action ratios by kind of event, and the usual counts of sessions."""
    played = list(records)
    metrics = skill_metrics(played, {})
    for name in _MEANS:
        values = [float(value) for record in played if (value := record.detail.get(name)) is not None]
        if values:
            metrics[f"overall.mean_{name}"] = sum(values) / len(values)
    for kind in sorted(Kind):
        asked = sum(record.detail.get(f"{kind}.asked") or 0 for record in played)
        if asked:
            right = sum(record.detail.get(f"{kind}.right") or 0 for record in played)
            metrics[f"event.{kind}.count"] = float(asked)
            metrics[f"event.{kind}.correct_rate"] = right / asked
    return metrics


def state_fidelity(state: JSON, truth: JSON) -> float:
    """F1 of a believed state against the true one, over all `path, value` leaves."""
    believed, true = set(_leaves(state, ())), set(_leaves(truth, ()))
    if not believed and not true:
        return 1.0
    return 2 * len(believed & true) / (len(believed) + len(true))


def _leaves(value: JSON, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], str]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _leaves(entry, (*path, str(key)))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _leaves(entry, (*path, str(index)))
    else:
        yield path, repr(value)
