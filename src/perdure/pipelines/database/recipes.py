"""Which skills a statement shall combine: valid combinations, rare skills more often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

Verb: TypeAlias = Literal["select", "insert", "update", "delete"]
Where: TypeAlias = Literal["none", "single", "multiple", "nested"]
Subquery: TypeAlias = Literal["none", "single", "multiple", "nested"]
Group: TypeAlias = Literal["none", "single", "multiple"]
Having: TypeAlias = Literal["none", "single", "multiple"]
Order: TypeAlias = Literal["none", "single", "same", "different"]
Limit: TypeAlias = Literal["none", "only", "offset"]

MOST_SKILLS = 5
_CANDIDATES = 48
_DERIVED_SHARE = 0.005
"""Too few would be left to chance: most other clauses cannot stand beside a derived table here."""
_LABELS: Mapping[tuple[str, str], str] = {
    ("where", "single"): "where_single_condition",
    ("where", "multiple"): "where_multiple_conditions",
    ("where", "nested"): "where_nested_conditions",
    ("subquery", "single"): "subquery_single",
    ("subquery", "multiple"): "subquery_multiple",
    ("subquery", "nested"): "subquery_nested",
    ("group", "single"): "group_by_single_column",
    ("group", "multiple"): "group_by_multiple_columns",
    ("having", "single"): "having_single_condition_with_aggregate",
    ("having", "multiple"): "having_multiple_conditions_with_aggregate",
    ("order", "single"): "order_by_single_column",
    ("order", "same"): "order_by_multiple_columns_same_direction",
    ("order", "different"): "order_by_multiple_columns_different_directions",
    ("limit", "only"): "limit_only",
    ("limit", "offset"): "limit_and_offset",
}


@dataclass(frozen=True)
class Recipe:
    """The clauses of one statement."""

    verb: Verb
    where: Where = "none"
    subquery: Subquery = "none"
    group: Group = "none"
    having: Having = "none"
    calculation: bool = False
    order: Order = "none"
    limit: Limit = "none"
    column_alias: bool = False
    table_alias: bool = False

    @property
    def copies(self) -> bool:
        """An INSERT fed by a query on the same table."""
        return self.verb == "insert" and self.where != "none"

    @property
    def skills(self) -> frozenset[str]:
        """The names of the skills these clauses need."""
        clauses = ("where", "subquery", "group", "having", "order", "limit")
        named = {_LABELS.get((clause, getattr(self, clause)), "") for clause in clauses}
        flags = {
            "select": self.copies or self.subquery != "none",
            "having_aggregate_calculation": self.calculation,
            "column_alias": self.column_alias,
            "table_alias": self.table_alias,
        }
        return frozenset((named | {name for name, on in flags.items() if on} | {self.verb}) - {""})

    @property
    def is_valid(self) -> bool:
        """The clauses fit together, in MySQL and in a question that has one answer."""
        return len(self.skills) <= MOST_SKILLS and (
            self._select_is_valid if self.verb == "select" else self._mutation_is_valid
        )

    @property
    def reads_derived(self) -> bool:
        """A SELECT whose source is itself a query: figures of the groups that it forms."""
        return self.verb == "select" and self.subquery == "single" and self.where == "none"

    @property
    def _subquery_is_valid(self) -> bool:
        if self.subquery == "multiple":
            return self.where == "multiple"
        return self.subquery == "none" or self.where in ("single", "multiple")

    @property
    def _select_is_valid(self) -> bool:
        grouped = self.group != "none"
        if self.reads_derived:
            return self.table_alias and not grouped and self.order == "none" and self.limit == "none"
        return (
            self._subquery_is_valid
            and (grouped or self.having == "none")
            and (self.having != "none" or not self.calculation)
            and (self.order != "none" or self.limit == "none")
            and not (self.group == "single" and self.order == "same" and self.having == "multiple")
        )

    @property
    def _mutation_is_valid(self) -> bool:
        """MySQL reads the table that it changes only through a derived table: a nested, aliased subquery."""
        if self.group != "none" or self.having != "none" or self.calculation or self.column_alias:
            return False
        if self.verb == "insert":
            plain = self.order == "none" and self.limit == "none" and self._subquery_is_valid
            return plain and (self.copies or not self.table_alias)
        sorted_cut = (self.order == "none") == (self.limit == "none") and self.limit != "offset"
        derived = self.subquery == "nested" and self.where == "single"
        filtered = self.where != "none" or self.order != "none"
        return (
            filtered
            and sorted_cut
            and (derived or self.subquery == "none")
            and self.table_alias == (self.subquery != "none")
        )


def draw_recipe(rng: Random, counts: Mapping[str, int]) -> Recipe:
    """A valid recipe; those whose skills have few tasks so far (`counts`) are drawn more often."""
    candidates: list[Recipe] = []
    while len(candidates) < _CANDIDATES:
        recipe = _random_recipe(rng)
        if recipe.is_valid:
            candidates.append(recipe)
    weights = [
        sum(1 / (counts.get(skill, 0) + 1) for skill in r.skills) ** 3 / len(r.skills) for r in candidates
    ]
    return rng.choices(candidates, weights)[0]


def _random_recipe(rng: Random) -> Recipe:
    """A combination of clauses, valid or not."""
    if rng.random() < _DERIVED_SHARE:
        return Recipe("select", subquery="single", table_alias=True, column_alias=rng.random() < 0.5)
    verbs: tuple[Verb, ...] = ("select", "insert", "update", "delete")
    verb = rng.choices(verbs, (66, 10, 12, 12))[0]
    where: Where = rng.choice(("none", "single", "multiple", "nested"))
    subquery: Subquery = rng.choice(("none", "none", "none", "single", "multiple", "nested"))
    order: Order = rng.choice(("none", "single", "same", "different"))
    limit: Limit = rng.choice(("none", "none", "only", "offset"))
    group: Group = "none"
    having: Having = "none"
    if verb == "select":
        group = rng.choice(("none", "single", "multiple"))
        having = rng.choice(("none", "none", "single", "multiple"))
    return Recipe(
        verb,
        where,
        subquery,
        group,
        having,
        calculation=having != "none" and rng.random() < 0.4,
        order=order,
        limit=limit,
        column_alias=verb == "select" and rng.random() < 0.5,
        table_alias=rng.random() < 0.3,
    )
