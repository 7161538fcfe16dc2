"""Makes the shipped graph and its questions.

    python -m perdure.pipelines.knowledge_graph.tasks --out FOLDER --seed 0

No language model takes part. A template is filled with entities of the world, converted to actions, and kept
if playing the actions on the graph bears it out: an answer that is neither empty nor long, intersections and
superlatives that decide something, and no more rounds than the environment gives.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from perdure.core.randomness import keyed_random
from perdure.core.types import JSON
from perdure.environments.knowledge_graph.actions import ARITY, Call, parse_action
from perdure.environments.knowledge_graph.conversion import to_actions
from perdure.environments.knowledge_graph.environment import MAX_INTERACTIONS
from perdure.environments.knowledge_graph.interpreter import Interpreter, Refused
from perdure.environments.knowledge_graph.ontology import Ontology, load_ontology
from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore
from perdure.environments.knowledge_graph.programs import And, Program, Superlative, parse_program, parts
from perdure.environments.knowledge_graph.triple_store import TripleStore
from perdure.pipelines.knowledge_graph.questions import TEMPLATES, Template
from perdure.pipelines.knowledge_graph.schema import inverses, roles, vocabulary
from perdure.pipelines.knowledge_graph.world import World, make_world

QUESTIONS_A_TEMPLATE = 3
MOST_ANSWERS = 20
FEWEST_RANKED = 3
_ATTEMPTS = 4_000


def write_world(folder: Path, world: World) -> None:
    """The graph, the names of its entities and its ontology."""
    _write(folder / "world.tsv", world.lines())
    _write(folder / "names.tsv", world.name_lines())
    _write(folder / "roles.txt", roles())
    _write(folder / "inverses.txt", inverses())
    _write(folder / "vocab.json", [json.dumps(vocabulary(), indent=1)])


def make_questions(world: World, store: TripleStore, ontology: Ontology, seed: int) -> list[dict[str, JSON]]:
    """`QUESTIONS_A_TEMPLATE` questions of each template, all different, mixed.

    Raises ValueError for a template that this world does not answer often enough.
    """
    entries: list[dict[str, JSON]] = []
    for number, template in enumerate(TEMPLATES):
        draw = keyed_random(seed, "questions", number)
        found: dict[str, dict[str, JSON]] = {}
        for entry in _attempts(template, world, store, ontology, draw):
            found.setdefault(entry["question"], entry)
            if len(found) == QUESTIONS_A_TEMPLATE:
                break
        else:
            raise ValueError(f"too few questions: {template.words!r} has {len(found)}")
        entries += found.values()
    keyed_random(seed, "order").shuffle(entries)
    return [{**entry, "qid": f"world-{i}", "source": "world"} for i, entry in enumerate(entries)]


def _attempts(
    template: Template, world: World, store: TripleStore, ontology: Ontology, draw: Random
) -> Iterator[dict[str, JSON]]:
    for _ in range(_ATTEMPTS):
        chosen = [draw.choice(world.types[slot]) for slot in template.slots]
        program = template.program.format(*chosen)
        actions = to_actions(program)
        if len(actions) >= MAX_INTERACTIONS or len(set(chosen)) < len(chosen):
            continue
        names = [world.names[identifier] for identifier in chosen]
        entities = dict(zip(names, chosen, strict=True))
        answers = _play(actions, entities, store, ontology)
        if 0 < len(answers) <= MOST_ANSWERS and answers != {"0"} and _decides(parse_program(program), store):
            used = {action.partition("(")[0] for action in actions}
            yield {
                "question": template.words.format(*names),
                "entity_dict": entities,
                "s_expression": program,
                "action_list": actions,
                "answer_list": sorted(answers),
                "skill_list": [name for name in ARITY if name in used],
            }


def _play(
    actions: Sequence[str], entities: dict[str, str], store: TripleStore, ontology: Ontology
) -> set[str]:
    """What the actions answer; nothing where one of them is refused."""
    store.forget()
    interpreter = Interpreter(store, ontology, entities)
    for action in actions:
        call = parse_action(f"Action: {action}")
        assert isinstance(call, Call)
        try:
            interpreter.run(call)
        except Refused:
            return set()
    return interpreter.answer(len(interpreter.variables) - 1)


def _decides(program: Program, store: TripleStore) -> bool:
    """No intersection keeps all of one side, no superlative has almost nothing to choose from."""
    match program:
        case And(left, right):
            members = store.values(program)
            if members in (store.values(left), store.values(right)):
                return False
        case Superlative(_, inner, _) if len(store.values(inner)) < FEWEST_RANKED:
            return False
    return all(_decides(part, store) for part in parts(program))


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", "utf-8")


def build(folder: Path, seed: int) -> int:
    """Write world and questions; returns how many questions there are."""
    world = make_world(seed)
    write_world(folder, world)
    store = OxigraphStore(folder / "world.tsv")
    entries = make_questions(world, store, load_ontology(folder), seed)
    content = {str(i): entry for i, entry in enumerate(entries)}
    _write(folder / "tasks.json", [json.dumps(content, ensure_ascii=False, indent=1)])
    return len(entries)


def differences(folder: Path, seed: int) -> list[str]:
    """Names of the files of a folder that the seed does not reproduce byte for byte."""
    with tempfile.TemporaryDirectory() as scratch:
        build(Path(scratch), seed)
        made = {path.name: path.read_bytes() for path in Path(scratch).iterdir()}
    return sorted(
        name
        for name, content in made.items()
        if not (folder / name).exists() or (folder / name).read_bytes() != content
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Make a knowledge graph and questions about it.")
    parser.add_argument("--out", type=Path, required=True, help="an existing folder")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if not given.out.is_dir():
        parser.error(f"--out: there is no folder {str(given.out)!r}")
    print(f"{build(given.out, given.seed)} questions in {given.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
