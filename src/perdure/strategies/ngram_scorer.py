"""How surprising each piece of a text is: a small trigram model that also learns from what it has read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files
from math import log

_PIECE = re.compile(r"\s*(?:[A-Za-z]+|[0-9]{1,3}|[^\sA-Za-z0-9])|\s+")
_ORDER = 3
_VOCABULARY = 50_000
"""Pieces that could have come where nothing is known; about the vocabulary of a language model."""
_WEIGHT = 1.0
"""Of the shorter context, in occurrences."""


def split_pieces(text: str) -> list[str]:
    """Words, numbers of up to three digits and marks, each with the blanks before it; joined, the text."""
    return _PIECE.findall(text)


class NGramScorer:
    """Interpolated trigrams over the pieces of a small English text and of everything scored since `start`.

    As in a large model, what was said before is expected again: templates lose their surprise, names and
    numbers keep it. Deterministic; O(pieces).
    """

    label = "n-gram"

    def __init__(self) -> None:
        text = files("perdure.strategies").joinpath("ngram_text.txt").read_text("utf-8")
        self._trained = _Counts()
        self._context: tuple[str, ...] = ()
        self._seen = _Counts()
        for line in text.splitlines():
            context: tuple[str, ...] = ()
            for piece in map(_normal, split_pieces(line)):
                self._trained.add(context, piece)
                context = (*context, piece)[1 - _ORDER :]

    def start(self) -> None:
        """A new task: only the trained text is known."""
        self._seen = _Counts()
        self._context = ()

    def score(self, pieces: Sequence[str]) -> list[float]:
        """Surprisal of each piece in nats, given the pieces before it and all those scored earlier."""
        surprisals = []
        for piece in map(_normal, pieces):
            surprisals.append(-log(self._probability(piece)))
            self._seen.add(self._context, piece)
            self._context = (*self._context, piece)[1 - _ORDER :]
        return surprisals

    def _probability(self, piece: str) -> float:
        probability = 1 / _VOCABULARY
        for context in _suffixes(self._context):
            times, total = self._trained.of(context, piece)
            seen_times, seen_total = self._seen.of(context, piece)
            probability = (times + seen_times + _WEIGHT * probability) / (total + seen_total + _WEIGHT)
        return probability


class _Counts:
    """How often each piece followed each context of up to two pieces."""

    def __init__(self) -> None:
        self._pieces: Counter[tuple[str, ...]] = Counter()
        self._contexts: Counter[tuple[str, ...]] = Counter()

    def add(self, context: tuple[str, ...], piece: str) -> None:
        for part in _suffixes(context):
            self._pieces[(*part, piece)] += 1
            self._contexts[part] += 1

    def of(self, context: tuple[str, ...], piece: str) -> tuple[int, int]:
        return self._pieces[(*context, piece)], self._contexts[context]


def _suffixes(context: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    """The empty context, then longer and longer ones that end where this one ends."""
    return (context[len(context) - length :] for length in range(len(context) + 1))


def _normal(piece: str) -> str:
    return piece.strip().lower() or " "
