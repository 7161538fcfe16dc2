"""How many published LifelongAgentBench answers and state hashes the embedded engine reproduces.

Run: python benchmarks/lab_database_fidelity.py [db_bench.json]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from json import loads
from pathlib import Path
from typing import Any

from perdure.environments.database.engine import Column, SqlReply, Table
from perdure.environments.database.sqlite.engine import SqliteEngine

DATA = Path(__file__).parents[2] / "shared" / "data" / "lifelongagentbench" / "db_bench.json"
TARGET_MISSES = 1


def published_table(entry: Mapping[str, Any]) -> Table:
    info = entry["table_info"]
    columns = tuple(Column(c["name"], c["type"]) for c in info["column_info_list"])
    return Table(info["name"], columns, tuple(tuple(row) for row in info["row_list"]))


def same_cell(ours: object, published: object) -> bool:
    if isinstance(published, int | float) and isinstance(ours, int | float | Decimal):
        return math.isclose(float(ours), published, rel_tol=1e-6, abs_tol=1e-6)
    return ours == published


def same_answer(reply: SqlReply, published: Sequence[Sequence[object]]) -> bool:
    """Same rows in the same order."""
    return len(reply.rows) == len(published) and all(
        len(row) == len(other) and all(map(same_cell, row, other))
        for row, other in zip(reply.rows, published, strict=True)
    )


def misses(path: Path = DATA) -> tuple[dict[str, str], int, int]:
    """Misses by task id with what went wrong; then how many hashes and answers there are."""
    engine = SqliteEngine()
    wrong: dict[str, str] = {}
    hashes = answers = 0
    for task, entry in loads(path.read_text()).items():
        info = entry["answer_info"]
        engine.create(published_table(entry))
        reply = engine.execute(info["sql"])
        if info["md5"] is not None:
            hashes += 1
            if engine.state_hash() != info["md5"]:
                wrong[task] = f"hash: {reply.error or info['sql']}"
        else:
            answers += 1
            if not same_answer(reply, info["direct"]):
                wrong[task] = f"answer: {reply.error or info['sql']}"
        engine.drop()
    engine.close()
    return wrong, hashes, answers


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    started = time.perf_counter()
    wrong, hashes, answers = misses(path)
    bad_hashes = sum(text.startswith("hash") for text in wrong.values())
    bad_answers = len(wrong) - bad_hashes
    total = hashes + answers
    print(
        f"lab database fidelity: {hashes - bad_hashes}/{hashes} hashes, {answers - bad_answers}/{answers} "
        f"ordered answers; target >= {total - TARGET_MISSES}/{total}; "
        f"ratio {(total - len(wrong)) / max(1, total - TARGET_MISSES):.4f}; "
        f"{time.perf_counter() - started:.1f} s"
    )
    for task, text in wrong.items():
        print(f"  miss {task}: {text}")


if __name__ == "__main__":
    main()
