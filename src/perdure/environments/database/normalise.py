"""An observation without what no server lets stand still."""

from __future__ import annotations

import re

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def normalise(observation: str) -> str:
    """Identifiers of a server's own `UUID()` are masked; times and chance are the trial's already."""
    return _UUID.sub("<random>", observation)
