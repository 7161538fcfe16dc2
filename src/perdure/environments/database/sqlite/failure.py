"""The errors of MySQL 8, by code, in the server's format."""

from __future__ import annotations

from perdure.environments.database.engine import SqlError


class SqlFailure(Exception):
    """A statement cannot be carried out; the engine turns it into a reply. Never leaves the engine."""

    def __init__(self, code: int, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.error = SqlError(code, sqlstate, message)


def syntax_error(near: str, line: int = 1) -> SqlFailure:
    """1064; `near` is the statement's text from the offending token on."""
    return SqlFailure(
        1064,
        "42000",
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server "
        f"version for the right syntax to use near '{near[:80]}' at line {line}",
    )


def unknown_column(name: str, clause: str) -> SqlFailure:
    """1054."""
    return SqlFailure(1054, "42S22", f"Unknown column '{name}' in '{clause}'")


def ambiguous_column(name: str, clause: str) -> SqlFailure:
    """1052."""
    return SqlFailure(1052, "23000", f"Column '{name}' in {clause} is ambiguous")


def unusable_reference(name: str, why: str) -> SqlFailure:
    """1247."""
    return SqlFailure(1247, "42S22", f"Reference '{name}' not supported ({why})")


def order_aggregates(position: int) -> SqlFailure:
    """3029."""
    return SqlFailure(
        3029,
        "HY000",
        f"Expression #{position} of ORDER BY contains aggregate function and applies to the result of a "
        "non-aggregated query",
    )


def unknown_table(database: str, name: str) -> SqlFailure:
    """1146."""
    return SqlFailure(1146, "42S02", f"Table '{database}.{name}' doesn't exist")


def unknown_database(name: str) -> SqlFailure:
    """1049."""
    return SqlFailure(1049, "42000", f"Unknown database '{name}'")


def unknown_function(database: str, name: str) -> SqlFailure:
    """1305."""
    return SqlFailure(1305, "42000", f"FUNCTION {database}.{name} does not exist")


def not_native(database: str, name: str) -> SqlFailure:
    """1630: a space before the parenthesis makes the name of a native function somebody's own."""
    return SqlFailure(
        1630,
        "42000",
        f"FUNCTION {database}.{name} does not exist. Check the 'Function Name Parsing and Resolution' "
        "section in the Reference Manual",
    )


def wrong_argument_count(name: str) -> SqlFailure:
    """1582."""
    return SqlFailure(1582, "42000", f"Incorrect parameter count in the call to native function '{name}'")


def invalid_group_function() -> SqlFailure:
    """1111."""
    return SqlFailure(1111, "HY000", "Invalid use of group function")


def not_in_group_by(position: int, column: str, clause: str) -> SqlFailure:
    """1055: ONLY_FULL_GROUP_BY with a GROUP BY."""
    return SqlFailure(
        1055,
        "42000",
        f"Expression #{position} of {clause} is not in GROUP BY clause and contains nonaggregated column "
        f"'{column}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible "
        "with sql_mode=only_full_group_by",
    )


def not_in_distinct(position: int, column: str) -> SqlFailure:
    """3065."""
    return SqlFailure(
        3065,
        "HY000",
        f"Expression #{position} of ORDER BY clause is not in SELECT list, references column '{column}' "
        "which is not in SELECT list; this is incompatible with DISTINCT",
    )


def mixed_with_aggregate(position: int, column: str, clause: str) -> SqlFailure:
    """1140: ONLY_FULL_GROUP_BY without a GROUP BY."""
    return SqlFailure(
        1140,
        "42000",
        f"In aggregated query without GROUP BY, expression #{position} of {clause} contains nonaggregated "
        f"column '{column}'; this is incompatible with sql_mode=only_full_group_by",
    )


def unsupported(what: str) -> SqlFailure:
    """1235."""
    return SqlFailure(1235, "42000", f"This version of MySQL doesn't yet support '{what}'")


def target_in_subquery(table: str) -> SqlFailure:
    """1093."""
    return SqlFailure(1093, "HY000", f"You can't specify target table '{table}' for update in FROM clause")


def several_rows() -> SqlFailure:
    """1242."""
    return SqlFailure(1242, "21000", "Subquery returns more than 1 row")


def wrong_column_count(expected: int) -> SqlFailure:
    """1241."""
    return SqlFailure(1241, "21000", f"Operand should contain {expected} column(s)")


def interrupted() -> SqlFailure:
    """3024."""
    return SqlFailure(
        3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded"
    )


def denied(what: str) -> SqlFailure:
    """1227: something that would leave the task's database."""
    return SqlFailure(
        1227, "42000", f"Access denied; you need (at least one of) the {what} privilege(s) for this operation"
    )
