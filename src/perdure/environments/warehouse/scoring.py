"""What was right, and what that makes: scores, recovery from a drift, fidelity of a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from perdure.core.session import SessionRecord
from perdure.core.types import JSON, Evaluation, EvaluationOutcome
from perdure.environments.warehouse.actions import Verb, WarehouseAction
from perdure.environments.warehouse.events import SCORED, Event, Kind
from perdure.metrics.skills import skill_metrics

_RIGHT_VERB: Mapping[Kind, Verb] = {
    Kind.ARRIVAL: "Store",
    Kind.ORDER: "Ship",
    Kind.MAINTENANCE: "Move",
    Kind.RELEASE: "Ship",
    Kind.CUSTOMER_ORDER: "Ship",
    Kind.QUESTION: "Answer",
}


def is_right(event: Event, action: WarehouseAction, answer: str) -> bool:
    """Whether an action that was carried out is the one its event asked for.

    `answer` is the true answer to a question. Shelves need no look: the world carries out no other action
    of that verb on that item.
    """
    wanted = "Wait" if event.kind is Kind.RELEASE and event.probe else _RIGHT_VERB.get(event.kind, "Wait")
    if action.verb != wanted:
        return False
    if wanted == "Answer":
        return action.shelf == answer
    return wanted == "Wait" or action.item == event.item


@dataclass
class Tally:
    """Running counts of one task."""

    right: Counter[Kind] = field(default_factory=Counter)
    probes: list[bool] = field(default_factory=list)
    refused: int = 0
    premise_lost: int = 0
    """Actionable events about items that an earlier failure lost."""
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

    def grade(self, events: Iterable[Event], probes: int) -> Evaluation:
        """The verdict: score = right actions / actionable events of the whole script, played or not."""
        asked = Counter(event.kind for event in events if event.actionable)
        actionable, right = asked.total(), self.right.total()
        score = right / actionable if actionable else 1.0
        local = actionable - self.premise_lost
        detail: dict[str, float | int | bool | None] = {
            "score": score,
            "score_local": right / local if local else 1.0,
            "actionable": actionable,
            "correct_actions": right,
            "premise_lost": self.premise_lost,
            "refused": self.refused,
            "needless": self.needless,
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


def warehouse_metrics(records: Iterable[SessionRecord]) -> dict[str, float]:
    """Means over sessions, action ratios by kind of event, and the usual counts of sessions."""
    played = list(records)
    metrics = skill_metrics(played, {})
    for name in (
        "score",
        "score_local",
        "premise_lost",
        "refused",
        "needless",
        "recovery_steps",
        "recovered",
    ):
        values = [float(value) for record in played if (value := record.detail.get(name)) is not None]
        if values:
            metrics[f"overall.mean_{name}"] = sum(values) / len(values)
    for kind in sorted(SCORED):
        asked = sum(record.detail.get(f"{kind}.asked") or 0 for record in played)
        if asked:
            right = sum(record.detail.get(f"{kind}.right") or 0 for record in played)
            metrics[f"event.{kind}.count"] = float(asked)
            metrics[f"event.{kind}.correct_rate"] = right / asked
    return metrics


def state_fidelity(state: JSON, truth: JSON) -> float:
    """F1 of a believed state against the true one, over `shelf, item` pairs and the entries of both lists."""
    believed, true = set(_facts(state)), set(_facts(truth))
    if not believed and not true:
        return 1.0
    return 2 * len(believed & true) / (len(believed) + len(true))


def _facts(state: JSON) -> Iterable[tuple[str, str, str]]:
    if not isinstance(state, Mapping):
        return
    inventory = state.get("inventory")
    if isinstance(inventory, Mapping):
        yield from (("inventory", str(shelf), str(item)) for shelf, item in inventory.items())
    for name in ("inbound", "open_orders"):
        entries = state.get(name)
        if isinstance(entries, list):
            yield from ((name, "", str(entry)) for entry in entries)
