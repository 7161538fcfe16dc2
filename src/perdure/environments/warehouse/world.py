"""The shelves: what stands where, what may be put where, and why not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from itertools import chain

from perdure.core.types import JSON
from perdure.environments.warehouse.actions import WarehouseAction
from perdure.environments.warehouse.parameters import Placement


def shelf_name(number: int) -> str:
    """`shelf_7`."""
    return f"shelf_{number}"


class World:
    """Shelves 0 … n-1 with one item or none, a dock, and the orders that stand.

    `dock` and `due` are what the present event allows to be stored and shipped; the caller sets them.
    """

    def __init__(self, shelves: int, placement: Placement, preload: Iterable[str] = ()) -> None:
        self.shelves = shelves
        self.places: dict[str, int] = {}
        """Item → shelf."""
        self.dock = ""
        self.due = ""
        self.held: list[str] = []
        """Items whose orders wait for their release."""
        self.closed: list[int] = []
        """Shelves where nothing may be put, oldest closure first."""
        self.first_shelves: dict[str, int] = {}
        """Item → the shelf on which it first stood, also of items that have left."""
        self._placement = placement
        self._contents: dict[int, str] = {}
        self._blocked = 0
        """One bit a shelf that is occupied or closed."""
        self._names = {shelf_name(number): number for number in range(shelves)}
        for number, item in enumerate(preload):
            self.put(item, number)
            self.first_shelves[item] = number

    def apply(self, action: WarehouseAction) -> str:
        """Carry out an action; empty, or the reason why it was refused and nothing changed."""
        match action.verb:
            case "Store":
                if action.item != self.dock:
                    return "that item is not at the dock"
                return self._refuse_target(action.shelf) or self._store(action.item, action.shelf)
            case "Ship":
                if action.item != self.due:
                    return "no order for that item is due"
                return self._refuse_origin(action.item, action.shelf) or self._ship(action.item)
            case "Move":
                reason = self._refuse_origin(action.item, action.shelf) or self._refuse_target(action.target)
                if not reason:
                    self.take(action.item)
                    self.put(action.item, self._names[action.target])
                return reason
            case "Answer" | "Wait":
                return ""

    def put(self, item: str, shelf: int) -> None:
        """An item is on a shelf from now on."""
        self.places[item] = shelf
        self._contents[shelf] = item
        self._blocked |= 1 << shelf

    def take(self, item: str) -> int:
        """An item leaves its shelf, which is returned."""
        shelf = self.places.pop(item)
        del self._contents[shelf]
        self._blocked &= ~(1 << shelf)
        return shelf

    def close(self, shelf: int) -> None:
        """Nothing may be put on an empty shelf any more."""
        self.closed.append(shelf)
        self._blocked |= 1 << shelf

    def reopen(self) -> int | None:
        """The shelf that was closed first is open again."""
        if not self.closed:
            return None
        shelf = self.closed.pop(0)
        self._blocked &= ~(1 << shelf)
        return shelf

    def lowest_empty(self) -> int:
        """Number of the lowest shelf that is empty and open; may be `shelves`, when all are full."""
        lowest: int = ~self._blocked & (self._blocked + 1)
        return lowest.bit_length() - 1

    def empty_from(self, start: int) -> int:
        """The first empty shelf from `start` upwards, around the end; `start` when all are full."""
        for shelf in chain(range(start, self.shelves), range(start)):
            if not self._blocked >> shelf & 1:
                return shelf
        return start

    def listing(self, items: Iterable[str]) -> str:
        """`shelf_3 item_5, …` for items that stand on a shelf."""
        return ", ".join(f"{shelf_name(self.places[item])} {item}" for item in items)

    def state(self) -> JSON:
        """The true state, in the shape of the state schema; occupied shelves only, in their order."""
        inventory = {shelf_name(number): self._contents[number] for number in sorted(self._contents)}
        return {"inventory": inventory, "inbound": [], "open_orders": list(self.held)}

    def digest(self) -> str:
        """SHA-256 of everything that an action may change."""
        everything = [self.state(), self.closed, sorted(self.first_shelves.items())]
        return sha256(json.dumps(everything).encode()).hexdigest()

    def _refuse_target(self, shelf: str) -> str:
        number = self._names.get(shelf)
        if number is None:
            return "there is no such shelf"
        if self._blocked >> number & 1:
            lowest = self._placement == "lowest"
            return "that is not the lowest-numbered empty shelf" if lowest else "that shelf is not empty"
        if self._placement == "lowest" and number != self.lowest_empty():
            return "that is not the lowest-numbered empty shelf"
        return ""

    def _refuse_origin(self, item: str, shelf: str) -> str:
        if self.places.get(item, -1) != self._names.get(shelf):
            return "that item is not on that shelf"
        return ""

    def _store(self, item: str, shelf: str) -> str:
        self.put(item, self._names[shelf])
        self.first_shelves[item] = self._names[shelf]
        self.dock = ""
        return ""

    def _ship(self, item: str) -> str:
        self.take(item)
        if item in self.held:
            self.held.remove(item)
        self.due = ""
        return ""
