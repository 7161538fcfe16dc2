"""The action grammar: a bare command, or the last `Action:` line of a reply."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure.environments.skillexec.commands import find_command
from perdure.environments.warehouse.parameters import Parameters

Verb: TypeAlias = Literal["Store", "Ship", "Move", "Answer", "Wait"]

NO_OP = "Wait"
DO_NOTHING = "Action: Wait"

EXAMPLES: dict[Verb, str] = {
    "Store": "Store item_6 shelf_0",
    "Ship": "Ship item_3 shelf_1",
    "Move": "Move item_3 shelf_0 shelf_1",
    "Answer": "Answer shelf_1",
    "Wait": "Wait",
}
"""How each action is written."""


def verbs_of(parameters: Parameters) -> list[Verb]:
    """The actions that a configuration has."""
    return [verb for verb in EXAMPLES if verb != "Answer" or parameters.tier == "audit"]


_ITEM = r"item_[0-9]{1,6}"
_SHELF = r"shelf_[0-9]{1,6}"
ACTION_PATTERN = (
    rf"(Store {_ITEM} {_SHELF}|Ship {_ITEM} {_SHELF}|Move {_ITEM} {_SHELF} {_SHELF}|Answer {_SHELF}|Wait)"
)
"""Every well-formed action, as a regular expression for constrained decoding."""

_COMMAND = re.compile(
    r"(?P<verb>store|ship|move|answer|wait)"
    r"(?: (?P<item>item_[0-9]{1,6}))?(?: (?P<first>shelf_[0-9]{1,6}))?(?: (?P<second>shelf_[0-9]{1,6}))?",
    re.IGNORECASE,
)
_FORM: dict[str, tuple[Verb, str]] = {
    "store": ("Store", "item shelf"),
    "ship": ("Ship", "item shelf"),
    "move": ("Move", "item shelf shelf"),
    "answer": ("Answer", "shelf"),
    "wait": ("Wait", ""),
}


@dataclass(frozen=True, slots=True)
class WarehouseAction:
    """A parsed action. `target` is the new shelf of a Move."""

    verb: Verb
    item: str = ""
    shelf: str = ""
    target: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.item, self.shelf, self.target)))


def parse_action(reply: str, verbs: Iterable[Verb] = tuple(EXAMPLES)) -> WarehouseAction | str:
    """The action of a reply, or one line that says why there is none, and how one of `verbs` is written.

    Linear time; quotes nothing of the reply.
    """
    return find_command(reply, _parse_command, [EXAMPLES[verb] for verb in verbs])


def _parse_command(text: str) -> WarehouseAction | None:
    match = _COMMAND.fullmatch(" ".join(text.split()))
    if match is None:
        return None
    verb, form = _FORM[match["verb"].lower()]
    item, first, second = match["item"], match["first"], match["second"]
    given = " ".join(name for name, value in (("item", item), ("shelf", first), ("shelf", second)) if value)
    if given != form:
        return None
    return WarehouseAction(verb, (item or "").lower(), (first or "").lower(), (second or "").lower())
