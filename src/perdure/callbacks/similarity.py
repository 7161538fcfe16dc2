"""Which earlier texts are near a new one, by words or by meaning, and how to pick some that differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from perdure.callbacks.bm25 import Bm25Index, words

if TYPE_CHECKING:
    from perdure.callbacks.sentence_encoder import SentenceEncoder

Encoder: TypeAlias = Literal["bm25", "minilm"]
ENCODERS: tuple[Encoder, ...] = ("bm25", "minilm")


class Similarity(Protocol):
    """Texts by position."""

    def __len__(self) -> int: ...

    def add(self, text: str) -> None:
        """Index one more text."""

    def scores(self, query: str) -> dict[int, float]:
        """Position → nearness to the query; what is not at all near may be missing."""

    def between(self, first: int, second: int) -> float:
        """Nearness of two indexed texts, at most 1."""


class WordSimilarity:
    """BM25 for queries, shared words (Jaccard) between texts."""

    def __init__(self) -> None:
        self._index = Bm25Index()
        self._words: list[frozenset[str]] = []

    def __len__(self) -> int:
        return len(self._words)

    def add(self, text: str) -> None:
        """Index one more text."""
        self._index.add(text)
        self._words.append(frozenset(words(text)))

    def scores(self, query: str) -> dict[int, float]:
        """BM25, scaled to at most 1."""
        found = self._index.scores(query)
        best = max(found.values(), default=1.0)
        return {position: score / best for position, score in found.items()}

    def between(self, first: int, second: int) -> float:
        """Shared words of all words."""
        a, b = self._words[first], self._words[second]
        return len(a & b) / len(a | b) if a | b else 1.0


class MeaningSimilarity:
    """Cosine of sentence embeddings; one row of 384 numbers a text."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder
        self._vectors: list[list[float]] = []

    def __len__(self) -> int:
        return len(self._vectors)

    def add(self, text: str) -> None:
        """Embed one more text."""
        self._vectors.append(self._encoder.encode(text))

    def scores(self, query: str) -> dict[int, float]:
        """Cosine with every text."""
        vector = self._encoder.encode(query)
        return {position: _dot(vector, other) for position, other in enumerate(self._vectors)}

    def between(self, first: int, second: int) -> float:
        """Cosine."""
        return _dot(self._vectors[first], self._vectors[second])


def make_similarity(encoder: Encoder) -> Similarity:
    """`bm25`, or `minilm`, whose parts may be missing: raises MissingExtra."""
    if encoder == "bm25":
        return WordSimilarity()
    from perdure.callbacks.sentence_encoder import load_encoder

    return MeaningSimilarity(load_encoder())


def most_similar(scores: dict[int, float], k: int) -> list[int]:
    """The nearest `k` positions, nearest first; of equally near ones the newer. Fewer where few are near."""
    return nsmallest(k, scores, key=lambda position: (-scores[position], -position))


def most_diverse(
    scores: dict[int, float],
    k: int,
    between: Callable[[int, int], float],
    *,
    relevance: float = 0.5,
) -> list[int]:
    """Near to the query but not to each other: maximal marginal relevance (Carbonell and Goldstein 1998).

    Picks from the nearest 4k, so that it takes O(k^2) comparisons however many candidates there are.
    """
    left = most_similar(scores, 4 * k)
    picked: list[int] = []
    nearest = dict.fromkeys(left, 0.0)
    while left and len(picked) < k:
        best = max(left, key=lambda p: relevance * scores[p] - (1 - relevance) * nearest[p])
        left.remove(best)
        picked.append(best)
        for position in left:
            nearest[position] = max(nearest[position], between(position, best))
    return picked


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
