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

    def scores(self, query: str, common: int = 200) -> dict[int, float]:
        """Position → score of texts that share a word with the query; higher is nearer.

        Of a word that stands in more than a quarter of all texts only the newest `common` count: it hardly
        tells texts apart, and would make every question as long as the index.
        """
        found: defaultdict[int, float] = defaultdict(float)
        count = len(self._lengths)
        mean_length = self._words / count if self._words else 1.0
        for postings in self._rarest_first(query):
            weight = log(1 + (count - len(postings) + 0.5) / (len(postings) + 0.5))
            for position, times in postings[-common:] if 4 * len(postings) > count else postings:
                norm = 1 - _B + _B * self._lengths[position] / mean_length
                found[position] += weight * times * (_K1 + 1) / (times + _K1 * norm)
        return dict(found)

    def _rarest_first(self, query: str) -> list[list[tuple[int, int]]]:
        """Postings of the query's words; ties by the word, so that floats add in one order everywhere."""
        known = [word for word in set(words(query)) if word in self._postings]
        return [self._postings[word] for word in sorted(known, key=lambda w: (len(self._postings[w]), w))]
