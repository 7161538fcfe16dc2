"""Questions over a knowledge graph, answered by exploring it with seven actions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from perdure.core.environment import Environment, Opening
from perdure.core.errors import ConfigError
from perdure.core.history import HistoryFactory
from perdure.core.parameters import Operational
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, Observation, SessionStatus, Trial
from perdure.environments.knowledge_graph.actions import (
    NO_ACTION,
    Call,
    FinalAnswer,
    action_key,
    parse_action,
)
from perdure.environments.knowledge_graph.interpreter import Interpreter, RangeUnknown, Refused
from perdure.environments.knowledge_graph.names import FREEBASE, Names
from perdure.environments.knowledge_graph.ontology import (
    Ontology,
    derive_ontology,
    load_ontology,
    ontology_files,
)
from perdure.environments.knowledge_graph.prompts import ENTITIES, INSTRUCTIONS
from perdure.environments.knowledge_graph.scoring import grade
from perdure.environments.knowledge_graph.tasks import KnowledgeGraphTask, load_tasks
from perdure.environments.knowledge_graph.triple_store import QueryRefused, TripleStore
from perdure.environments.knowledge_graph.world import SHIPPED_GRAPH, SHIPPED_ONTOLOGY, SHIPPED_TASKS
from perdure.environments.loaded_once import LoadedOnce
from perdure.metrics.skills import skill_metrics

MAX_INTERACTIONS = 15

_LONGEST_REASON = 500
"""Characters of an answer that a finish reason repeats."""


@dataclass(frozen=True)
class _Files:
    """What is read once a process: questions and the ontology, where there is one."""

    tasks: Mapping[str, KnowledgeGraphTask]
    ontology: Ontology | None

    @classmethod
    def read(cls, tasks: Path, ontology: Path | None) -> _Files:
        return cls(load_tasks(tasks), None if ontology is None else load_ontology(ontology))


_FILES: LoadedOnce[_Files] = LoadedOnce()


class KnowledgeGraphEnvironment(Environment):
    """Questions over one graph (LifelongAgentBench's knowledge-graph environment).

    `tasks`: a file of questions (None: the shipped ones). `graph`: N-Triples or tab-separated triples for the
    embedded store (None: the shipped graph). `store = "sparql"` asks the server at `endpoint` instead, which
    is of kind `endpoint_kind`. `ontology`: a folder (see `ontology.py`); None derives it from the graph.
    `namespace` is what identifiers leave out of IRIs. `compat = "paper"` keeps the original's quirks (see the
    README). `on_invalid_action`: what a reply without an action does; None means `observe`, or `end` under
    compat. `max_interactions` only tells the agent its limit. `timeout_seconds` bounds one query.

    Raises ConfigError, MissingExtra, OSError, ValueError for files that cannot be read.
    """

    name = "knowledge_graph"

    def __init__(
        self,
        *,
        tasks: Path | None = None,
        graph: Path | None = None,
        store: Literal["oxigraph", "sparql"] = "oxigraph",
        endpoint: Annotated[str | None, Operational] = None,
        endpoint_kind: Literal["standard", "virtuoso"] = "standard",
        ontology: Path | None = None,
        namespace: str = FREEBASE,
        compat: Literal["none", "paper"] = "none",
        on_invalid_action: Literal["observe", "end"] | None = None,
        max_interactions: int = MAX_INTERACTIONS,
        timeout_seconds: float = 30.0,
    ) -> None:
        if (store == "sparql") != (endpoint is not None):
            raise ConfigError("environment.endpoint: needed by store = 'sparql', and by no other store")
        if graph is not None and endpoint is not None:
            raise ConfigError("environment.graph: a store behind an endpoint has its own graph")
        if graph is not None and tasks is None:
            raise ConfigError("environment.tasks: missing; the shipped questions are about the shipped graph")
        names = Names(namespace)
        if endpoint is None:
            if ontology is None and graph is None:
                ontology = SHIPPED_ONTOLOGY
            graph = graph or SHIPPED_GRAPH
        self.instructions = INSTRUCTIONS.format(max_interactions=max_interactions)
        self.history_factory = HistoryFactory()
        tasks = tasks or SHIPPED_TASKS
        digest = _digest(tasks, graph, *(ontology_files(ontology) if ontology else ()))
        self.version = f"2+{digest}"
        self._loaded = _FILES.get((tasks, ontology, digest), lambda: _Files.read(tasks, ontology))
        self._tasks, self._ontology = self._loaded.value.tasks, self._loaded.value.ontology
        self._paper = compat == "paper"
        self._ends_on_invalid = (on_invalid_action or ("end" if self._paper else "observe")) == "end"
        shared = (graph, digest, namespace)
        self._store = _open_store(graph, endpoint, endpoint_kind, names, timeout_seconds, shared)
        self._task: KnowledgeGraphTask | None = None
        self._interpreter: Interpreter | None = None
        self._answer: set[str] | None = None

    def task_ids(self) -> Sequence[str]:
        """In the order of the file."""
        return list(self._tasks)

    def reset(self, trial: Trial) -> Opening:
        """Open a question: no variable is made, nothing is listed."""
        task = self._tasks[trial.task_id]
        self._forget()
        if self._ontology is None:
            self._ontology = self._derived_ontology()
        self._task = task
        self._interpreter = Interpreter(
            self._store,
            self._ontology,
            task.entities,
            keep_topic=task.keep_topic,
            negative_indices=self._paper,
        )
        observation = Observation(ENTITIES.format(entities=list(task.entities)))
        return Opening(task.goal, observation, self.history_factory.construct(task.goal, observation))

    def interact(self, action: str) -> Observation:
        """Carry out one action; a bad one changes nothing and costs its turn."""
        if self._task is None or self._interpreter is None:
            raise RuntimeError("interact() without reset()")
        parsed = self._parsed(action)
        if parsed is None:
            return self._invalid()
        try:
            if isinstance(parsed, FinalAnswer):
                return self._finish(self._interpreter, parsed)
            return Observation(self._interpreter.run(parsed))
        except Refused as refused:
            return Observation(str(refused), accepted=False)
        except QueryRefused as refused:
            return self._not_executed(parsed, refused)
        except RangeUnknown as error:
            reason = f"the ontology does not say what {error} leads to"
            return Observation(
                "", accepted=False, done=True, status=SessionStatus.TASK_ENVIRONMENT_ERROR, reason=reason
            )

    def read_action(self, text: str) -> str | None:
        """The action with its arguments in one spelling; names of the open task may hold commas."""
        parsed = self._parsed(text)
        return None if parsed is None else action_key(parsed)

    def complete(self) -> Evaluation:
        """Compare the answer with the stored set, and forget the task."""
        if self._task is None:
            raise RuntimeError("complete() without reset()")
        evaluation = grade(self._task.answers, self._answer)
        self._forget()
        return evaluation

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        """Success, per-action rates, and the means of f1 and of answers that could be executed.

        The original never looks at the skills of its files: under `compat = "paper"` there are none.
        """
        means = _Means()
        by_skill = {} if self._paper else skills(self)
        metrics = skill_metrics(means.watch(records), by_skill, as_paper=self._paper)
        return {**metrics, **means.metrics(as_paper=self._paper)}

    def release(self) -> None:
        """Drop the graph, or close the connections."""
        self._forget()
        self._store.close()

    def _parsed(self, text: str) -> Call | FinalAnswer | None:
        entities = self._task.entities if self._task is not None else {}
        return parse_action(text, {*entities, *entities.values()}, paper=self._paper)

    def _invalid(self) -> Observation:
        if not self._ends_on_invalid:
            return Observation(NO_ACTION, accepted=False)
        return Observation(
            "",
            accepted=False,
            done=True,
            status=SessionStatus.AGENT_VALIDATION_FAILED,
            reason="no action was found in the reply",
        )

    def _finish(self, interpreter: Interpreter, answer: FinalAnswer) -> Observation:
        if answer.variable is None:
            return Observation("", done=True, reason="the agent gave up")
        self._answer = interpreter.answer(answer.variable)
        told = "<SEP>".join(sorted(self._answer))
        if len(told) > _LONGEST_REASON:
            told = f"{told[:_LONGEST_REASON]}… ({len(self._answer)} values)"
        return Observation("", done=True, reason=f"answered with #{answer.variable}: {told}")

    def _not_executed(self, action: Call | FinalAnswer, refused: QueryRefused) -> Observation:
        """A query that was not carried out: the end of the task where it was the answer's."""
        if isinstance(action, FinalAnswer):
            return Observation("", done=True, reason=f"the answer could not be executed: {refused}")
        return Observation(f"The action was not carried out: {refused}.", accepted=False)

    def _derived_ontology(self) -> Ontology:
        try:
            return derive_ontology(self._store.predicates())
        except QueryRefused as refused:
            raise ConfigError(
                f"environment.ontology: needed, since the graph's predicates cannot be listed: {refused}"
            ) from refused

    def _forget(self) -> None:
        self._task, self._interpreter, self._answer = None, None, None
        self._store.forget()


class _Means:
    """Sums up the two details that are means over sessions, while somebody else reads the records."""

    def __init__(self) -> None:
        self._sessions, self._f1, self._executable = 0, 0.0, 0.0

    def watch(self, records: Iterable[SessionRecord]) -> Iterator[SessionRecord]:
        for record in records:
            self._sessions += 1
            self._f1 += float(record.detail.get("f1_score") or 0.0)
            self._executable += float(record.detail.get("executable_flag") or 0.0)
            yield record

    def metrics(self, *, as_paper: bool) -> dict[str, float]:
        names = ("overall.additional.f1_score", "overall.additional.executable_rate")
        if not self._sessions:
            return dict.fromkeys(names, -1.0) if as_paper else {}
        return dict(zip(names, (self._f1 / self._sessions, self._executable / self._sessions), strict=True))


def skills(environment: KnowledgeGraphEnvironment) -> Mapping[str, Sequence[str]]:
    """The skills of every task by id."""
    return {id_: task.skills for id_, task in environment._tasks.items()}


def _open_store(
    graph: Path | None,
    endpoint: str | None,
    endpoint_kind: Literal["standard", "virtuoso"],
    names: Names,
    timeout_seconds: float,
    shared: Hashable,
) -> TripleStore:
    if endpoint is not None:
        from perdure.environments.knowledge_graph.sparql_store import SparqlStore

        return SparqlStore(endpoint, dialect=endpoint_kind, names=names, timeout_seconds=timeout_seconds)
    assert graph is not None
    from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore

    return OxigraphStore(graph, names=names, timeout_seconds=timeout_seconds, shared=shared)


def _digest(*files: Path | None) -> str:
    digest = sha256()
    for file in files:
        if file is not None:
            with file.open("rb") as content:
                while chunk := content.read(1 << 20):
                    digest.update(chunk)
    return digest.hexdigest()[:12]
