"""CREATE, DROP, ALTER, TRUNCATE, SHOW and DESCRIBE, within the task's own database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from sqlglot import exp

from perdure.environments.database.sqlite.failure import SqlFailure, denied, syntax_error, unsupported
from perdure.environments.database.sqlite.information_schema import DATABASE
from perdure.environments.database.sqlite.kinds import Kind
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.plan import (
    Answer,
    Create,
    Delete,
    Drop,
    Nothing,
    Plan,
    Query,
    Rebuild,
)
from perdure.environments.database.sqlite.queries import emit_query, new_context
from perdure.environments.database.sqlite.schema import (
    COLLATION,
    CURRENT_TIMESTAMP,
    ColumnDef,
    Schema,
    TableDef,
)
from perdure.environments.database.sqlite.scope import Scope
from perdure.environments.database.sqlite.sources import check_distinct_names

_KIND_TYPES = {"int": "bigint", "double": "double", "text": "text", "null": "text"}


def plan_create(node: exp.Expression, schema: Schema) -> Plan:
    """CREATE TABLE, with columns or from a query; CREATE INDEX is accepted and ignored."""
    kind = str(node.args.get("kind") or "").upper()
    if kind == "INDEX":
        return Nothing()
    if kind != "TABLE":
        raise denied("CREATE")
    target = node.this
    table_node = target.this if isinstance(target, exp.Schema) else target
    name = table_node.name
    if schema.find(name) is not None:
        if node.args.get("exists"):
            return Nothing()
        raise SqlFailure(1050, "42S01", f"Table '{name}' already exists")
    columns = _columns(target) if isinstance(target, exp.Schema) else ()
    declared = node.find(exp.CollateProperty)
    if declared is not None and isinstance(declared.this, exp.Expression):
        columns = tuple(
            replace(column, collation=declared.this.name) if column.collation == COLLATION else column
            for column in columns
        )
    query = None
    if node.expression is not None:
        found = emit_query(node.expression, Scope(new_context(schema)))
        query = Query(found.sql, found.names, found.kinds)
        columns += tuple(
            ColumnDef(column, _type_of(column_kind))
            for column, column_kind in zip(found.names, found.kinds, strict=True)
        )
    if not columns:
        raise SqlFailure(1113, "42000", "A table must have at least 1 column")
    check_distinct_names([column.name for column in columns])
    return Create(TableDef(name, columns), query)


def _type_of(kind: Kind) -> str:
    return f"decimal(65,{kind.scale})" if kind.name == "decimal" else _KIND_TYPES.get(kind.name, kind.name)


def _columns(node: exp.Schema) -> tuple[ColumnDef, ...]:
    keys = {
        column.name.lower()
        for constraint in node.expressions
        if isinstance(constraint, exp.PrimaryKey)
        for column in constraint.expressions
    }
    indexes = dict(_indexes(node))
    columns = [_column(item) for item in node.expressions if isinstance(item, exp.ColumnDef)]
    columns = [replace(column, index=indexes.get(column.name.lower(), column.index)) for column in columns]
    return tuple(
        replace(column, key=True, nullable=False) if column.name.lower() in keys else column
        for column in columns
    )


def _indexes(node: exp.Schema) -> Iterator[tuple[str, Literal["MUL", "UNI"]]]:
    """First column of every secondary index; a unique one of a single column comes last, and counts."""
    unique: list[str] = []
    for item in node.expressions:
        inner = item.expressions[0] if isinstance(item, exp.Constraint) and item.expressions else item
        target = inner.this if isinstance(inner, exp.UniqueColumnConstraint) else inner
        if not isinstance(inner, exp.IndexColumnConstraint | exp.UniqueColumnConstraint | exp.ForeignKey):
            continue
        names = [column.name.lower() for column in target.expressions]
        if isinstance(inner, exp.UniqueColumnConstraint) and len(names) == 1:
            unique += names
        elif names:
            yield names[0], "MUL"
    for name in unique:
        yield name, "UNI"


def _column(node: exp.ColumnDef) -> ColumnDef:
    if node.args.get("kind") is None:
        raise syntax_error(node.name)
    column = ColumnDef(node.name, node.args["kind"].sql("mysql").lower().replace(", ", ","))
    for constraint in node.args.get("constraints") or ():
        rule = constraint.args.get("kind")
        if isinstance(rule, exp.NotNullColumnConstraint) and not rule.args.get("allow_null"):
            column = replace(column, nullable=False)
        elif isinstance(rule, exp.PrimaryKeyColumnConstraint):
            column = replace(column, key=True, nullable=False)
        elif isinstance(rule, exp.CollateColumnConstraint):
            column = replace(column, collation=rule.this.name)
        elif isinstance(rule, exp.AutoIncrementColumnConstraint):
            column = replace(column, auto_increment=True)
        elif isinstance(rule, exp.DefaultColumnConstraint):
            column = replace(column, default=_default(rule.this))
    return column


def _default(node: exp.Expression) -> str | None:
    """MySQL's text of a literal, of the present, or of an expression that is computed for each row."""
    if (
        isinstance(node, exp.CurrentTimestamp | exp.Localtime | exp.Localtimestamp)
        or node.name.upper() == "NOW"
    ):
        return CURRENT_TIMESTAMP
    known = isinstance(node, exp.Paren | exp.Literal | exp.Neg | exp.Boolean)
    return mysql_text(node) if known else None


def plan_drop(node: exp.Expression, schema: Schema) -> Plan:
    """DROP TABLE; DROP INDEX is accepted and ignored."""
    kind = str(node.args.get("kind") or "").upper()
    if kind == "INDEX":
        return Nothing()
    if kind != "TABLE":
        raise denied("DROP")
    tables = node.args.get("tables") or [node.this]
    names = [table.name for table in tables if table is not None]
    missing = [name for name in names if schema.find(name) is None]
    if missing and not node.args.get("exists"):
        full = ",".join(f"{schema.database}.{name}" for name in missing)
        raise SqlFailure(1051, "42S02", f"Unknown table '{full}'")
    return Drop(tuple(name for name in names if name not in missing))


def plan_truncate(node: exp.Expression, schema: Schema) -> Plan:
    """TRUNCATE TABLE removes every row."""
    table = schema.table(node.expressions[0].name)
    quoted = '"' + table.name.replace('"', '""') + '"'
    return Delete(f"SELECT _rowid_ FROM {quoted}", (table.name,))


def plan_alter(node: exp.Expression, schema: Schema) -> Plan:
    """ALTER TABLE: columns added, dropped, changed, renamed; the rows are kept."""
    old = schema.table(node.this.name)
    columns: list[tuple[ColumnDef, str | None]] = [(column, column.name) for column in old.columns]
    for action in node.args.get("actions") or ():
        columns = _altered(action, columns, old)
    if not columns:
        raise SqlFailure(
            1090, "42000", "You can't delete all columns with ALTER TABLE; use DROP TABLE instead"
        )
    check_distinct_names([column.name for column, _ in columns])
    new = TableDef(old.name, tuple(column for column, _ in columns))
    return Rebuild(old, new, tuple(origin for _, origin in columns))


def _altered(
    action: exp.Expression, columns: list[tuple[ColumnDef, str | None]], old: TableDef
) -> list[tuple[ColumnDef, str | None]]:
    if isinstance(action, exp.ColumnDef):
        return [*columns, (_column(action), None)]
    if isinstance(action, exp.Drop):
        name = _dropped_name(action)
        if old.find(name) is None:
            raise SqlFailure(1091, "42000", f"Can't DROP '{name}'; check that column/key exists")
        return [(c, origin) for c, origin in columns if c.name.lower() != name.lower()]
    if isinstance(action, exp.RenameColumn):
        before, after = action.this.name, action.args["to"].name
        _require(before, old)
        return [
            (replace(c, name=after), origin) if c.name.lower() == before.lower() else (c, origin)
            for c, origin in columns
        ]
    if isinstance(action, exp.ModifyColumn):
        changed = _column(action.this)
        _require(changed.name, old)
        return [
            (changed, origin) if c.name.lower() == changed.name.lower() else (c, origin)
            for c, origin in columns
        ]
    raise unsupported("this form of ALTER TABLE")


def _dropped_name(action: exp.Drop) -> str:
    tables = action.args.get("tables")
    return str(tables[0].name if tables else action.this.name)


def _require(name: str, table: TableDef) -> None:
    if table.find(name) is None:
        raise SqlFailure(1054, "42S22", f"Unknown column '{name}' in '{table.name}'")


def describe(name: str, schema: Schema) -> Answer:
    """DESCRIBE and SHOW COLUMNS."""
    table = schema.table(name)
    rows = tuple(
        (
            column.name,
            column.type.lower(),
            "YES" if column.nullable else "NO",
            column.shown_key,
            column.shown_default,
            column.shown_extra,
        )
        for column in table.columns
    )
    return Answer(("Field", "Type", "Null", "Key", "Default", "Extra"), rows)


def plan_show(node: exp.Expression, schema: Schema) -> Plan:
    """SHOW TABLES, COLUMNS, DATABASES and CREATE TABLE."""
    what = node.name.upper()
    target = node.args.get("target")
    if what == "TABLES":
        return Answer(
            (f"Tables_in_{schema.database}",), tuple((n,) for n in sorted(t.name for t in schema.tables))
        )
    if what == "DATABASES":
        return Answer(("Database",), tuple((name,) for name in sorted((DATABASE, schema.database))))
    if what == "COLUMNS" and isinstance(target, exp.Expression):
        return describe(target.name.lower() if schema.fold_names else target.name, schema)
    if what == "CREATE TABLE" and isinstance(target, exp.Expression):
        table = schema.table(target.name)
        lines = ",\n".join(f"  `{c.name}` {c.type.lower()}" for c in table.columns)
        return Answer(
            ("Table", "Create Table"), ((table.name, f"CREATE TABLE `{table.name}` (\n{lines}\n)"),)
        )
    raise unsupported(f"SHOW {what}")
