"""Seeded scripts: the whole course of events of one task, fixed before the agent's first action."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from random import Random

from perdure.core.randomness import keyed_random
from perdure.environments.warehouse.draft import Draft, chatter
from perdure.environments.warehouse.drift import drift_events
from perdure.environments.warehouse.events import Event, Kind, scored
from perdure.environments.warehouse.parameters import (
    CHATTER_RATE,
    ITEMS_A_PAGE,
    LEAD,
    PAGES,
    RECEIVE_WEIGHT,
    Parameters,
)

TIER_RATE = 0.15
OPEN_CLOSURES = 3
ROOM = OPEN_CLOSURES + 2
"""Shelves that a right course of action keeps empty: for closures, an arrival and a move."""


@dataclass(frozen=True)
class Script:
    """What happens in one task, whatever the agent does."""

    preload: tuple[str, ...]
    """Item on shelf 0, 1, …, when the task begins."""
    events: tuple[Event, ...]
    change_at: int | None
    """Index of the event before which the world changes silently; None without a drift."""
    affected: tuple[str, ...] = ()
    """Items that the drift touches, under their labels before it."""
    relabelled: str = ""

    def digest(self) -> str:
        """SHA-256 over everything above: equal scripts, equal digests."""
        lines = [f"{self.preload} {self.change_at} {self.affected} {self.relabelled}"]
        return sha256("\n".join([*lines, *(event.line() for event in self.events)]).encode()).hexdigest()


def write_script(parameters: Parameters, seed: int) -> Script:
    """The script of one generator seed."""
    needed = parameters.preloaded + parameters.horizon + 1
    numbers = list(range(needed))
    keyed_random(seed, "names", 0).shuffle(numbers)
    customers = [f"customer_{number}" for number in range(parameters.horizon)]
    keyed_random(seed, "customers", 0).shuffle(customers)
    draft = Draft(parameters, seed, [f"item_{number}" for number in numbers], customers)
    preload = tuple(draft.names.pop() for _ in range(parameters.preloaded))
    draft.stock.extend(preload)
    events = [*_manifest(preload), *_events(draft)]
    drifts = parameters.drift != "none"
    change_at = parameters.drift_step + len(events) - parameters.horizon if drifts else None
    return Script(preload, tuple(events), change_at, draft.affected, draft.relabelled)


def _manifest(preload: tuple[str, ...]) -> Iterator[Event]:
    for page in range(len(preload) // ITEMS_A_PAGE):
        items = preload[page * ITEMS_A_PAGE : (page + 1) * ITEMS_A_PAGE]
        yield Event(Kind.MANIFEST, items=items, detail=f"{page + 1} of {PAGES}")


def _events(draft: Draft) -> list[Event]:
    parameters = draft.parameters
    events: list[Event] = []
    start = parameters.drift_step - LEAD[parameters.drift] if parameters.drift != "none" else None
    while len(events) < parameters.horizon:
        if len(events) == start:
            events.extend(drift_events(draft, len(events)))
        else:
            events.append(next_event(draft, len(events)))
    return events[: parameters.horizon]


def next_event(draft: Draft, t: int) -> Event:
    """One ordinary draw, keyed by the step."""
    draw = keyed_random(draft.seed, "events", t)
    special = _tier_event(draft, draw, t)
    if special is not None:
        return special
    if draw.random() < CHATTER_RATE[draft.parameters.profile]:
        return chatter(draw)
    free = draft.available()
    has_room = len(draft.stock) + ROOM <= draft.parameters.shelves
    weight = RECEIVE_WEIGHT[draft.parameters.profile] if has_room else 0
    choice = draw.randrange(weight + 2) if free else 0
    if choice < weight:
        return draft.arrive()
    item = draw.choice(free)
    return draft.order(item) if choice == weight else scored(Kind.MAINTENANCE, item)


def _tier_event(draft: Draft, draw: Random, t: int) -> Event | None:
    match draft.parameters.tier:
        case "unforeseen":
            return _closure(draft, draw)
        case "late":
            return _reservation(draft, draw, t)
        case "audit" if draft.departed and draw.random() < TIER_RATE:
            return scored(Kind.QUESTION, draw.choice(draft.departed))
        case _:
            return None


def _closure(draft: Draft, draw: Random) -> Event | None:
    """Shelves that close and open again: nothing in the state's schema is made for them."""
    if draw.random() >= TIER_RATE:
        return None
    if draft.closed == OPEN_CLOSURES or (draft.closed and draw.random() < 0.3):
        draft.closed -= 1
        return Event(Kind.REOPENING)
    draft.closed += 1
    return Event(Kind.CLOSURE)


def _reservation(draft: Draft, draw: Random, t: int) -> Event | None:
    """An item is reserved in the first third; in the second half its customer asks for it, unnamed."""
    horizon = draft.parameters.horizon
    if draw.random() >= 2 * TIER_RATE:
        return None
    if t < horizon // 3:
        free = draft.available()
        if not free:
            return None
        item = draw.choice(free)
        draft.reserved[item] = draft.customers.pop()
        return Event(Kind.RESERVATION, item, detail=draft.reserved[item])
    if t >= horizon // 2 and draft.reserved:
        item = draw.choice(list(draft.reserved))
        draft.stock.remove(item)
        draft.departed.append(item)
        return scored(Kind.CUSTOMER_ORDER, item, detail=draft.reserved.pop(item))
    return None
