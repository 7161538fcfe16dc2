"""Guards against the commonest failure of patches: losing what the state already holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perdure.core.types import JSON
from perdure.state.changes import Change, same
from perdure.state.paths import Path, lookup, pointer
from perdure.state.taxonomy import FailureClass, PatchRejected


@dataclass(frozen=True)
class Guards:
    """Limits on what one patch may lose. A container replaced on request is exempt.

    `max_deletions`: entries of objects and items of lists that one patch may drop. `named_deletions`: an
    entry may go only if its key stands in the observation, in the action, or inside another entry that the
    patch changes and that is named there. `max_shrink`: share of a container of at least `shrink_from`
    entries that may go. None or False turns a guard off.
    """

    max_deletions: int | None = 5
    named_deletions: bool = True
    max_shrink: float | None = 0.5
    shrink_from: int = 4

    def check(
        self,
        old: Mapping[str, JSON],
        new: Mapping[str, JSON],
        changes: Sequence[Change],
        *,
        replaced: Iterable[Path],
        named_in: str,
        is_field: Callable[[Path], bool],
    ) -> None:
        """Raise PatchRejected (`overwrite`) for the first guard that a patch breaks.

        `named_in`: observation and action; `is_field`: whether a path is a declared field, which need not be
        named to be emptied.
        """
        exempt = tuple(replaced)
        counted = [change for change in changes if not any(_inside(change.path, path) for path in exempt)]
        losing = [change for change in counted if _loses(change)]
        if not losing:
            return
        if self.max_shrink is not None:
            self._check_shrink(old, new, losing, self.max_shrink)
        dropped = sum(_dropped(change) for change in losing)
        if self.max_deletions is not None and dropped > self.max_deletions:
            raise _refused(
                "too_many_deletions",
                f"The patch drops {dropped} entries; at most {self.max_deletions} may go in one step.",
            )
        if self.named_deletions:
            entries = [change for change in counted if not is_field(change.path)]
            self._check_named(old, entries, named_in)

    def _check_shrink(
        self, old: Mapping[str, JSON], new: Mapping[str, JSON], losing: Sequence[Change], most: float
    ) -> None:
        for path in {change.path[:-1] if change.kind == "delete" else change.path for change in losing}:
            before, after = lookup(old, path), _lookup_or_none(new, path)
            left = len(after) if isinstance(after, dict | list) else 0
            if len(before) >= self.shrink_from and left < len(before) * (1 - most):
                raise _refused(
                    "shrink",
                    f"{pointer(path)} would shrink from {len(before)} to {left} entries; "
                    "keep the others, or replace the container explicitly.",
                )

    def _check_named(self, old: Mapping[str, JSON], changes: Sequence[Change], named_in: str) -> None:
        deleted = [change for change in changes if change.kind == "delete"]
        text = named_in
        for path in _touched_entries(changes):
            if _names(named_in, path[-1]):
                text += "\n" + json.dumps(_lookup_or_none(old, path), ensure_ascii=False)
        for change in deleted:
            if not _names(text, change.path[-1]):
                raise _refused(
                    "unnamed_deletion",
                    f"{pointer(change.path)} may not be deleted: neither the observation nor the action "
                    f"names {change.path[-1]!r}.",
                )


def _touched_entries(changes: Sequence[Change]) -> Iterator[Path]:
    seen: set[Path] = set()
    for change in changes:
        for depth in range(2, len(change.path) + 1):
            path = change.path[:depth]
            if path not in seen:
                seen.add(path)
                yield path


def _names(text: str, key: str) -> bool:
    """Whether a text has the key as a word of its own: `shelf_4` is not in `shelf_42`."""
    return re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text, re.IGNORECASE) is not None


def _loses(change: Change) -> bool:
    return change.kind == "delete" or (
        change.kind == "set" and isinstance(change.before, dict | list) and _dropped(change) > 0
    )


def _dropped(change: Change) -> int:
    """How many entries are gone after a change."""
    if change.kind == "delete":
        return 1
    if isinstance(change.before, list) and isinstance(change.value, list):
        if len(change.before) * len(change.value) <= _PAIRS:
            return sum(not any(same(item, kept) for kept in change.value) for item in change.before)
        kept_texts = {json.dumps(item, sort_keys=True) for item in change.value}
        return sum(json.dumps(item, sort_keys=True) not in kept_texts for item in change.before)
    return len(change.before) if isinstance(change.before, dict | list) else 0


_PAIRS = 400
"""Comparisons up to which two lists are compared item by item."""


def _inside(path: Path, container: Path) -> bool:
    return path[: len(container)] == container


def _lookup_or_none(state: JSON, path: Path) -> JSON:
    try:
        return lookup(state, path)
    except KeyError:
        return None


def _refused(code: str, message: str) -> PatchRejected:
    return PatchRejected(FailureClass.OVERWRITE, code, message)
