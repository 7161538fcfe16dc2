"""What `compat = "paper"` gives back to a strategy: the rules under which its paper played it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Compat: TypeAlias = Literal["none", "paper"]


@dataclass(frozen=True)
class PublishedRules:
    """Rules of a strategy's paper, where they differ from those that all strategies share here."""

    retries: int = 0
    """How often an unusable reply is asked for again within a step."""
    takes_no_op: bool = False
    """After the last retry the world's no-op is taken; else the environment gets the reply as it is."""
    differences: str = "unusable replies go to the environment as they are"
    """In a few words, for reports."""


SHARED_BASELINE = PublishedRules()
"""Of every baseline: their papers ask once."""
