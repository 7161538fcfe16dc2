"""The graph and the questions that come with the package."""

from __future__ import annotations

from pathlib import Path

_DATA = Path(__file__).parent / "data"
SHIPPED_GRAPH = _DATA / "world.tsv"
SHIPPED_ONTOLOGY = _DATA
SHIPPED_TASKS = _DATA / "tasks.json"
