"""What of the published knowledge-graph sets converts, validates and reproduces: n/N a line.

    python benchmarks/kg_fidelity.py [DATA]

DATA is a folder that holds `lifelongagentbench/`, `agentbench/`, `licence_unclear/` and `shared/` with the
published files; without an argument, `../shared/data` beside the project. What is absent is left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from perdure.environments.knowledge_graph.actions import Call, parse_action
from perdure.environments.knowledge_graph.conversion import (
    NotConvertible,
    check_actions,
    from_actions,
    to_actions,
)
from perdure.environments.knowledge_graph.interpreter import Interpreter, Refused
from perdure.environments.knowledge_graph.ontology import Ontology, derive_ontology, load_ontology
from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore
from perdure.environments.knowledge_graph.programs import (
    And,
    Count,
    Entity,
    Join,
    Program,
    Superlative,
    parse_program,
)
from perdure.environments.knowledge_graph.tasks import KnowledgeGraphTask, load_tasks
from perdure.pipelines.knowledge_graph.paths import read_path_questions

DATA = Path(__file__).parents[2] / "shared" / "data"
ONTOLOGY = "shared/agentbench_kg_ontology"
LIFELONG = "lifelongagentbench/knowledge_graph.json"
AGENTBENCH = tuple(f"agentbench/knowledgegraph/{name}.json" for name in ("dev", "std", "kg_rl_all"))
WITNESS = "m.0witness"
PATHS = (
    ("wc2014/WC-P2", "wc2014/WC2014"),
    ("wc2014/WC-C", "wc2014/WC2014"),
    ("pathquestion/PQ-2H", "pathquestion/2H-kb"),
    ("pathquestion/PQ-3H", "pathquestion/3H-kb"),
    ("pathquestion/PQL-2H", "pathquestion/PQL2-KB"),
    ("pathquestion/PQL-3H", "pathquestion/PQL3-KB"),
)
"""Questions under `licence_unclear/`, and their triples under `shared/licence_unclear/`."""


@dataclass(frozen=True)
class Tally:
    """How many of a set do what is asked, and which do not."""

    name: str
    total: int
    missed: tuple[str, ...]
    target: float

    @property
    def reached(self) -> bool:
        return self.total - len(self.missed) >= self.target * self.total

    def __str__(self) -> str:
        done = self.total - len(self.missed)
        target = f"target >= {100 * self.target:g} %" if self.target else "no target"
        line = f"{self.name}: {done}/{self.total}, {target}, {done / self.total:.2%}"
        return f"{line}; not: {', '.join(self.missed[:12])}" if self.missed else line


def conversions(data: Path) -> Iterator[Tally]:
    """S-expressions to actions, actions to S-expressions, and what the environment's checks say of them."""
    ontology = load_ontology(data / ONTOLOGY)
    for name in (LIFELONG, *AGENTBENCH):
        path = data / name
        if not path.exists():
            continue
        tasks = load_tasks(path)
        told = f"{path.parts[-2]}/{path.stem}"
        yield _tally(f"{told}: S-expression to actions", tasks, lambda task: _converts(task, ontology))
        yield _tally(f"{told}: actions to S-expression and back", tasks, _returns)
        # Some published AgentBench actions break the rules of their own environment: counted, not required.
        target = 1.0 if name == LIFELONG else 0.0
        yield _tally(f"{told}: vocabulary, types, order", tasks, lambda task: _valid(task, ontology), target)


def witnesses(data: Path) -> Iterator[Tally]:
    """Published tasks, played by their gold actions with the published ontology.

    No graph is published that answers them. Each program gets the fewest triples that make it true of one
    node: actions, lists, types and queries are exercised, and that node must be in the answer.
    """
    ontology = load_ontology(data / ONTOLOGY)
    for name in (LIFELONG, *AGENTBENCH):
        path = data / name
        if not path.exists():
            continue
        tasks = load_tasks(path)
        target = 1.0 if name == LIFELONG else 0.0
        yield _tally(
            f"{path.parts[-2]}/{path.stem}: plays on witnesses",
            tasks,
            lambda task: _plays(task, ontology),
            target,
        )


def _plays(task: KnowledgeGraphTask, ontology: Ontology) -> bool:
    program = parse_program(from_actions(task.actions))
    inner = program.inner if isinstance(program, Superlative | Count) else program
    rows = list(_true_of(inner, WITNESS))
    if isinstance(program, Superlative):
        rows.append((WITNESS, program.attribute, "1"))
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "witness.tsv"
        graph.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
        store = OxigraphStore(graph)
    return answers(task, store, ontology) == ({"1"} if isinstance(program, Count) else {WITNESS})


def _true_of(program: Program, node: str) -> Iterator[tuple[str, str, str]]:
    """Triples that make a node a member of a program."""
    match program:
        case And(left, right):
            yield from _true_of(left, node)
            yield from _true_of(right, node)
        case Join(relation, Entity(identifier)):
            yield identifier, relation, node
        case Join(relation, inner):
            yield f"{node}_", relation, node
            yield from _true_of(inner, f"{node}_")


def gold_paths(data: Path) -> Iterator[Tally]:
    """Published gold paths, played as actions on the published triples."""
    for questions, triples in PATHS:
        source = data / "licence_unclear" / f"{questions}.txt"
        graph = data / "shared" / "licence_unclear" / f"{triples}.txt"
        if not (source.exists() and graph.exists()):
            continue
        store = OxigraphStore(graph)
        ontology = derive_ontology(store.predicates())
        tasks = _as_tasks(source)

        def reproduces(
            task: KnowledgeGraphTask, store: OxigraphStore = store, o: Ontology = ontology
        ) -> bool:
            return answers(task, store, o) == task.answers

        yield _tally(f"{questions}: gold paths", tasks, reproduces, 0.99)


def answers(task: KnowledgeGraphTask, store: OxigraphStore, ontology: Ontology) -> set[str]:
    """What the gold actions of a task answer; nothing where one is refused."""
    store.forget()
    interpreter = Interpreter(store, ontology, task.entities, keep_topic=task.keep_topic)
    for action in task.actions:
        call = parse_action(f"Action: {action}", task.entities)
        if not isinstance(call, Call):
            return set()
        try:
            interpreter.run(call)
        except Refused:
            return set()
    return interpreter.answer(len(interpreter.variables) - 1)


def _as_tasks(questions: Path) -> dict[str, KnowledgeGraphTask]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tasks.json"
        path.write_text(json.dumps(read_path_questions(questions)), "utf-8")
        return load_tasks(path)


def _tally(
    name: str,
    tasks: dict[str, KnowledgeGraphTask],
    check: Callable[[KnowledgeGraphTask], bool],
    target: float = 1.0,
) -> Tally:
    missed = tuple(task_id for task_id, task in tasks.items() if not check(task))
    return Tally(name, len(tasks), missed, target)


def _converts(task: KnowledgeGraphTask, ontology: Ontology) -> bool:
    published = [action.replace(", ", ",") for action in task.actions]
    try:
        return to_actions(task.s_expression, ontology) == published
    except NotConvertible:
        return False


def _returns(task: KnowledgeGraphTask) -> bool:
    try:
        return to_actions(from_actions(task.actions)) == [
            action.replace(", ", ",") for action in task.actions
        ]
    except NotConvertible:
        return False


def _valid(task: KnowledgeGraphTask, ontology: Ontology) -> bool:
    try:
        check_actions(task.actions, ontology)
    except NotConvertible:
        return False
    return True


def main(arguments: Sequence[str]) -> int:
    data = Path(arguments[0]) if arguments else DATA
    reached = True
    if (data / ONTOLOGY).is_dir():
        for tally in chain(conversions(data), witnesses(data)):
            print(tally)
            reached &= tally.reached
    else:
        print(f"conversions: not measured, {str(data / ONTOLOGY)!r} is absent", file=sys.stderr)
    for tally in gold_paths(data):
        print(tally)
        reached &= tally.reached
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
