"""Deep merge of a patch into a state: RFC 7396, list policies, and explicit replacement of containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias, get_args

from perdure.core.types import JSON
from perdure.state.changes import same
from perdure.state.paths import Path, pointer
from perdure.state.taxonomy import FailureClass, PatchRejected

ListPolicy: TypeAlias = Literal["replace", "append", "union"]
LIST_POLICIES: tuple[ListPolicy, ...] = get_args(ListPolicy)

REPLACE = "$replace"
"""`{"$replace": true, "value": …}` puts a value in place of a whole container."""


class MergeRules(Protocol):
    """What a merge asks about a place of the state."""

    def list_policy(self, path: Path) -> ListPolicy:
        """What a list in a patch does to the list in the state."""

    def null_is_a_value(self, path: Path) -> bool:
        """Null is stored here instead of deleting the key."""

    def undeletable(self, path: Path) -> bool:
        """The key must stay."""


def merge(
    target: JSON, patch: JSON, rules: MergeRules, *, replaced: set[Path] | None = None, path: Path = ()
) -> JSON:
    """The merged value; neither argument is changed, untouched parts are shared.

    Objects merge key by key, null deletes a key (a missing one: nothing happens), lists follow their policy,
    anything else replaces. Paths replaced on request are added to `replaced`. Raises PatchRejected when a key
    that must stay is deleted, or a filled container would be replaced by something else.
    """
    replaced = replaced if replaced is not None else set()
    if isinstance(patch, dict):
        if REPLACE in patch:
            replaced.add(path)
            return patch.get("value")
        return _merge_object(target, patch, rules, replaced, path)
    if isinstance(patch, list) and isinstance(target, list):
        return _merge_list(target, patch, rules.list_policy(path))
    refuse_replacing(target, patch, path)
    return patch


def refuse_replacing(target: JSON, value: JSON, path: Path) -> None:
    """Raise PatchRejected when a filled container would give way to something that is no merge with it."""
    if isinstance(target, dict | list) and target and type(target) is not type(value):
        kind = "object" if isinstance(target, dict) else "list"
        raise PatchRejected(
            FailureClass.OVERWRITE,
            "replaced_container",
            f"{pointer(path)} holds a filled {kind}; a value of another kind cannot take its place.",
        )


def _merge_object(
    target: JSON, patch: Mapping[str, JSON], rules: MergeRules, replaced: set[Path], path: Path
) -> JSON:
    if not isinstance(target, dict):
        refuse_replacing(target, patch, path)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        place = (*path, key)
        if value is not None:
            merged[key] = merge(merged.get(key), value, rules, replaced=replaced, path=place)
        elif rules.null_is_a_value(place):
            merged[key] = None
        elif key in merged:
            if rules.undeletable(place):
                raise PatchRejected(
                    FailureClass.OVERWRITE,
                    "undeletable",
                    f"{pointer(place)} must stay; delete or change what it holds instead.",
                )
            del merged[key]
    return merged


def _merge_list(target: list[JSON], patch: list[JSON], policy: ListPolicy) -> list[JSON]:
    if policy == "replace":
        return patch
    if policy == "append":
        return [*target, *patch]
    merged = list(target)
    for item in patch:
        if not any(same(item, known) for known in merged):
            merged.append(item)
    return merged
