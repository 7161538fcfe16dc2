"""A question as it is proposed: the statement, the wording, and what must be true for it to be a good one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Draft:
    """A question before it is checked by execution."""

    sql: str
    instruction: str
    skills: frozenset[str]
    """What the statement shall need; the labels must agree."""
    probes: tuple[str, ...] = ()
    """The statement with one part left out, each: every one of them must come to another result."""
    sort_keys: str = ""
    """A query for the sort keys of all rows before a LIMIT: no two may be alike. Empty: nothing is sorted."""
    sort_keys_count: int = 0
    """How many keys there are; the first of several must matter, and leave ties to the others."""
