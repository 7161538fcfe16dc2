"""The database world: one table a task, worked on by SQL (LifelongAgentBench, sections 3 and B)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from perdure.core.environment import Environment, Opening
from perdure.core.history import HistoryFactory
from perdure.core.parameters import Operational
from perdure.core.randomness import keyed_seed
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.environments.choices import choose
from perdure.environments.database.actions import Answer, Invalid, Operation, action_key, parse_action
from perdure.environments.database.engine import Row, SqlEngine, SqlReply
from perdure.environments.database.engines import ENGINES, EngineName, open_engine
from perdure.environments.database.observations import reply_text
from perdure.environments.database.paper_scoring import paper_answer_is_right
from perdure.environments.database.prompts import (
    INSTRUCTIONS,
    INVALID_ENDS,
    INVALID_OBSERVED,
    question,
    refusal,
)
from perdure.environments.database.scoring import answer_is_right, orders_its_result, same_rows
from perdure.environments.database.server.address import PASSWORD_VARIABLE, parse_url
from perdure.environments.database.tasks import DatabaseTask, shared_tasks
from perdure.metrics.skills import skill_metrics

MAX_INTERACTIONS = 3


class DatabaseEnvironment(Environment):
    """Questions about a table and changes of it, graded by rows and by contents.

    `tasks` is a file in the published schema (None: the shipped tasks). `compat = "paper"` scores and runs as
    the original code does; the README names each difference. `on_invalid_action` says whether a reply without
    a valid action is an observation or the end (default: observe; end under compat). `query_timeout` is in
    seconds, `max_observation_chars` bounds every observation, `max_interactions` only tells the agent its
    limit. SQL's functions of time give the trial's clock, and RAND is drawn from `seed`, task and repeat.
    Raises ConfigError for a bad task file.
    """

    name = "database"

    def __init__(
        self,
        *,
        tasks: Path | None = None,
        compat: Literal["none", "paper"] = "none",
        engine: EngineName = "sqlite",
        engine_url: Annotated[str | None, Operational] = None,
        engine_password_env: Annotated[str, Operational] = PASSWORD_VARIABLE,
        on_invalid_action: Literal["observe", "end"] | None = None,
        max_interactions: int = MAX_INTERACTIONS,
        query_timeout: float = 5.0,
        max_observation_chars: int = 10_000,
        seed: int = 0,
    ) -> None:
        choose("compat", compat, ("none", "paper"))
        choose("engine", engine, ENGINES)
        if engine_url is not None and engine != "mysql":
            raise ValueError(f"engine_url is for engine 'mysql', not {engine!r}")
        choose("on_invalid_action", on_invalid_action, (None, "observe", "end"))
        if query_timeout <= 0 or max_observation_chars < 100:
            raise ValueError("query_timeout must be positive, and max_observation_chars at least 100")
        self._loaded = shared_tasks(Path(tasks) if tasks is not None else None)
        loaded = self._loaded.value
        self._as_paper = compat == "paper"
        invalid = on_invalid_action or ("end" if self._as_paper else "observe")
        self._ends_on_invalid = invalid == "end"
        self._timeout = query_timeout
        self._max_chars = max_observation_chars
        self._tasks = loaded.tasks
        self._engine_name: EngineName = engine
        self._address = parse_url(engine_url, engine_password_env) if engine == "mysql" else None
        self._engine: SqlEngine | None = None
        self._seed = seed
        self._task: DatabaseTask | None = None
        self._trial = Trial("")
        self._answer: str | None = None
        self._operations = 0
        self.version = f"2+{loaded.digest}"
        self.instructions = INSTRUCTIONS.format(
            max_interactions=max_interactions,
            invalid=INVALID_ENDS if self._ends_on_invalid else INVALID_OBSERVED,
        )
        self.history_factory = HistoryFactory()

    def task_ids(self) -> Sequence[str]:
        """The keys of the task file."""
        return list(self._tasks)

    def reset(self, trial: Trial) -> Opening:
        """A fresh database with the task's table."""
        task = self._tasks[trial.task_id]
        self._task, self._trial, self._answer, self._operations = task, trial, None, 0
        engine = self._fresh_engine()
        observation = Observation("")
        try:
            engine.create(task.table)
        except ValueError as error:
            observation = Observation(
                str(error), done=True, status=SessionStatus.TASK_ENVIRONMENT_ERROR, reason=str(error)
            )
        goal = question(task.goal, task.table.name, [column.name for column in task.table.columns])
        return Opening(goal, observation, self.history_factory.construct(goal, observation))

    def interact(self, action: str) -> Observation:
        """Run an operation or take the answer; a reply without either is refused or ends the task."""
        if self._task is None:
            raise RuntimeError("interact() without reset()")
        match parse_action(action, as_paper=self._as_paper):
            case Answer(text):
                self._answer = text
                return self._commit(self._task)
            case Operation(statements):
                return self._operate(statements)
            case Invalid(kind) if self._ends_on_invalid:
                return Observation(
                    "",
                    accepted=False,
                    done=True,
                    status=SessionStatus.AGENT_VALIDATION_FAILED,
                    reason=kind,
                )
            case Invalid(kind):
                return Observation(refusal(kind), accepted=False)

    def read_action(self, text: str) -> str | None:
        """The statements as MySQL reads them, or the answer without regard to spaces."""
        action = parse_action(text, as_paper=self._as_paper)
        return None if isinstance(action, Invalid) else action_key(action)

    def complete(self) -> Evaluation:
        """Grade the answer or the table, and drop the database."""
        if self._task is None:
            raise RuntimeError("complete() without reset()")
        try:
            return self._grade_answer(self._task) if self._task.md5 is None else self._grade_table(self._task)
        finally:
            self._open_engine().drop()
            self._task, self._answer = None, None

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        """Success by skill and overall; by difficulty too under `compat = "paper"`."""
        return skill_metrics(records, skills(self), as_paper=self._as_paper)

    def release(self) -> None:
        """Close the database."""
        if self._engine is not None:
            self._engine.close()
        self._engine = self._task = None

    # -- within a task

    def _open_engine(self) -> SqlEngine:
        """The engine, empty when no task is open."""
        if self._engine is None:
            self._engine = open_engine(self._engine_name, timeout=self._timeout, address=self._address)
        return self._engine

    def _fresh_engine(self) -> SqlEngine:
        """The engine as the open trial meets it, without its table."""
        engine, trial = self._open_engine(), self._trial
        engine.drop()
        engine.begin(trial.clock, keyed_seed(self._seed, trial.task_id, trial.repeat))
        return engine

    def _operate(self, statements: Sequence[str]) -> Observation:
        self._operations += 1
        engine = self._open_engine()
        text, failed = reply_text(SqlReply(), self._max_chars), False
        for statement in statements:
            reply = engine.execute(statement)
            text, failed = (
                reply_text(reply, self._max_chars, as_python=self._as_paper),
                reply.error is not None,
            )
            if failed:
                break
        return Observation(text, accepted=not failed)

    def _commit(self, task: DatabaseTask) -> Observation:
        """The end by an answer. The original hashes the table here: a column that is gone is its error."""
        if self._as_paper and task.md5 is not None and self._open_engine().state_hash() is None:
            status, reason = SessionStatus.TASK_ENVIRONMENT_ERROR, "the table cannot be hashed any more"
            return Observation("", done=True, status=status, reason=reason)
        return Observation("", done=True, reason="answer committed")

    def _grade_answer(self, task: DatabaseTask) -> Evaluation:
        truth = task.answer or ()
        if self._as_paper:
            right = paper_answer_is_right(self._answer or "", truth)
        else:
            right = answer_is_right(
                self._answer, truth, ordered=orders_its_result(task.sql), loose=task.loose
            )
        return self._verdict(right, {})

    def _grade_table(self, task: DatabaseTask) -> Evaluation:
        engine = self._open_engine()
        found, found_hash = engine.contents(), engine.state_hash()
        expected = self._replayed(task)
        hash_matches = found_hash == task.md5
        same = found is not None and expected is not None and same_rows(found, expected)
        detail = {"contents_match": same, "hash_matches": hash_matches}
        return self._verdict(hash_matches if self._as_paper else same, detail)

    def _replayed(self, task: DatabaseTask) -> Sequence[Row] | None:
        """The table after the ground truth on a fresh copy; None when it does not run."""
        engine = self._fresh_engine()
        try:
            engine.create(task.table)
        except ValueError:
            return None
        return engine.contents() if engine.execute(task.sql).error is None else None

    def _verdict(self, right: bool, detail: Mapping[str, bool]) -> Evaluation:
        outcome = EvaluationOutcome.CORRECT if right else EvaluationOutcome.INCORRECT
        counted = {"answered": self._answer is not None, "operations": self._operations, **detail}
        return Evaluation(outcome, float(right), counted)


def skills(environment: DatabaseEnvironment) -> Mapping[str, Sequence[str]]:
    """The skills of every task by id."""
    return {id_: task.skills for id_, task in environment._tasks.items()}
