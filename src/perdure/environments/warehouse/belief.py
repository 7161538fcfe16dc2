"""What can be believed about the warehouse from its own texts, and the best action under that belief.

An item's place is known only from an action on it that was seen to be accepted, a manifest, an alert, a state
or a summary. Nothing is inferred from what is not said: in particular not that all shelves below that of an
accepted Store were occupied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from perdure.core.types import JSON, text_digest
from perdure.environments.warehouse.actions import WarehouseAction, parse_action
from perdure.environments.warehouse.parameters import Placement
from perdure.environments.warehouse.world import shelf_name

_PAIR = re.compile(r"(shelf_[0-9]+) (item_[0-9]+)")
_ITEM = re.compile(r"item_[0-9]+")
_SHELF = re.compile(r"shelf_[0-9]+")
_CUSTOMER = re.compile(r"customer_[0-9]+")
_RESERVED = re.compile(r"(customer_[0-9]+) (item_[0-9]+)")
_RELABELLED = re.compile(r"(item_[0-9]+) is now labelled (item_[0-9]+)")
_MOVED = re.compile(r"(item_[0-9]+) was moved from shelf_[0-9]+ to (shelf_[0-9]+)")

WAIT = WarehouseAction("Wait")


class Belief:
    """Item → shelf and everything else that was said, read in order."""

    def __init__(self, placement: Placement = "lowest", shelves: int = 500) -> None:
        self.event = ""
        """Text of the present event."""
        self._placement = placement
        self._shelves = shelves
        self._places: dict[str, str] = {}
        self._contents: dict[str, str] = {}
        self._held: list[str] = []
        self._closed: list[str] = []
        self._reserved: dict[str, str] = {}
        self._first: dict[str, str] = {}
        self._pending: WarehouseAction | None = None

    # -- reading

    def read_action(self, text: str) -> None:
        """The agent's action; believed to have happened once its result says so.

        Instructions quote the form of an action, which is none: it must not put a summary's last action out.
        """
        parsed = parse_action(text)
        if isinstance(parsed, WarehouseAction):
            self._pending = parsed

    def read_result(self, text: str) -> None:
        """The result of the last action."""
        if self._pending is not None and text.startswith("accepted"):
            self.assume(self._pending)
        self._pending = None

    def read_event(self, text: str) -> None:
        """The next event, and what it tells about the world."""
        if self.event.startswith("hold ends"):
            self._discard_holds(_ITEM.findall(self.event))
        self.event = text
        if moved := _MOVED.search(text):
            self._put(moved[1], moved[2])
        elif relabelled := _RELABELLED.search(text):
            shelf = self._take(relabelled[1])
            if shelf:
                self._put(relabelled[2], shelf)
        elif text.startswith("manifest"):
            self._put_all(_PAIR.findall(text))
            for shelf, item in _PAIR.findall(text):
                self._first.setdefault(item, shelf)
        elif text.startswith("audit alert"):
            self._put_all(_PAIR.findall(text))
        elif text.startswith("order on hold"):
            self._held += [item for item in _ITEM.findall(text) if item not in self._held]
        elif text.startswith("cancellation alert, held orders"):
            self._discard_holds(_ITEM.findall(text))
        elif "is closed until" in text:
            self._closed += [shelf for shelf in _SHELF.findall(text) if shelf not in self._closed]
        elif "is open again" in text:
            self._closed = [shelf for shelf in self._closed if shelf not in _SHELF.findall(text)]
        elif "is reserved for" in text:
            self._reserved.update(zip(_CUSTOMER.findall(text), _ITEM.findall(text), strict=False))

    def read_state(self, state: Mapping[str, JSON]) -> None:
        """A structured state; keys that it has not are not known."""
        self._put_all(_pairs(state.get("inventory")))
        self._held = _texts(state.get("open_orders"))
        self._closed = _texts(state.get("closed"))
        self._reserved = dict(_pairs(state.get("reserved")))
        self._first.update(_pairs(state.get("first_shelves")))

    def read_summary(self, topic: str, text: str) -> None:
        """One line of a summary written by `summary`; a line cut short is read as far as it goes."""
        match topic:
            case "shelves":
                self._put_all(_PAIR.findall(text))
            case "holds":
                self._held = _ITEM.findall(text)
            case "closures":
                self._closed = _SHELF.findall(text)
            case "reservations":
                self._reserved.update(_RESERVED.findall(text))
            case "first shelves":
                self._first.update((item, shelf) for shelf, item in _PAIR.findall(text))
            case "last action":
                self.read_action(text)

    # -- acting

    def decide(self, salt: str) -> WarehouseAction:
        """The best answer to the present event. `salt` spreads free choices of a shelf."""
        event, item = self.event, next(iter(_ITEM.findall(self.event)), "")
        if event.startswith("shipment arrived"):
            return WarehouseAction("Store", item, self._target(salt))
        if event.startswith("customer ordered"):
            return self._ship(item)
        if event.startswith("hold ends"):
            return self._ship(item) if item in self._held else WAIT
        if "ordered what is reserved" in event:
            return self._ship(self._reserved.get(event.split()[0], ""))
        shelf = next(iter(_SHELF.findall(event)), "")
        if event.startswith("maintenance") and shelf in self._contents:
            return WarehouseAction("Move", self._contents[shelf], shelf, self._target(salt))
        if event.startswith("audit question") and item in self._first:
            return WarehouseAction("Answer", shelf=self._first[item])
        return WAIT

    def assume(self, action: WarehouseAction) -> None:
        """The action was carried out."""
        match action.verb:
            case "Store":
                self._put(action.item, action.shelf)
                self._first.setdefault(action.item, action.shelf)
            case "Move":
                self._put(action.item, action.target)
            case "Ship":
                self._take(action.item)
                self._discard_holds([action.item])
                self._reserved = {who: item for who, item in self._reserved.items() if item != action.item}
            case "Answer" | "Wait":
                pass

    # -- telling

    def state(self, keys: Iterable[str]) -> dict[str, JSON]:
        """The belief as a structured state with these keys, in the order of the shelves."""
        shelves = sorted(self._contents, key=lambda name: (len(name), name))
        everything: dict[str, JSON] = {
            "inventory": {shelf: self._contents[shelf] for shelf in shelves},
            "inbound": [],
            "open_orders": list(self._held),
            "closed": list(self._closed),
            "reserved": dict(self._reserved),
            "first_shelves": dict(self._first),
        }
        return {key: everything[key] for key in keys if key in everything}

    def summary(self, *, audits: bool) -> str:
        """The belief in prose, the most useful first; first shelves only where audits are to be expected."""
        lines = [f"Summary of shelves: {_told(self.state(['inventory'])['inventory'])}."]
        if self._held:
            lines.append(f"Summary of holds: {', '.join(self._held)}.")
        if self._closed:
            lines.append(f"Summary of closures: {', '.join(self._closed)}.")
        if self._reserved:
            lines.append(f"Summary of reservations: {_told(self._reserved)}.")
        if self._pending is not None:
            lines.append(f"Summary of last action: {self._pending}")
        if audits and self._first:
            first = ", ".join(f"{shelf} {item}" for item, shelf in self._first.items())
            lines.append(f"Summary of first shelves: {first}.")
        return "\n".join(lines)

    def _target(self, salt: str) -> str:
        """The first shelf that is not known to be occupied: from the lowest, or from anywhere."""
        start = int(text_digest(salt), 16) % self._shelves if self._placement == "any" else 0
        for offset in range(self._shelves):
            shelf = shelf_name((start + offset) % self._shelves)
            if shelf not in self._contents and shelf not in self._closed:
                return shelf
        return shelf_name(start)

    def _ship(self, item: str) -> WarehouseAction:
        return WarehouseAction("Ship", item, self._places[item]) if item in self._places else WAIT

    def _put_all(self, pairs: Iterable[tuple[str, str]]) -> None:
        for shelf, item in pairs:
            self._put(item, shelf)

    def _put(self, item: str, shelf: str) -> None:
        """What was believed of this item, and of this shelf, no longer holds."""
        self._take(item)
        if (other := self._contents.pop(shelf, None)) is not None:
            del self._places[other]
        self._places[item] = shelf
        self._contents[shelf] = item

    def _take(self, item: str) -> str | None:
        shelf = self._places.pop(item, None)
        if shelf is not None:
            del self._contents[shelf]
        return shelf

    def _discard_holds(self, items: Iterable[str]) -> None:
        gone = set(items)
        self._held = [item for item in self._held if item not in gone]


def _told(pairs: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in pairs.items()) or "none"


def _pairs(value: JSON) -> list[tuple[str, str]]:
    if not isinstance(value, Mapping):
        return []
    return [(str(key), entry) for key, entry in value.items() if isinstance(entry, str)]


def _texts(value: JSON) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
