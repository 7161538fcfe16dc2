"""The 22 SQL skills of the database tasks, and how a statement shows which of them it needs.

Source: LifelongAgentBench, section 3 (skills) and appendix (label rules). The rules here give the published
labels of every published task that was at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

SKILLS: Mapping[str, str] = MappingProxyType(
    {
        "select": "read rows",
        "insert": "add rows",
        "update": "change values in rows that exist",
        "delete": "remove rows",
        "where_single_condition": "filter rows by one condition",
        "where_multiple_conditions": "filter rows by two conditions joined with AND or OR",
        "where_nested_conditions": "filter rows by AND and OR inside one another",
        "group_by_single_column": "form groups by one column",
        "group_by_multiple_columns": "form groups by a combination of columns",
        "having_single_condition_with_aggregate": "keep groups by one condition on an aggregate",
        "having_multiple_conditions_with_aggregate": "keep groups by several conditions on aggregates",
        "having_aggregate_calculation": "do arithmetic on aggregates while choosing groups",
        "order_by_single_column": "sort by one key",
        "order_by_multiple_columns_same_direction": "sort by several keys, all in one direction",
        "order_by_multiple_columns_different_directions": "sort by several keys, ascending and descending",
        "limit_only": "keep the first rows of a result",
        "limit_and_offset": "skip rows of a result, then keep the next ones",
        "column_alias": "name a column of the result",
        "table_alias": "give a table or derived table a short name",
        "subquery_single": "use the result of one inner query",
        "subquery_multiple": "use the results of several inner queries side by side",
        "subquery_nested": "use an inner query that has an inner query of its own",
    }
)
"""Skill name → one line of what it is."""


def label_skills(sql: str) -> frozenset[str]:
    """The skills that `sql` (MySQL dialect, one or several statements) needs.

    Text that is not SQL has none: the result is empty, nothing is raised.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        statements = sqlglot.parse(sql, dialect="mysql")
        return frozenset().union(*(_label(tree) for tree in statements if tree is not None))
    except (SqlglotError, RecursionError):
        return frozenset()


def _label(tree: exp.Expr) -> set[str]:
    return (
        _verbs(tree)
        | _where(tree)
        | _group_and_having(tree)
        | _order_and_limit(tree)
        | _aliases(tree)
        | _subqueries(tree)
    )


def _verbs(tree: exp.Expr) -> set[str]:
    """A verb counts wherever it stands: a DELETE with an inner SELECT needs both."""
    from sqlglot import exp

    kinds = {"select": exp.Select, "insert": exp.Insert, "update": exp.Update, "delete": exp.Delete}
    return {name for name, kind in kinds.items() if tree.find(kind)}


def _where(tree: exp.Expr) -> set[str]:
    """The outermost WHERE decides, and exactly one of the three labels is given.

    The published labels take a condition in parentheses as a whole for a single one; so does this.
    """
    from sqlglot import exp

    where = tree.find(exp.Where)
    if where is None:
        return set()
    top = where.this
    if not isinstance(top, exp.Connector):
        return {"where_single_condition"}
    deeper = any(isinstance(node, exp.Connector) for node in top.walk() if node is not top)
    return {"where_nested_conditions" if deeper else "where_multiple_conditions"}


def _group_and_having(tree: exp.Expr) -> set[str]:
    """Read from the statement itself, not from its inner queries; arithmetic counts anywhere in HAVING."""
    from sqlglot import exp

    skills = set()
    group, having = tree.args.get("group"), tree.args.get("having")
    if group is not None:
        one = len(group.expressions) == 1
        skills.add("group_by_single_column" if one else "group_by_multiple_columns")
    if having is not None:
        if isinstance(having.this, exp.Connector):
            skills.add("having_multiple_conditions_with_aggregate")
        elif having.find(exp.Func):
            skills.add("having_single_condition_with_aggregate")
        if having.find(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod):
            skills.add("having_aggregate_calculation")
    return skills


def _order_and_limit(tree: exp.Expr) -> set[str]:
    """Read from the statement itself, not from its inner queries; MySQL's `LIMIT 2, 5` has an offset."""
    skills = set()
    order = tree.args.get("order")
    if order is not None:
        directions = [bool(key.args.get("desc")) for key in order.expressions]
        if len(directions) == 1:
            skills.add("order_by_single_column")
        else:
            same = len(set(directions)) == 1
            skills.add(f"order_by_multiple_columns_{'same_direction' if same else 'different_directions'}")
    if tree.args.get("limit") is not None:
        skills.add("limit_and_offset" if tree.args.get("offset") is not None else "limit_only")
    return skills


def _aliases(tree: exp.Expr) -> set[str]:
    """The outermost SELECT's columns and the outermost FROM's source; joined sources do not count."""
    from sqlglot import exp

    skills = set()
    select, source = tree.find(exp.Select), tree.find(exp.From)
    if select is not None and any(isinstance(item, exp.Alias) for item in select.expressions):
        skills.add("column_alias")
    if source is not None and source.this.args.get("alias"):
        skills.add("table_alias")
    return skills


def _subqueries(tree: exp.Expr) -> set[str]:
    """Inner queries by depth; the query that feeds an INSERT is part of the statement, not an inner one."""
    from sqlglot import exp

    feeder = tree.args.get("expression") if isinstance(tree, exp.Insert) else None

    def is_inner(node: exp.Expr) -> bool:
        arm_of_a_union = isinstance(node.parent, exp.SetOperation)
        return node is not tree and node is not feeder and not arm_of_a_union

    inner = [node for node in tree.find_all(exp.Select, exp.SetOperation) if is_inner(node)]
    known = {id(node) for node in inner}
    deep = [node for node in inner if any(id(outer) in known for outer in _ancestors(node))]
    top = len(inner) - len(deep)
    skills = {"subquery_nested"} if deep else set()
    if top > 1:
        skills.add("subquery_multiple")
    elif top == 1 and not deep:
        skills.add("subquery_single")
    return skills


def _ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent
