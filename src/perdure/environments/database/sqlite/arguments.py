"""Refuses what a handler does not read: an argument that is passed over would change the meaning."""

from __future__ import annotations

from collections.abc import Mapping, Set

from sqlglot import exp

from perdure.environments.database.sqlite.failure import syntax_error
from perdure.environments.database.sqlite.marking import mysql_text

_OPERANDS = frozenset({"this", "expression", "expressions"})
_MORE: Mapping[type[exp.Expression], Set[str]] = {
    exp.Between: {"low", "high"},
    exp.Case: {"ifs", "default"},
    exp.Cast: {"to"},
    exp.Column: {"table", "db"},
    exp.Concat: {"safe"},
    exp.Div: {"safe", "typed"},
    exp.GroupConcat: {"separator"},
    exp.In: {"query"},
    exp.Like: {"negate"},
    exp.Literal: {"is_string"},
    exp.StrPosition: {"substr"},
    exp.Subquery: {"alias"},
    exp.Substring: {"start", "length"},
    exp.Trim: {"position"},
    exp.Window: {"partition_by", "order", "over", "spec"},
}


def refuse_unread(node: exp.Expression, known: Set[str] | None = None) -> None:
    """Raise SqlFailure 1064 for an argument that is not among the known ones of its kind of node."""
    allowed = known if known is not None else _OPERANDS | _MORE.get(type(node), frozenset())
    for key, value in node.args.items():
        if value and key.rstrip("_") not in allowed:
            raise syntax_error(mysql_text(node))
