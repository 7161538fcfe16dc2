"""Checks a proposed question by running it: one result, which depends on every part of the statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perdure.environments.database.engine import Row, SqlEngine, SqlReply, Table
from perdure.environments.database.skills import label_skills
from perdure.pipelines.database.draft import Draft

MOST_ROWS = 30
"""Longer answers test patience, not skill."""


@dataclass(frozen=True)
class Verified:
    """What a good question comes to: rows for a SELECT, a state hash for a change."""

    rows: tuple[Row, ...] | None
    state_hash: str | None


def verify(draft: Draft, table: Table, engine: SqlEngine) -> Verified | None:
    """Run the statement and its probes on fresh copies of the table; None for a question that is not good.

    A good question needs exactly the skills it was made for. A SELECT returns rows, in an order that the
    statement fixes; a change changes the table; and each part that is left out makes a difference.
    """
    if label_skills(draft.sql) != draft.skills:
        return None
    if not draft.sql.startswith("SELECT"):
        return _verify_change(draft, table, engine)
    _restore(engine, table)
    reply = engine.execute(draft.sql)
    good = _is_answer(reply, draft) and _fixes_order(draft, engine)
    if not good or any(engine.execute(probe).rows == reply.rows for probe in draft.probes):
        return None
    return Verified(reply.rows, None)


def _is_answer(reply: SqlReply, draft: Draft) -> bool:
    """Rows, not too many, none of them with a NULL; several rows only where they are sorted."""
    if reply.error is not None or not 1 <= len(reply.rows) <= MOST_ROWS:
        return False
    if not draft.sort_keys and len(reply.rows) > 1:
        return False
    return not any(cell is None for row in reply.rows for cell in row)


def _fixes_order(draft: Draft, engine: SqlEngine) -> bool:
    """No two rows share all sort keys; of several keys the first one matters and leaves ties to the others.

    Texts that differ in case only are alike to MySQL.
    """
    if not draft.sort_keys:
        return True
    reply = engine.execute(draft.sort_keys)
    keys = [tuple(str(cell).casefold() for cell in row) for row in reply.rows]
    if reply.error is not None or len(keys) < 2 or len(set(keys)) < len(keys):
        return False
    return draft.sort_keys_count == 1 or 1 < len({key[0] for key in keys}) < len(keys)


def _verify_change(draft: Draft, table: Table, engine: SqlEngine) -> Verified | None:
    _restore(engine, table)
    before = engine.state_hash()
    if not _fixes_order(draft, engine):
        return None
    hashes = _hashes_after([draft.sql, *draft.probes], table, engine)
    if hashes is None or hashes[0] == before or hashes[0] in hashes[1:] or hashes[0] == "None":
        return None
    return Verified(None, hashes[0])


def _hashes_after(statements: Sequence[str], table: Table, engine: SqlEngine) -> list[str | None] | None:
    """The state hash after each statement alone; None when one of them is refused."""
    hashes = []
    for statement in statements:
        _restore(engine, table)
        if engine.execute(statement).error is not None:
            return None
        hashes.append(engine.state_hash())
    return hashes


def _restore(engine: SqlEngine, table: Table) -> None:
    engine.drop()
    engine.create(table)
