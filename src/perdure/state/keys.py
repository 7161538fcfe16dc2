"""Which keys a state may have."""

from __future__ import annotations

from perdure.core.types import JSON
from perdure.state.merge import REPLACE
from perdure.state.taxonomy import FailureClass, PatchRejected

_LENGTH = 200


def check_key(key: str) -> None:
    """Raise PatchRejected for a key that would break the prompt or that patches use for themselves."""
    if not key or len(key) > _LENGTH or not key.isprintable():
        raise _forbidden(f"{key!r:.60} cannot be a key.")
    if key.startswith("$"):
        raise _forbidden(f"Keys that start with $ are reserved: {key!r}.")


def check_keys(patch: JSON) -> None:
    """Every key of a patch; `$replace` is one that patches may use."""
    todo = [patch]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            for key in value:
                if key != REPLACE:
                    check_key(key)
            todo += value.values()
        elif isinstance(value, list):
            todo += value


def _forbidden(message: str) -> PatchRejected:
    return PatchRejected(FailureClass.SCHEMA, "forbidden_key", message)
