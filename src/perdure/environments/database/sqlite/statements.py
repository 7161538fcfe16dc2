"""From a syntax tree to a plan: which kind of statement it is."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from perdure.environments.database.sqlite import definitions, mutations
from perdure.environments.database.sqlite.failure import (
    denied,
    syntax_error,
    unknown_database,
    unknown_table,
    unsupported,
)
from perdure.environments.database.sqlite.information_schema import DATABASE
from perdure.environments.database.sqlite.marking import mysql_text
from perdure.environments.database.sqlite.plan import Nothing, Plan, Query
from perdure.environments.database.sqlite.queries import add_ctes, emit_query, new_context
from perdure.environments.database.sqlite.schema import Schema
from perdure.environments.database.sqlite.scope import Scope
from perdure.environments.database.sqlite.select import emit_select
from perdure.environments.database.sqlite.sources import is_dual

SYSTEM_DATABASES = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
_SERVER_WIDE = frozenset({"GLOBAL", "PERSIST", "PERSIST_ONLY"})


def plan_tree(tree: exp.Expression, schema: Schema) -> Plan:
    """The plan of one statement. Raises SqlFailure."""
    if schema.fold_names:
        fold_names(tree)
    check_tables(tree, schema)
    if isinstance(tree, exp.Query):
        return _query(tree, schema)
    for kind, planner in _PLANNERS.items():
        if isinstance(tree, kind):
            return planner(tree, schema)
    raise syntax_error(mysql_text(tree))


def check_tables(tree: exp.Expression, schema: Schema) -> None:
    """Raise SqlFailure for the first table that does not exist: MySQL opens all before it reads columns."""
    if not isinstance(tree, exp.Query | exp.Insert | exp.Update | exp.Delete):
        return
    named = {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table, bfs=False):
        if table.arg_key == "tables" or not isinstance(table.this, exp.Identifier):
            continue
        database, name = table.db, table.name
        if (not database and name in named) or is_dual(table):
            continue
        if database.lower() == DATABASE:
            continue  # it is looked at when its columns are known
        if database and database != schema.database:
            known = database.lower() in SYSTEM_DATABASES
            raise unknown_table(database, name) if known else unknown_database(database)
        schema.table(name)


def fold_names(tree: exp.Expression) -> None:
    """Lower the case of table names and aliases in place (`lower_case_table_names = 1`)."""
    for node in tree.find_all(exp.Table, exp.Column, exp.TableAlias, exp.CTE):
        keys = ("table", "db") if isinstance(node, exp.Column) else ("this", "db")
        for key in keys:
            part = node.args.get(key)
            if isinstance(part, exp.Identifier):
                part.set("this", part.name.lower())


def _query(tree: exp.Expression, schema: Schema) -> Plan:
    root = Scope(new_context(schema))
    if isinstance(tree, exp.Select):
        add_ctes(tree, root)
        query = emit_select(tree, Scope(root.context, parent=root), sortable=True)
    else:
        query = emit_query(tree, root)
    return Query(query.sql, query.names, query.kinds, query.sort_keys)


def _use(tree: exp.Expression, schema: Schema) -> Plan:
    name = tree.this.name if tree.this is not None else ""
    if name != schema.database:
        raise unknown_database(name)
    return Nothing()


def _nothing(tree: exp.Expression, schema: Schema) -> Plan:
    return Nothing()


def _set(tree: exp.Expression, schema: Schema) -> Plan:
    if any(str(item.args.get("kind") or "").upper() in _SERVER_WIDE for item in tree.expressions):
        raise denied("SUPER or SYSTEM_VARIABLES_ADMIN")
    return Nothing()


def _describe(tree: exp.Expression, schema: Schema) -> Plan:
    if not isinstance(tree.this, exp.Table):
        raise unsupported("EXPLAIN")
    return definitions.describe(tree.this.name, schema)


def _command(tree: exp.Expression, schema: Schema) -> Plan:
    verb = str(tree.this).upper()
    raise syntax_error(verb) if verb in ("SHOW", "DESCRIBE", "DESC") else denied(verb)


_PLANNERS: dict[type[exp.Expression], Callable[[exp.Expression, Schema], Plan]] = {
    exp.Insert: mutations.plan_insert,
    exp.Update: mutations.plan_update,
    exp.Delete: mutations.plan_delete,
    exp.Create: definitions.plan_create,
    exp.Drop: definitions.plan_drop,
    exp.Alter: definitions.plan_alter,
    exp.TruncateTable: definitions.plan_truncate,
    exp.Show: definitions.plan_show,
    exp.Describe: _describe,
    exp.Use: _use,
    exp.Set: _set,
    exp.Transaction: _nothing,
    exp.Commit: _nothing,
    exp.Rollback: _nothing,
    exp.Command: _command,
}
