"""Blocks of noise: lines under a header of their own, drawn by seed and step."""

from __future__ import annotations

from collections.abc import Callable

from perdure.core.randomness import keyed_random

_BITS = 32


def noise_block(header: str, count: int, seed: int, t: int, line: Callable[[int], str]) -> str:
    """`count` lines of step `t` below their header, each from 32 random bits; empty without noise."""
    if not count:
        return ""
    bits = keyed_random(seed, "noise", t).getrandbits(_BITS * count)
    lines = [header]
    for _ in range(count):
        lines.append(line(bits & 0xFFFFFFFF))
        bits >>= _BITS
    return "\n".join(lines)
