"""Sort keys of a question: which columns, in which directions, and how one says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perdure.pipelines.database.recipes import Recipe
from perdure.pipelines.database.wording import Setting, direction


@dataclass(frozen=True)
class SortKey:
    """One key of an ORDER BY."""

    expression: str
    words: str
    kind: str
    descending: bool

    @property
    def sql(self) -> str:
        """The key with its direction."""
        return f"{self.expression} {'DESC' if self.descending else 'ASC'}"


def sorted_by(setting: Setting, recipe: Recipe, keys: Sequence[tuple[str, str, str]]) -> tuple[SortKey, ...]:
    """The keys (SQL, words, kind) with the directions that `recipe` asks for; none where it asks for none."""
    if recipe.order == "none":
        return ()
    descending = setting.rng.random() < 0.5
    directions = [
        descending if i == 0 or recipe.order == "same" else not descending for i in range(len(keys))
    ]
    return tuple(SortKey(*key, down) for key, down in zip(keys, directions, strict=True))


def sort_words(setting: Setting, order: Sequence[SortKey]) -> str:
    """The sentence that fixes the order of the rows."""
    if not order:
        return ""
    said = [f"{key.words} ({direction(key.kind, key.descending, setting.rng)})" for key in order]
    if len(said) == 1:
        return setting.rng.choice((f"Sort by {said[0]}.", f"Order the rows by {said[0]}."))
    return setting.rng.choice(
        (
            f"Sort by {said[0]}, and where that is equal by {said[1]}.",
            f"Order the rows by {said[0]}, then by {said[1]}.",
        )
    )
