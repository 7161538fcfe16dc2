"""Turns path questions over a triple file into knowledge-graph tasks.

    python -m perdure.pipelines.knowledge_graph.paths QUESTIONS.txt --out tasks.json

A question is a line of tab-separated columns: its words, its answers, its gold path. Two published forms:

    PathQuestion   answer(all/answers/) and a path `a#r1#b#r2#c`, which may end in `#<end>#c`
    WC2014         one answer, a path (or several to the same answer, divided by `*`), all/answers/

The relations of a path are followed from its first entity; paths of one question are intersected. The answers
are those of the file, and the question's own entities may be among them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from perdure.core.types import JSON
from perdure.environments.knowledge_graph.conversion import to_actions
from perdure.environments.knowledge_graph.programs import And, Entity, Join, Program

_END = "<end>"


def read_path_questions(path: Path) -> dict[str, dict[str, JSON]]:
    """Task entries by line number from 0. Raises ValueError with the line's number."""
    entries = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            columns = line.rstrip("\n").split("\t")
            try:
                entries[str(number)] = _entry(columns, f"{path.stem}-{number}", path.stem)
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number + 1}: {error}") from error
    return entries


def _entry(columns: Sequence[str], identifier: str, source: str) -> dict[str, JSON]:
    if len(columns) < 3:
        raise ValueError("expected a question, its answers and a path")
    question, answer, path = columns[:3]
    answers = columns[3] if len(columns) > 3 else _all_answers(answer)
    chains = [_chain(part.split("#")) for part in path.split("*")]
    program = chains[0]
    for chain in chains[1:]:
        program = And(program, chain)
    topics = [part.split("#")[0] for part in path.split("*")]
    actions = to_actions(str(program))
    return {
        "question": " ".join(question.split()),
        "qid": identifier,
        "source": source,
        "entity_dict": {topic: topic for topic in topics},
        "s_expression": str(program),
        "action_list": actions,
        "answer_list": sorted({name for name in answers.split("/") if name}),
        "skill_list": sorted({action.partition("(")[0] for action in actions}),
        "keep_topic": True,
    }


def _chain(path: Sequence[str]) -> Program:
    """Entity, relation, entity, relation, …: the relations followed from the first entity."""
    hops = path[: path.index(_END)] if _END in path else path
    if len(hops) < 3:
        raise ValueError(f"a path needs an entity and a relation, not {'#'.join(path)!r}")
    program: Program = Entity(hops[0])
    for relation in hops[1::2]:
        program = Join(relation, program)
    return program


def _all_answers(column: str) -> str:
    """`all/answers/` of `answer(all/answers/)`; either may hold parentheses of its own."""
    for cut, sign in enumerate(column):
        if sign == "(" and column.endswith(")"):
            first, rest = column[:cut], column[cut + 1 : -1]
            if first in rest.split("/"):
                return rest
    return column


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Turn path questions into knowledge-graph tasks.")
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    try:
        entries = read_path_questions(given.questions)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    given.out.write_text(json.dumps(entries, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"{len(entries)} tasks in {given.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
