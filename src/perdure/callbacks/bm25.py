"""BM25 over short texts that only grow in number (Robertson and Zaragoza 2009): no dependency, no model."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from math import log

_WORD = re.compile(r"\w+")
_K1, _B = 1.5, 0.75


def words(text: str) -> list[str]:
    """Lower-case words and numbers."""
    return _WORD.findall(text.lower())


class Bm25Index:
    """Texts by position; `add` and `scores` take time in the words of the text and their postings."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        self._words = 0
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str) -> None:
        """Index one more text."""
        counts = Counter(words(text))
        for word, count in counts.items():
            self._postings[word].append((len(self._lengths), count))
        self._lengths.append(counts.total())
        self._words += counts.total()

    def scores(self, query: str) -> dict[int, float]:
        """Position → score of every text that shares a word with the query; higher is nearer."""
        found: defaultdict[int, float] = defaultdict(float)
        count = len(self._lengths)
        mean_length = self._words / count if self._words else 1.0
        for word in sorted(set(words(query))):  # one order of adding floats in every process
            postings = self._postings.get(word, [])
            weight = log(1 + (count - len(postings) + 0.5) / (len(postings) + 0.5))
            for position, times in postings:
                norm = 1 - _B + _B * self._lengths[position] / mean_length
                found[position] += weight * times * (_K1 + 1) / (times + _K1 * norm)
        return dict(found)
