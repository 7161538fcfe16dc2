"""Exploring a graph of a million triples: medians of whole actions, parsing and rendering included.

    python benchmarks/triple_store.py [--triples 1000000] [--no-rdflib]

Each figure is what one turn of an agent costs: the reply is parsed, the preconditions are checked, the graph
is asked and the result is put into words. Variables are lazy, so hops and intersections are measured together
with the answer that evaluates them. With rdflib installed, the same replies are played over the same triples
with its SPARQL engine, in the same run. A turn is one thread that waits for nothing, so its CPU time is what
it takes on a free machine: targets and ratios go by it, and the clock's time stands beside it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from perdure.environments.knowledge_graph.actions import Call, FinalAnswer, parse_action
from perdure.environments.knowledge_graph.interpreter import Interpreter
from perdure.environments.knowledge_graph.names import Names
from perdure.environments.knowledge_graph.ontology import Ontology
from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore
from perdure.environments.knowledge_graph.programs import Program
from perdure.environments.knowledge_graph.queries import PREDICATES, relations_query, values_query
from perdure.environments.knowledge_graph.triple_store import TripleStore

ENTITIES = 100_000
RELATIONS = tuple(f"world.kind_{i % 8}.relation_{i}" for i in range(48))
HUBS = ("m.0hub_a", "m.0hub_b")
HUB_RELATION = "world.kind_0.members"
HUB_SIZE = 10_000
ONTOLOGY = Ontology(
    frozenset({*RELATIONS, HUB_RELATION}),
    frozenset(),
    dict.fromkeys((*RELATIONS, HUB_RELATION), "world.thing"),
)
TARGETS_MS = {
    "relations of an entity": 0.5,
    "one hop": 0.5,
    "intersection of two 10,000-entity variables": 50.0,
}
RATIO_TARGET = 10.0
ROUNDS = {"relations of an entity": 200, "one hop": 200, "intersection of two 10,000-entity variables": 9}


class RdflibStore(TripleStore):
    """The same contract over rdflib, by the SPARQL that this package emits."""

    def __init__(self, graph: Path) -> None:
        self._names = Names()
        self._graph: Any = import_module("rdflib").Graph()
        self._graph.parse(graph, format="nt")

    def relations(self, program: Program, without: Set[str] = frozenset()) -> set[str]:
        return self._column(relations_query(program, self._names, without))

    def values(self, program: Program, without: Set[str] = frozenset()) -> set[str]:
        return self._column(values_query(program, self._names, without))

    def predicates(self) -> Iterable[tuple[str, str]]:
        return [(self._names.identifier(str(p)), str(kind)) for p, kind in self._graph.query(PREDICATES)]

    def forget(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        self._graph.close()

    def _column(self, query: str) -> set[str]:
        return {self._names.identifier(str(row[0])) for row in self._graph.query(query)}


def write_graph(path: Path, triples: int) -> None:
    draw, names = Random(0), Names()
    with path.open("w", encoding="ascii") as out:
        for hub, first in zip(HUBS, (0, HUB_SIZE // 2), strict=True):
            for i in range(first, first + HUB_SIZE):
                out.write(f"<{names.iri(hub)}> <{names.iri(HUB_RELATION)}> <{names.iri(f'm.0{i}')}> .\n")
        for _ in range(triples - 2 * HUB_SIZE):
            subject, object_ = (names.iri(f"m.0{draw.randrange(ENTITIES)}") for _ in range(2))
            out.write(f"<{subject}> <{names.iri(draw.choice(RELATIONS))}> <{object_}> .\n")


class Player:
    """Plays replies over a store, as the environment does."""

    def __init__(self, store: TripleStore) -> None:
        self._store = store
        self.reset()

    def reset(self) -> None:
        self._store.forget()
        self._interpreter = Interpreter(self._store, ONTOLOGY, {})

    def play(self, *replies: str) -> str:
        text = ""
        for reply in replies:
            match parse_action(reply):
                case Call() as call:
                    text = self._interpreter.run(call)
                case FinalAnswer(int(index)):
                    text = "<SEP>".join(sorted(self._interpreter.answer(index)))
                case _:
                    raise AssertionError(reply)
        return text


def relations_of_an_entity(player: Player, draw: Random) -> Callable[[], object]:
    player.reset()
    reply = f"Which relations are there?\nAction: get_relations(m.0{draw.randrange(ENTITIES)})"
    return lambda: player.play(reply)


def one_hop(player: Player, draw: Random) -> Callable[[], object]:
    player.reset()
    relation = ""
    while not relation:
        entity = f"m.0{draw.randrange(ENTITIES)}"
        listed = player.play(f"Action: get_relations({entity})")
        relation = listed.partition("[")[2].partition("]")[0].split(", ")[0]
    return lambda: player.play(f"Action: get_neighbors({entity}, {relation})", "Final Answer: #0")


def intersection(player: Player, draw: Random) -> Callable[[], object]:
    player.reset()
    for hub in HUBS:
        player.play(f"Action: get_relations({hub})", f"Action: get_neighbors({hub}, {HUB_RELATION})")
    return lambda: player.play("Action: intersection(#0, #1)", "Final Answer: #2")


MEASURED = dict(zip(TARGETS_MS, (relations_of_an_entity, one_hop, intersection), strict=True))


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a turn: by the clock, and of the processor (other work on the machine left out)."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.cpu:.3f} ms of CPU ({self.wall:.3f} ms by the clock)"


def medians(store: TripleStore) -> dict[str, Cost]:
    """By figure; what prepares a turn is not counted."""
    player, found = Player(store), {}
    for name, prepare in MEASURED.items():
        draw, walls, cpus = Random(1), [], []
        for _ in range(ROUNDS[name]):
            turn = prepare(player, draw)
            wall, cpu = time.perf_counter(), time.process_time()
            turn()
            cpus.append(time.process_time() - cpu)
            walls.append(time.perf_counter() - wall)
        found[name] = Cost(1000 * median(walls), 1000 * median(cpus))
    return found


def report(triples: int, with_rdflib: bool) -> Iterator[tuple[str, bool]]:
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as folder:
        graph = Path(folder) / "graph.nt"
        write_graph(graph, triples)
        started = time.perf_counter()
        store = OxigraphStore(graph)
        print(f"{len(store):,} triples loaded in {time.perf_counter() - started:.1f} s", file=sys.stderr)
        ours = medians(store)
        store.close()
        for name, value in ours.items():
            target = TARGETS_MS[name]
            yield (
                f"{name}: {value}, target <= {target:g} ms, {value.cpu / target:.2f} of it",
                value.cpu <= target,
            )
        if not with_rdflib:
            print("against rdflib: not measured, it is not installed or not wanted", file=sys.stderr)
            return
        theirs = medians(RdflibStore(graph))
    for name, value in theirs.items():
        ratio = value.cpu / ours[name].cpu
        line = f"{name}, rdflib: {value}, {ratio:.1f} times ours, target >= {RATIO_TARGET:g}"
        yield line, ratio >= RATIO_TARGET


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Medians of knowledge-graph actions on a large graph.")
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--no-rdflib", action="store_true")
    given = parser.parse_args(arguments)
    reached = True
    for line, good in report(given.triples, find_spec("rdflib") is not None and not given.no_rdflib):
        print(line if good else f"{line}  MISSED")
        reached &= good
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
