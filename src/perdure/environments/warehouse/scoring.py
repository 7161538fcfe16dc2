"""What was right, and what that makes: scores, recovery from a drift, fidelity of a state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure.core.session import SessionRecord
from perdure.core.types import JSON
from perdure.environments.skillexec.tally import event_metrics, f1
from perdure.environments.warehouse.actions import Verb, WarehouseAction
from perdure.environments.warehouse.events import SCORED, Event, Kind

_RIGHT_VERB: Mapping[Kind, Verb] = {
    Kind.ARRIVAL: "Store",
    Kind.ORDER: "Ship",
    Kind.MAINTENANCE: "Move",
    Kind.RELEASE: "Ship",
    Kind.CUSTOMER_ORDER: "Ship",
    Kind.QUESTION: "Answer",
}


_MEANS = (
    "score",
    "score_local",
    "premise_lost",
    "refused",
    "needless",
    "recovery_steps",
    "recovered",
)


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


def warehouse_metrics(records: Iterable[SessionRecord]) -> dict[str, float]:
    """Means over sessions, action ratios by kind of event, and the usual counts of sessions."""
    return event_metrics(records, _MEANS, SCORED)


def state_fidelity(state: JSON, truth: JSON) -> float:
    """F1 of a believed state against the true one, over `shelf, item` pairs and the entries of both lists."""
    return f1(_facts(state), _facts(truth))


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
