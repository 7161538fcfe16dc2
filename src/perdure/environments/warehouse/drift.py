"""Silent changes of the world: what the script plans around them.

A        an audit reshuffles items; the alert lists the true contents
B        an item gets another label
C        an item is put on another shelf
D        an order had been cancelled before it was shipped: irreversible, nothing can be right afterwards
D_prime  held orders are cancelled before their release: the right answer to a release is Wait
"""

from __future__ import annotations

from perdure.core.randomness import keyed_random
from perdure.environments.warehouse.draft import Draft, chatter
from perdure.environments.warehouse.events import Event, Kind, scored
from perdure.environments.warehouse.parameters import LEAD

AFFECTED = 6
"""Most items that an audit reshuffles."""
SMALLEST_STOCK = 4
HELD, CANCELLED = 5, 2
"""Orders on hold before a D_prime drift, and how many it cancels: less than half, so that a runtime that
guards its state against sudden losses lets them go."""


def drift_events(draft: Draft, t: int) -> list[Event]:
    """The events from the stocking-up before the drift to the last probe.

    Between the change and its alert nothing touches what changed, so a perfect agent makes no mistake.
    """
    parameters = draft.parameters
    draw = keyed_random(draft.seed, "drift", t)
    events = _lead(draft, t)
    if parameters.drift != "D_prime":
        count = AFFECTED if parameters.drift == "A" else 1
        free = draft.available()
        draft.affected = tuple(draw.sample(free, min(count, len(free))))
    silent = [chatter(draw) for _ in range(parameters.gap)]
    if parameters.drift == "D":
        silent[0] = draft.order(draft.affected[0])
    alert = Event(Kind.ALERT, items=draft.affected, detail=parameters.drift)
    return [*events, *silent, alert, *_probes(draft)]


def _lead(draft: Draft, t: int) -> list[Event]:
    """Arrivals while the stock is too small, maintenance otherwise; then the held orders."""
    held = HELD if draft.parameters.drift == "D_prime" else 0
    draw = keyed_random(draft.seed, "lead", t)
    events = []
    for _ in range(LEAD[draft.parameters.drift] - held):
        if len(draft.stock) < max(SMALLEST_STOCK, held):
            events.append(draft.arrive())
        else:
            events.append(scored(Kind.MAINTENANCE, draw.choice(draft.available())))
    if held:
        items = keyed_random(draft.seed, "held", t).sample(draft.stock, held)
        draft.affected = tuple(items[:CANCELLED])
        events += [Event(Kind.HELD_ORDER, item) for item in items]
        draft.reserved.update(dict.fromkeys(items[CANCELLED:], "on hold"))
    return events


def _probes(draft: Draft) -> list[Event]:
    drift, count = draft.parameters.drift, draft.parameters.probes
    affected = list(draft.affected)
    if drift == "D":
        return [Event(Kind.ORDER, affected[0], probe=True) for _ in range(count)]
    if drift == "D_prime":
        standing = list(draft.reserved)
        draft.reserved.clear()
        for item in standing:
            draft.stock.remove(item)
        cancelled = [Event(Kind.RELEASE, affected[i % CANCELLED], probe=True) for i in range(count)]
        return [*cancelled, *(scored(Kind.RELEASE, item) for item in standing)]
    if drift == "B":
        draft.relabelled = draft.names.pop()
        draft.stock[draft.stock.index(affected[0])] = draft.relabelled
        affected = [draft.relabelled]
    probes = []
    for i in range(count):
        item = affected[i % len(affected)]
        last_visit = i + len(affected) >= count
        probes.append(
            draft.order(item, probe=True) if last_visit else scored(Kind.MAINTENANCE, item, probe=True)
        )
    return probes
