"""A constant-context agent for anybody's program: no experiment, no configuration, no run folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Self

from perdure.core.errors import ConfigError, ModelError, Refusal, StorageError, UsageError
from perdure.core.model import LanguageModel
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, Message, Request, Sampling
from perdure.core.usage import Usage
from perdure.core.well_formed import spelled_out
from perdure.state.action import TextActions
from perdure.state.agent_options import PatchRules, check_options, check_text, check_whole
from perdure.state.journal import JournalEntry, PatchJournal
from perdure.state.journal_file import JournalFile, Outcome
from perdure.state.prompt import correction, cut_middle, step_message, system_message
from perdure.state.rendering import readable
from perdure.state.runtime import StateRuntime
from perdure.state.taxonomy import Failure
from perdure.state.tools import FINISH, Tool, ToolCalls

BEGINNING = "The work begins now."
"""The first observation of a run."""

_UNKNOWN = "Whether it took effect is unknown."
_NO_ACTION = "\n(No action was taken: your last answers could not be used.)"


@dataclass(frozen=True)
class AgentStep:
    """One step: what the agent did and what came of it."""

    number: int
    """Counted from 1 over the agent's life."""
    action: JSON
    """A tool call, or a text where there are no tools; None when no reply could be used."""
    result: str | None = None
    """What the tool returned, as the agent will see it; None where the caller acts, and at the end."""
    accepted: bool = True
    """The tool did not refuse."""
    finished: bool = False
    answer: str = ""
    failures: tuple[Failure, ...] = ()
    """Replies of this step that could not be used."""


@dataclass(frozen=True)
class AgentResult:
    """A run. `finished` is False when it ran out of steps; `steps` counts all of its steps."""

    finished: bool
    answer: str
    steps: int
    state: Any


class StateAgent:
    """Works towards a goal with a declared state instead of a history: its prompt does not grow.

    `model`: any `LanguageModel`. `instructions`: what the world is and how to act in it. `state`: a
    pydantic model class (every field with a default) or instance, or a JSON Schema. `tools`: typed
    functions; an action is a call of one. A tool that returns has accepted the call, whatever it returns.
    One that raises `perdure.Refusal` has not: the agent sees why, and the patch that came with the call is
    not committed. Any other exception of a tool reaches the caller; the patch is dropped, and when the work
    goes on the agent is told that the outcome is unknown. Without tools an action is a text that the caller
    carries out.

    `journal`: a file that is appended to at every step, and locked while the agent is open (it is a context
    manager). An agent that is built again with it goes on where the last one stopped, also after `kill -9`,
    and also when its state has gained fields since. A call that was under way is not repeated: the agent is
    told that its outcome is unknown. `patches`: how the state is changed, see `PatchRules`.
    `max_observation`: characters of a tool's result that are shown; the middle of a longer one is cut.

    Raises ConfigError, and ModelError or ModelUnavailable when the model cannot answer; StorageError when
    the journal cannot be written; UsageError when the model returns anything but one outcome a request, and
    when a step is asked for while another is under way.
    """

    def __init__(
        self,
        *,
        model: LanguageModel,
        instructions: str,
        state: Any,
        tools: Sequence[Callable[..., Any]] = (),
        journal: str | Path | None = None,
        patches: PatchRules | None = None,
        sampling: Sampling | None = None,
        max_observation: int = 8_000,
    ) -> None:
        rules = PatchRules() if patches is None else patches
        self._sampling = Sampling() if sampling is None else sampling
        check_options(
            model=model,
            instructions=instructions,
            tools=tools,
            journal=journal,
            patches=rules,
            sampling=self._sampling,
            max_observation=max_observation,
        )
        self._model = ModelHandle.of(model)
        self._tools = ToolCalls(tools) if tools else None
        self._runtime = StateRuntime(
            state,
            patch_mode=rules.mode,
            actions=self._tools or TextActions(),
            guards=rules.guards,
            limits=rules.limits,
            reasoning=rules.constrained,
        )
        described = self._tools.describe() if self._tools is not None else ""
        self._instructions = "\n\n".join(part for part in (instructions, described) if part)
        self._schema = self._runtime.reply_schema if rules.constrained else None
        self._retries = rules.retries
        self._max_observation = max_observation
        self._goal = ""
        self._started_at = self._number = self._journalled_failures = 0
        self._running = False
        self._observation = BEGINNING
        self._asked = ""
        self._stepping = Lock()
        self.usage = Usage()
        """Tokens of every call so far in this process."""
        self._file = JournalFile(Path(journal), self._runtime.schema) if journal is not None else None
        if self._file is not None:
            self._take_up(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def state(self) -> Any:
        """The state: an instance of the pydantic model, or a dictionary under a JSON Schema."""
        model = self._runtime.schema.model
        if model is None:
            return json.loads(self._runtime.state_text)
        return model.model_validate_json(self._runtime.state_text)

    @property
    def journal(self) -> PatchJournal:
        """Every patch with its provenance."""
        return self._runtime.journal

    def trace(self) -> dict[str, JSON]:
        """Patches, failures and their counts, as JSON."""
        return self._runtime.trace()

    def run(self, goal: str, *, observation: str = BEGINNING, max_steps: int = 100) -> AgentResult:
        """Work until the agent calls `finish` or `max_steps` are used; needs tools.

        `observation` is the first one. A run that did not finish (out of steps, or interrupted and found in
        the journal) is taken up where it stopped when the same goal is given again, with `max_steps` more.
        Another goal begins another run; the state of earlier runs stays.
        """
        if self._tools is None:
            raise ConfigError(
                "run() needs tools; without them call step() and carry the actions out yourself"
            )
        check_text("goal", goal)
        check_text("observation", observation)
        check_whole("max_steps", max_steps, least=0)
        goal = spelled_out(goal)
        if not self._running or goal != self._goal:
            self._begin(goal, spelled_out(observation))
        answer = ""
        last = self._number + max_steps
        while self._running and self._number < last:
            step = self.step(self._observation)
            answer, self._running = step.answer, not step.finished
        return AgentResult(not self._running, answer, self._number - self._started_at, self.state)

    def step(self, observation: str, *, accepted: bool = True) -> AgentStep:
        """One observation in, one action out; with tools the action is carried out too.

        Without tools, `accepted` says whether the action of the step before was carried out: only then does
        its patch change the state.
        """
        check_text("observation", observation)
        if not self._stepping.acquire(blocking=False):
            raise UsageError("a step of this agent is under way; one at a time")
        try:
            if self._file is not None:
                self._file.check()
            return self._step(spelled_out(observation), accepted=accepted)
        finally:
            self._stepping.release()

    def close(self) -> None:
        """Close the journal and let others have it. Idempotent."""
        if self._file is not None:
            self._file.close()

    def _begin(self, goal: str, observation: str) -> None:
        self._goal, self._running, self._observation = goal, True, observation
        self._started_at = self._number
        if self._file is not None:
            self._file.run(goal, self._number, observation)

    def _step(self, observation: str, *, accepted: bool) -> AgentStep:
        self._conclude(accepted=accepted, reason=observation, following=observation)
        self._number += 1
        action, failures = self._decide(observation)
        if action is None:
            self._observation = observation.removesuffix(_NO_ACTION) + _NO_ACTION
            self._write("none", None, self._observation)
            return AgentStep(self._number, None, accepted=False, failures=failures)
        if self._tools is None:
            return AgentStep(self._number, action, failures=failures)
        if action["tool"] == FINISH:
            self._conclude(accepted=True, finished=True)
            answer = action["arguments"].get("answer", "")
            return AgentStep(self._number, action, finished=True, answer=answer, failures=failures)
        taken = self._act(self._tools.tools[action["tool"]], action)
        return AgentStep(self._number, action, self._observation, taken, failures=failures)

    def _decide(self, observation: str) -> tuple[JSON, tuple[Failure, ...]]:
        """The action of the first usable reply, or None; its patch is pending."""
        self._asked = observation
        failures: list[Failure] = []
        correcting = ""
        for _ in range(self._retries + 1):
            reply = self._ask(observation, correcting)
            proposal = self._runtime.propose(reply, step=self._number, observation=observation)
            if not isinstance(proposal, Failure):
                return proposal.action, tuple(failures)
            failures.append(proposal)
            correcting = correction(reply, proposal.message, self._runtime.answer_form)
        return None, tuple(failures)

    def _ask(self, observation: str, correcting: str) -> str:
        messages: tuple[Message, ...] = (
            system_message(self._instructions, self._runtime.contract, self._goal),
            step_message(self._runtime.state_text, observation, correcting),
        )
        request = Request(messages, schema=self._schema, sampling=self._sampling)
        outcome = self._model.generate([request])[0]
        if isinstance(outcome, ModelError):
            raise outcome
        self.usage += outcome.usage
        return outcome.text

    def _act(self, tool: Tool, action: Mapping[str, JSON]) -> bool:
        """Carry the pending action out; whether the tool took it. The observation says what came of it."""
        try:
            arguments = tool.read_arguments(action["arguments"])
            if self._file is not None:
                self._file.call(self._number, action)
        except BaseException:
            self._runtime.discard()
            raise
        try:
            result = tool.call(arguments)
        except Refusal as refusal:
            self._observation = self._shown(f"{tool.name} refused the call: {_message(refusal)}")
            self._conclude(accepted=False, reason=self._observation, following=self._observation)
            return False
        except BaseException as error:
            self._runtime.discard()
            self._tell_failed(action, error)
            raise
        self._observation = f"The call {_call_text(action)} was carried out; its result was lost."
        try:
            self._observation = self._shown(readable(result))
        finally:  # an interruption does not undo what the tool has done
            self._conclude(accepted=True, following=self._observation)
        return True

    def _tell_failed(self, action: Mapping[str, JSON], error: BaseException) -> None:
        """The journal's line on a tool that raised. The exception reaches the caller in any case."""
        reason = f"{type(error).__name__}: {_message(error)}"
        self._observation = self._shown(f"The call {_call_text(action)} failed ({reason}). {_UNKNOWN}")
        try:
            self._write("raised", None, self._observation)
        except StorageError as unwritten:
            error.add_note(str(unwritten))

    def _shown(self, text: str) -> str:
        return cut_middle(spelled_out(text), self._max_observation)

    def _conclude(
        self, *, accepted: bool, reason: str = "", following: str | None = None, finished: bool = False
    ) -> None:
        entry = self._runtime.settle(
            step=self._number, accepted=accepted, reason=reason, observation=self._asked
        )
        if entry is not None:
            self._write("accepted" if accepted else "refused", entry, following, finished=finished)

    def _write(
        self,
        outcome: Outcome,
        entry: JournalEntry | None,
        following: str | None,
        *,
        finished: bool = False,
    ) -> None:
        failures = self._runtime.failures[self._journalled_failures :]
        self._journalled_failures += len(failures)
        if self._file is not None:
            self._file.outcome(
                self._number, outcome, entry, failures, observation=following, finished=finished
            )

    def _take_up(self, file: JournalFile) -> None:
        restored = file.restored
        self._runtime.restore(restored.journal, restored.failures)
        self._journalled_failures = len(restored.failures)
        self._number, self._started_at = restored.step, restored.started_at
        self._goal, self._running = restored.goal, restored.running
        self._observation = BEGINNING if restored.observation is None else restored.observation
        if restored.pending is not None:
            self._observation = self._shown(
                f"The call {_call_text(restored.pending)} was interrupted. {_UNKNOWN}"
            )
            self._write("unknown", None, self._observation)


def _call_text(action: JSON) -> str:
    return json.dumps(action, ensure_ascii=False)


def _message(error: BaseException) -> str:
    """What an exception says in one line; its own code may fail, too."""
    try:
        return " ".join(str(error).split()) or "no reason given"
    except Exception:  # noqa: BLE001 - its own code may raise anything
        return "its message cannot be shown"
