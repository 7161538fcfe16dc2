"""The pieces of a turn that are worth scoring: all of them, or its head and tail."""

from __future__ import annotations

from perdure.strategies.ngram_scorer import split_pieces

_CHOICE = 8
"""Pieces to choose from for each token that can stay."""
_ENOUGH = 20_000
"""Pieces beyond which a budget is no longer given that choice, only as many pieces as it has tokens."""
_CHARACTERS_A_PIECE = 8
"""More than the average of prose and code; a text of longer pieces gives fewer of them."""


def most_pieces(tokens: int) -> int:
    """How many pieces of one turn are looked at under a budget of `tokens`."""
    return max(tokens, min(_CHOICE * tokens, _ENOUGH))


def turn_pieces(text: str, most: int) -> tuple[list[str], bool]:
    """At most `most` pieces of a text, and whether it was cut: its beginning, a line break, its end.

    What is cut off cannot be cut inside a piece. O(most), whatever the length of the text: at most eight
    characters a piece are read from either end.
    """
    reach = _CHARACTERS_A_PIECE * most
    if len(text) <= reach:
        pieces = split_pieces(text)
        if len(pieces) <= most:
            return pieces, False
        head, tail = pieces, pieces
    else:
        # The pieces at the cut may be halves: half a word would be another word.
        head = split_pieces(text[: reach // 2])[:-1]
        tail = split_pieces(text[-(reach // 2) :])[1:]
    # The line break takes one place.
    first = most // 2
    last = most - 1 - first
    return [*head[:first], "\n", *tail[len(tail) - min(last, len(tail)) :]], True
