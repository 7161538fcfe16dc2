"""What can be wrong with a patch: four classes, named after the first cause (SKILL.state, error analysis).

The paper publishes three classes (overwrites and deletions 68 %, schema and type 20 %, JSON syntax 12 %); the
fourth holds what is well formed and still wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from perdure.core.types import JSON
from perdure.state.changes import diff
from perdure.state.paths import Path, overlap

_MESSAGE_LIMIT = 400


class FailureClass(StrEnum):
    """The class of a failed patch."""

    OVERWRITE = "overwrite"
    """It would lose what the state holds."""
    SCHEMA = "schema"
    """It is JSON, but not of the shape, type or size that is asked for."""
    SYNTAX = "syntax"
    """No JSON object could be read."""
    SEMANTIC = "semantic"
    """Well formed, but about something that is not there, or an action that cannot be taken."""


@dataclass(frozen=True)
class Failure:
    """Why a reply did not become a patch and an action. `message` is one line, addressed to the model."""

    kind: FailureClass
    code: str
    message: str


class PatchRejected(Exception):
    """Ends the validation of one reply at its first failure; `StateRuntime.propose` turns it into data."""

    def __init__(self, kind: FailureClass, code: str, message: str) -> None:
        line = " ".join(message.split())
        if len(line) > _MESSAGE_LIMIT:
            line = line[: _MESSAGE_LIMIT - 1] + "…"
        super().__init__(line)
        self.failure = Failure(kind, code, line)


def count_failures(kinds: Iterable[FailureClass]) -> dict[str, int]:
    """How many failures of each class; every class is there."""
    counted = Counter(kinds)
    return {kind.value: counted[kind] for kind in FailureClass}


def lost_fields(
    before: Mapping[str, JSON], after: Mapping[str, JSON], truth: Mapping[str, JSON]
) -> list[Path]:
    """Fields that one committed patch lost or spoiled, judged against the true state after the step.

    A field counts when the state held the true value before the patch and no longer does: the overwrite class
    as an environment that knows Σ* sees it, also where no guard could.
    """
    wrong_before = {change.path for change in diff(before, truth)}
    return [
        change.path
        for change in diff(after, truth)
        if not any(overlap(change.path, path) for path in wrong_before)
    ]
