from __future__ import annotations

from math import log

from hypothesis import given
from hypothesis import strategies as st

from perdure.callbacks.bm25 import Bm25Index, words

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8).map(" ".join), max_size=12)


@given(TEXTS, st.lists(st.sampled_from("abcdef"), max_size=4).map(" ".join))
def test_scores_are_the_formula(texts: list[str], query: str) -> None:
    documents = [words(text) for text in texts]
    mean = sum(map(len, documents)) / len(documents) if documents else 1.0
    found = Bm25Index(texts).scores(query)
    for position, document in enumerate(documents):
        expected = 0.0
        for word in set(words(query)):
            holds = sum(word in other for other in documents)
            times = document.count(word)
            weight = log(1 + (len(documents) - holds + 0.5) / (holds + 0.5))
            if times:
                expected += weight * times * 2.5 / (times + 1.5 * (0.25 + 0.75 * len(document) / mean))
        assert abs(found.get(position, 0.0) - expected) < 1e-9


def test_of_a_common_word_only_the_newest_texts_count() -> None:
    index = Bm25Index(["common rare", *["common"] * 50])
    assert set(index.scores("common", common=3)) == {48, 49, 50}
    assert set(index.scores("common rare", common=3)) == {0, 48, 49, 50}


def test_words_are_lower_case_and_numbers_count() -> None:
    assert words("SELECT a_b, 14 FROM t;") == ["select", "a_b", "14", "from", "t"]
