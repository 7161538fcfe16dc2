"""Makes database tasks: `python -m perdure.pipelines.database.tasks --seed 0 --out FILE`.

No language model takes part. A recipe of skills is drawn (rare skills more often, as in LifelongAgentBench's
data construction), put into SQL and into words over a table with fresh rows, and kept if execution bears
it out.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from perdure.core.errors import EnvironmentUnavailable
from perdure.core.randomness import keyed_random
from perdure.core.types import JSON
from perdure.environments.database.engine import Column, SqlEngine, Table
from perdure.environments.database.skills import SKILLS
from perdure.pipelines.database.catalogue import SCENARIOS
from perdure.pipelines.database.draft import Draft
from perdure.pipelines.database.mutation import compose_mutation
from perdure.pipelines.database.recipes import Recipe, draw_recipe
from perdure.pipelines.database.scenarios import Scenario, Value
from perdure.pipelines.database.select import compose_select
from perdure.pipelines.database.verification import Verified, verify
from perdure.pipelines.database.wording import Setting

TASKS = 108
LEAST_PER_SKILL = 5
_ATTEMPTS = 40
_FIRST_TURNS = 20
_ALIASES = ("t", "r", "b", "x")


@dataclass(frozen=True)
class Entry:
    """A finished task."""

    scenario: Scenario
    rows: list[list[Value]]
    draft: Draft
    verified: Verified

    def to_json(self) -> dict[str, JSON]:
        """The published schema of LifelongAgentBench's database entries."""
        answer, scenario = self.verified, self.scenario
        direct = None if answer.rows is None else [[_plain(cell) for cell in row] for row in answer.rows]
        return {
            "instruction": self.draft.instruction,
            "answer_info": {"direct": direct, "md5": answer.state_hash, "sql": self.draft.sql},
            "table_info": {
                "name": scenario.table,
                "column_info_list": [{"name": c.name, "type": c.sql_type} for c in scenario.columns],
                "row_list": self.rows,
            },
            "skill_list": [skill for skill in SKILLS if skill in self.draft.skills],
        }


def make_tasks(seed: int, engine: SqlEngine, total: int = TASKS, least: int = LEAST_PER_SKILL) -> list[Entry]:
    """At least `total` tasks with at least `least` for each skill; the same seed gives the same tasks.

    Raises EnvironmentUnavailable when the engine bears out next to nothing of what is proposed.
    """
    entries: list[Entry] = []
    counts: Counter[str] = Counter()
    turn = 0
    while len(entries) < total or min(counts[skill] for skill in SKILLS) < least:
        recipe = draw_recipe(keyed_random(seed, turn, "recipe"), counts)
        scenario = _scenario_of_turn(seed, turn)
        entry = _make_one(seed, turn, recipe, scenario, engine)
        turn += 1
        if entry is not None and all(entry.draft.sql != other.draft.sql for other in entries):
            entries.append(entry)
            counts.update(entry.draft.skills)
        if turn >= _FIRST_TURNS and len(entries) * 10 < turn:
            raise EnvironmentUnavailable(f"the SQL engine bore out {len(entries)} of {turn} questions")
    return entries


def render(entries: Sequence[Entry]) -> str:
    """The file's text: one task a line, keyed by its position."""
    lines = [
        f"{json.dumps(str(i))}: {json.dumps(entry.to_json(), separators=(', ', ': '))}"
        for i, entry in enumerate(entries)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tasks to a file."""
    from perdure.environments.database.sqlite.engine import SqliteEngine

    parser = argparse.ArgumentParser(prog="python -m perdure.pipelines.database.tasks", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    if not options.out.parent.is_dir():
        parser.error(f"--out {str(options.out)!r}: there is no folder {str(options.out.parent)!r}")
    engine = SqliteEngine()
    try:
        text = render(make_tasks(options.seed, engine))
    finally:
        engine.close()
    options.out.write_text(text, encoding="utf-8")


def _scenario_of_turn(seed: int, turn: int) -> Scenario:
    """Every scenario once before any comes again, in an order of its own each time."""
    lap, position = divmod(turn, len(SCENARIOS))
    order = list(SCENARIOS)
    keyed_random(seed, lap, "scenarios").shuffle(order)
    return order[position]


def _make_one(seed: int, turn: int, recipe: Recipe, scenario: Scenario, engine: SqlEngine) -> Entry | None:
    """The first proposal that execution bears out; None after a bounded number of them."""
    columns = tuple(Column(column.name, column.sql_type) for column in scenario.columns)
    for attempt in range(_ATTEMPTS):
        rng = keyed_random(seed, turn, attempt, "question")
        rows = scenario.rows(rng)
        alias = rng.choice(_ALIASES) if recipe.table_alias and recipe.verb in ("select", "insert") else ""
        setting = Setting(scenario, rows, rng, identifiers=rng.random() < 0.5, alias=alias)
        compose = compose_select if recipe.verb == "select" else compose_mutation
        draft = compose(setting, recipe)
        table = Table(scenario.table, columns, tuple(tuple(row) for row in rows))
        verified = verify(draft, table, engine)
        if verified is not None:
            return Entry(scenario, rows, draft, verified)
    return None


def _plain(cell: object) -> JSON:
    """A cell as JSON: exact decimals become whole numbers where they are, floats elsewhere."""
    if not isinstance(cell, Decimal):
        return cell
    return int(cell) if cell == int(cell) else float(cell)


if __name__ == "__main__":
    main()
