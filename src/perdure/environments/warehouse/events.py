"""Logical events: what the script says, before anybody knows where an item stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kinds of events; the value names the kind in metrics."""

    ARRIVAL = "arrival"
    ORDER = "order"
    MAINTENANCE = "maintenance"
    CHATTER = "chatter"
    MANIFEST = "manifest"
    HELD_ORDER = "held_order"
    RELEASE = "release"
    ALERT = "alert"
    CLOSURE = "closure"
    REOPENING = "reopening"
    RESERVATION = "reservation"
    CUSTOMER_ORDER = "customer_order"
    QUESTION = "question"


SCORED = frozenset(
    {Kind.ARRIVAL, Kind.ORDER, Kind.MAINTENANCE, Kind.RELEASE, Kind.CUSTOMER_ORDER, Kind.QUESTION}
)
"""Kinds that ask for an action other than Wait."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the script. It names items, never shelves."""

    kind: Kind
    item: str = ""
    items: tuple[str, ...] = ()
    """Items of a manifest page, or affected by an alert."""
    detail: str = ""
    """Chatter, a customer, a page number or a new label."""
    probe: bool = False
    """Touches what a drift changed; counts for recovery."""
    actionable: bool = False
    """Counts in the score."""

    def line(self) -> str:
        """Canonical text, for hashes of scripts."""
        marks = (
            f"{self.kind} {self.item} {','.join(self.items)} {self.detail} {self.probe:d}{self.actionable:d}"
        )
        return " ".join(marks.split())


def scored(kind: Kind, item: str, *, probe: bool = False, detail: str = "") -> Event:
    """An event that has one right action and counts in the score."""
    return Event(kind, item, detail=detail, probe=probe, actionable=True)
