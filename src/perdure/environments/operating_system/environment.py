"""The operating-system world: one fresh machine a task, worked on by bash (LifelongAgentBench, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from perdure.core.environment import Environment, Opening
from perdure.core.errors import ConfigError, EnvironmentUnavailable
from perdure.core.history import HistoryFactory
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.environments.operating_system.actions import (
    Answer,
    Bash,
    Finish,
    Invalid,
    action_key,
    parse_action,
)
from perdure.environments.operating_system.allowed_commands import allowed_set, forbidden
from perdure.environments.operating_system.chance import ShellChance
from perdure.environments.operating_system.machines import (
    SandboxName,
    ShellName,
    commands_of_root,
    machine_maker,
    resolve_root,
)
from perdure.environments.operating_system.needed_commands import needed_commands
from perdure.environments.operating_system.prompts import describe, form_of_reply, instructions, refusal
from perdure.environments.operating_system.scoring import command_line, grade
from perdure.environments.operating_system.tasks import OsTask, load_tasks
from perdure.metrics.skills import skill_metrics
from perdure.sandboxes.limits import LONGEST_SECONDS
from perdure.sandboxes.sandbox import Sandbox

MAX_INTERACTIONS = 5

_DEFAULT_MAX_OBSERVATION = 8_000
_PAPER_MAX_OBSERVATION = 8_000_000


class OperatingSystemEnvironment(Environment):
    """Administer a Linux machine by bash; the state it is left in is graded.

    `tasks` is a file in the published schema, or an AgentBench file or folder (None: the shipped tasks).
    `sandbox` runs the machines, `root` is their root file system or image ("auto": a Debian root that is
    cached, else the host; an engine's own default image), `shell` says whether folder and variables last
    between actions. `action_timeout` is in seconds,
    `max_observation_chars` bounds every observation, `allowed_commands` restricts scripts to a set ("paper":
    the 29 published ones). `compat = "paper"` behaves as the original code; the README names each difference.
    `on_invalid_action` says whether a reply without a valid action is an observation or the end (default:
    observe; end under compat). `max_interactions` only tells the agent its limit. Raises ConfigError,
    MissingExtra.
    """

    name = "operating_system"

    def __init__(
        self,
        *,
        tasks: Path | None = None,
        sandbox: SandboxName = "bubblewrap",
        root: str = "auto",
        compat: Literal["none", "paper"] = "none",
        on_invalid_action: Literal["observe", "end"] | None = None,
        action_timeout: float = 20.0,
        max_observation_chars: int | None = None,
        allowed_commands: list[str] | Literal["paper"] | None = None,
        shell: ShellName = "fresh",
        max_interactions: int = MAX_INTERACTIONS,
        seed: int = 0,
    ) -> None:
        self._as_paper = as_paper = compat == "paper"
        default_size = _PAPER_MAX_OBSERVATION if as_paper else _DEFAULT_MAX_OBSERVATION
        self._max_output = max_observation_chars if max_observation_chars is not None else default_size
        if not 0 < action_timeout <= LONGEST_SECONDS:
            raise ConfigError(
                f"action_timeout must be above 0 and at most {LONGEST_SECONDS} seconds, "
                f"not {action_timeout!r}"
            )
        if self._max_output < 200:
            raise ConfigError(f"max_observation_chars must be at least 200, not {self._max_output!r}")
        loaded = load_tasks(Path(tasks) if tasks is not None else None)
        invalid = on_invalid_action or ("end" if as_paper else "observe")
        self._tasks = loaded.tasks
        self._sandbox: SandboxName = sandbox
        self._root = resolve_root(sandbox, root)
        self._make_machine = machine_maker(sandbox, self._root, shell)
        self._known_commands: frozenset[str] | None = None
        self._shows_exit_code = not as_paper
        self._ends_on_invalid = invalid == "end"
        self._timeout = action_timeout
        self._allowed = allowed_set(allowed_commands)
        self._takes_answers = any(task.takes_answer for task in loaded.tasks.values())
        self._task: OsTask | None = None
        self._machine: Sandbox | None = None
        self._answer: str | None = None
        self._is_destroyed = False
        self._lacks: Observation | None = None
        self._seed = seed
        self._chance = ShellChance()
        self.version = f"2+{loaded.digest}"
        self.instructions = instructions(
            shell=shell,
            timeout=action_timeout,
            max_chars=self._max_output,
            allowed=self._allowed,
            invalid=invalid,
            max_interactions=max_interactions,
            takes_answers=self._takes_answers,
        )
        self.history_factory = HistoryFactory()

    def task_ids(self) -> Sequence[str]:
        """The keys of the task file; tasks whose script files are absent are left out."""
        return list(self._tasks)

    def reset(self, trial: Trial) -> Opening:
        """A fresh machine, set up by the task's own script; one that fails is a task environment error.

        So is a root without the programs that the task's scripts call: it is told before anything is played,
        and the task is ignored.
        """
        task = self._tasks[trial.task_id]
        self._drop_machine()
        self._task, self._answer, self._is_destroyed, self._lacks = task, None, False, None
        self._chance = ShellChance(self._seed, trial.task_id, trial.repeat)
        missing = self._missing_commands(task)
        if missing:
            observation = self._lacks = _set_up_failed(f"no {', '.join(missing)} in root {self._root}")
        else:
            self._machine = self._make_machine()
            problem = self._set_up(task, self._machine)
            observation = _set_up_failed(problem) if problem else Observation("")
        return Opening(task.goal, observation, self.history_factory.construct(task.goal, observation))

    def interact(self, action: str) -> Observation:
        """Run a script, take an answer, or end; an invalid reply is refused or ends the task."""
        if self._lacks is not None:
            return self._lacks
        if self._machine is None:
            raise RuntimeError("interact() without reset()")
        match parse_action(action, takes_answers=self._takes_answers):
            case Finish():
                return Observation("", done=True, reason="the agent finished")
            case Answer(text):
                self._answer = text
                return Observation("", done=True, reason="the agent answered")
            case Bash(script):
                return self._run(script, self._machine)
            case Invalid(problem):
                return self._refuse(problem)

    def read_action(self, text: str) -> str | None:
        """The script without its layout, the answer, or `finish`."""
        action = parse_action(text, takes_answers=self._takes_answers)
        return None if isinstance(action, Invalid) else action_key(action)

    def complete(self) -> Evaluation:
        """Grade the machine or the answer, and throw the machine away. A destroyed one is graded as wrong.

        A task that the root cannot hold is ignored.
        """
        if self._lacks is not None:
            self._drop_machine()
            return Evaluation(EvaluationOutcome.IGNORED, 0.0)
        if self._task is None or self._machine is None:
            raise RuntimeError("complete() without reset()")
        try:
            if not self._is_destroyed:
                return grade(self._task, self._machine, self._answer, timeout=self._timeout)
        except EnvironmentUnavailable as error:
            self._blame_agent(error)
        finally:
            self._drop_machine()
        return Evaluation(EvaluationOutcome.INCORRECT, 0.0)

    def calculate_metric(self, records: Iterable[SessionRecord]) -> Mapping[str, float]:
        """Success overall and by skill; by difficulty too under `compat = "paper"`."""
        return skill_metrics(records, skills(self), as_paper=self._as_paper)

    def release(self) -> None:
        """Throw the machine away, if there is one."""
        self._drop_machine()

    def _missing_commands(self, task: OsTask) -> list[str]:
        """Programs that the task's scripts call and the root does not have, which is asked once."""
        if self._known_commands is None:
            self._known_commands = commands_of_root(self._sandbox, self._root)
        return sorted(needed_commands(task) - self._known_commands) if self._known_commands else []

    def _set_up(self, task: OsTask, machine: Sandbox) -> str:
        """Run the set-up script; the answer says what went wrong, or nothing."""
        if task.initialization.text.strip():
            script = command_line(task.initialization)
            script = self._chance.before(script) + script
            result = machine.exec(script, timeout=self._timeout, max_output=_DEFAULT_MAX_OBSERVATION)
            if result.timed_out:
                return f"the set-up of the task did not end within {self._timeout:g} seconds"
            if result.exit_code:
                return f"the set-up of the task failed with exit code {result.exit_code}"
        if task.background:
            script = f"{self._chance.before(task.background)}{{ {task.background}\n}} &"
            machine.exec(script, timeout=self._timeout, max_output=0)
        return ""

    def _run(self, script: str, machine: Sandbox) -> Observation:
        problem = forbidden(script, self._allowed) if self._allowed is not None else None
        if problem:
            return Observation(refusal(problem), accepted=False)
        seeding = self._chance.before(script)
        try:
            result = machine.exec(seeding + script, timeout=self._timeout, max_output=self._max_output)
        except EnvironmentUnavailable as error:
            self._blame_agent(error)
            return Observation("The machine is gone.", done=True, reason="the agent destroyed its machine")
        text = describe(
            result.output.decode("utf-8", "replace").replace(seeding, ""),
            result.exit_code,
            timeout=self._timeout,
            shows_exit_code=self._shows_exit_code,
        )
        return Observation(text)

    def _blame_agent(self, error: EnvironmentUnavailable) -> None:
        """A machine was lost: by what the agent did, if another one runs; otherwise `error` stands."""
        try:
            probe = self._make_machine()
            try:
                probe.exec("true", timeout=self._timeout, max_output=0)
            finally:
                probe.close()
        except EnvironmentUnavailable:
            raise error from None
        self._is_destroyed = True

    def _refuse(self, problem: str) -> Observation:
        if not self._ends_on_invalid:
            return Observation(refusal(problem), accepted=False)
        status = SessionStatus.AGENT_VALIDATION_FAILED
        return Observation("", accepted=False, done=True, status=status, reason=problem)

    def _drop_machine(self) -> None:
        if self._machine is not None:
            self._machine.close()
            self._machine = None
        self._task = self._lacks = None


def _set_up_failed(problem: str) -> Observation:
    return Observation(problem, done=True, status=SessionStatus.TASK_ENVIRONMENT_ERROR, reason=problem)


def skills(environment: OperatingSystemEnvironment) -> Mapping[str, Sequence[str]]:
    """The skills of every task by id."""
    return {id_: task.skills for id_, task in environment._tasks.items()}


def reply_form(environment: OperatingSystemEnvironment) -> str:
    """With the form of an answer where a task asks for one."""
    return form_of_reply(takes_answers=environment._takes_answers)
