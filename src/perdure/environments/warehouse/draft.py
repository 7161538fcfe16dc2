"""The logical warehouse while a script is written: every item is taken to be handled rightly."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from perdure.environments.warehouse.events import Event, Kind, scored
from perdure.environments.warehouse.parameters import Parameters

CHATTER = (
    "the canteen serves soup today",
    "a visitor group passes through the hall",
    "the night shift starts at ten",
    "the dock door was painted",
    "fire drill next week",
    "a new forklift driver introduces herself",
)


@dataclass
class Draft:
    """What is in stock, what has left, what is promised, as far as the script has been written."""

    parameters: Parameters
    seed: int
    names: list[str]
    """Labels of items to come, the last first."""
    customers: list[str]
    """Customers to come, each of whom has one item reserved."""
    stock: list[str] = field(default_factory=list)
    """Oldest first."""
    departed: list[str] = field(default_factory=list)
    reserved: dict[str, str] = field(default_factory=dict)
    """Item → customer."""
    closed: int = 0
    affected: tuple[str, ...] = ()
    relabelled: str = ""

    def available(self) -> list[str]:
        """Items that an ordinary order or a maintenance may touch; the older half under `dense`."""
        free = [item for item in self.stock if item not in self.reserved] if self.reserved else self.stock
        return free[: (len(free) + 1) // 2] if self.parameters.profile == "dense" else free

    def arrive(self) -> Event:
        """A new item."""
        item = self.names.pop()
        self.stock.append(item)
        return scored(Kind.ARRIVAL, item)

    def order(self, item: str, *, probe: bool = False) -> Event:
        """An item leaves."""
        self.stock.remove(item)
        self.departed.append(item)
        return scored(Kind.ORDER, item, probe=probe)


def chatter(draw: Random) -> Event:
    """Nothing to do."""
    return Event(Kind.CHATTER, detail=draw.choice(CHATTER))
