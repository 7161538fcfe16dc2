"""Which turns, and which pieces of them, say the least: pruning by surprisal, coarse and fine.

Source: the two levels of LLMLingua (Jiang et al. 2023), with a scorer of one's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from perdure.strategies.window import largest_fitting


class Scorer(Protocol):
    """Tells how surprising pieces of text are, in the order in which they are read."""

    label: str
    """What the trace calls it."""

    def start(self) -> None:
        """A new task: forget what was read."""

    def score(self, pieces: Sequence[str]) -> list[float]:
        """Surprisal of each piece in nats, given everything read before it."""


@dataclass(frozen=True)
class ScoredTurn:
    """A turn in pieces that join to its text, each with its surprisal; `tokens` is its size."""

    pieces: tuple[str, ...]
    surprisals: tuple[float, ...]
    tokens: int

    @cached_property
    def text(self) -> str:
        """The whole turn."""
        return "".join(self.pieces)

    @cached_property
    def surprise(self) -> float:
        """Mean surprisal of a piece."""
        return sum(self.surprisals) / len(self.surprisals) if self.surprisals else 0.0


def filter_turns(turns: Sequence[ScoredTurn], tokens: int) -> list[ScoredTurn]:
    """The most surprising turns that have `tokens` together, in their order; of equal ones the later."""
    ranked = sorted(range(len(turns)), key=lambda i: (turns[i].surprise, i), reverse=True)
    kept, left = [], tokens
    for i in ranked:
        if left <= 0:
            break
        kept.append(i)
        left -= turns[i].tokens
    return [turns[i] for i in sorted(kept)]


def prune(turns: Sequence[ScoredTurn], fits: Callable[[str], bool]) -> str:
    """As much of the turns as fits without the least surprising pieces; of equal ones the later stay."""
    pieces = [piece for turn in turns for piece in turn.pieces]
    surprisals = [surprisal for turn in turns for surprisal in turn.surprisals]
    ranked = sorted(range(len(pieces)), key=lambda i: (surprisals[i], i), reverse=True)

    def text(kept: int) -> str:
        return "".join(pieces[i] for i in sorted(ranked[:kept])).strip()

    kept = largest_fitting(len(pieces), lambda count: fits(text(count)))
    return text(kept)
