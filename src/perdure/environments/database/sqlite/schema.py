"""What a statement is checked against: the tables of the database, as hashable data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from perdure.environments.database.sqlite.failure import unknown_table
from perdure.environments.database.sqlite.kinds import Kind, column_kind

CURRENT_TIMESTAMP = "CURRENT_TIMESTAMP"
COLLATION = "utf8mb4_0900_ai_ci"
"""MySQL 8's default."""


@dataclass(frozen=True)
class ColumnDef:
    """A column: its declared MySQL type and what the type means."""

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    """SQL text of the default; None for NULL."""
    key: bool = False
    """Part of the primary key."""
    auto_increment: bool = False
    collation: str = COLLATION
    """What `information_schema` says of a text column; every one compares by the default."""
    index: Literal["", "MUL", "UNI"] = ""
    """The kind of a secondary index that begins with this column."""

    @property
    def shown_key(self) -> str:
        """What DESCRIBE says about its keys."""
        return "PRI" if self.key else self.index

    @property
    def shown_extra(self) -> str:
        """What DESCRIBE says in its last column."""
        if self.auto_increment:
            return "auto_increment"
        return "DEFAULT_GENERATED" if self.default == CURRENT_TIMESTAMP else ""

    @property
    def shown_default(self) -> str | None:
        """What DESCRIBE says about its default."""
        return self.default.strip("'") if self.default else None

    @property
    def kind(self) -> Kind:
        """The kind that the declared type stands for."""
        return column_kind(self.type)


@dataclass(frozen=True)
class TableDef:
    """A table's columns, in order."""

    name: str
    columns: tuple[ColumnDef, ...]

    def find(self, column: str) -> ColumnDef | None:
        """A column by name, in any case."""
        wanted = column.lower()
        return next((c for c in self.columns if c.name.lower() == wanted), None)


@dataclass(frozen=True)
class Schema:
    """A database. Equal schemas share cached plans."""

    database: str = "task"
    tables: tuple[TableDef, ...] = ()
    fold_names: bool = False
    """Names of tables and databases are kept in lower case (`lower_case_table_names = 1`)."""

    def find(self, name: str) -> TableDef | None:
        """A table by its exact name (names of tables are case-sensitive on Linux)."""
        return next((t for t in self.tables if t.name == name), None)

    def table(self, name: str) -> TableDef:
        """A table by its exact name. Raises SqlFailure 1146."""
        found = self.find(name)
        if found is None:
            raise unknown_table(self.database, name)
        return found

    def put(self, table: TableDef) -> Schema:
        """This schema with one table added or replaced in place."""
        if self.find(table.name) is None:
            return replace(self, tables=(*self.tables, table))
        return replace(self, tables=tuple(table if t.name == table.name else t for t in self.tables))

    def without(self, name: str) -> Schema:
        """This schema with one table less."""
        return replace(self, tables=tuple(t for t in self.tables if t.name != name))
