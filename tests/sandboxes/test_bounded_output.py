"""Streams of any length keep their head and tail within a limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.sandboxes.isolation.bounded_output import BoundedOutput


def collect(pieces: list[bytes], limit: int) -> BoundedOutput:
    output = BoundedOutput(limit)
    for piece in pieces:
        output.feed(piece)
    return output


@given(st.lists(st.binary(max_size=200)), st.integers(0, 1_000))
def test_never_longer_than_its_limit(pieces: list[bytes], limit: int) -> None:
    output = collect(pieces, limit)
    whole = b"".join(pieces)
    assert output.total == len(whole)
    assert output.truncated == (len(whole) > limit)
    assert len(output.render()) <= limit
    if not output.truncated:
        assert output.render() == whole


@given(st.lists(st.text(max_size=80)), st.integers(200, 800))
def test_a_cut_leaves_whole_characters_of_both_ends(pieces: list[str], limit: int) -> None:
    encoded = [piece.encode("utf-8", "replace") for piece in pieces]
    output = collect(encoded, limit)
    text = output.render().decode("utf-8")
    if output.truncated:
        head, mark, tail = text.partition("\n[… ")[0], "bytes of output left out", text.rpartition("…]\n")[2]
        whole = b"".join(encoded).decode("utf-8")
        assert mark in text
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + len(tail) > 0


@given(st.binary(max_size=3_000), st.lists(st.integers(1, 400), min_size=1), st.integers(0, 600))
def test_how_a_stream_is_cut_into_pieces_does_not_matter(data: bytes, sizes: list[int], limit: int) -> None:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    pieces.append(data[at:])
    assert collect(pieces, limit).render() == collect([data], limit).render()


def test_the_cut_says_how_much_is_missing() -> None:
    output = collect([b"a" * 5_000, b"b" * 5_000], 1_000)
    text = output.render().decode()
    kept = text.count("a") + text.count("b") - "bytes of output left out".count("a") - 1
    assert f"{10_000 - kept} of 10000 bytes" in text


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        BoundedOutput(-1)
