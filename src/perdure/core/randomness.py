"""Randomness keyed by what it is for, so that resuming, skipping or reordering never shifts a draw."""

from __future__ import annotations

from hashlib import sha256
from random import Random


def keyed_seed(*key: object) -> int:
    """A 31-bit seed from (seed, session, step, name, …)."""
    return int.from_bytes(sha256("|".join(map(str, key)).encode()).digest()[:4], "big") >> 1


def keyed_random(*key: object) -> Random:
    """A generator of its own for one purpose: `keyed_random(seed, session, step, "noise")`."""
    return Random(sha256("|".join(map(str, key)).encode()).digest())
