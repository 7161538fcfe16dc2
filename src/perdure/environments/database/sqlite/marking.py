"""The mark on function names that keeps the parser from rewriting calls, and text without it."""

from __future__ import annotations

from sqlglot import exp

PREFIX = "\ue000"
"""A private character that stands in no statement a user writes."""

SPACED = "\ue001"
"""Marks a name that a space before its parenthesis keeps from being a native function."""


def mysql_text(node: exp.Expression) -> str:
    """A tree as MySQL text, without marks and comments."""
    return node.sql("mysql", comments=False).replace(PREFIX, "").replace(SPACED, "")
