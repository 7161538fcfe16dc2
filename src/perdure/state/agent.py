"""A constant-context agent for anybody's program: no experiment, no configuration, no run folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError, ModelError
from perdure.core.model import LanguageModel
from perdure.core.types import JSON, Message, Request, Sampling, Usage
from perdure.state.action import TextActions
from perdure.state.agent_journal import AgentJournal
from perdure.state.agent_options import check_options, check_text, check_whole, only_outcome
from perdure.state.guards import Guards
from perdure.state.journal import PatchJournal
from perdure.state.patch import PatchLimits, PatchMode
from perdure.state.prompt import correction, cut_middle, step_message, system_message
from perdure.state.runtime import StateRuntime
from perdure.state.taxonomy import Failure
from perdure.state.tools import FINISH, ToolCalls

BEGINNING = "The work begins now."
"""The first observation of a run."""

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
    functions; an action is a call of one. A tool refuses by raising one of `refusals`: the agent sees the
    error, and the patch that came with the call is not committed. Other exceptions of a tool reach the
    caller. Without tools an action is a text that the caller carries out.

    `retries`: how often an unusable reply is asked for again within a step. `constrained`: send the JSON
    Schema of a reply to models that can be held to one. `guards`, `limits`: what a patch may lose, and
    sizes. `max_observation`: characters of a tool's result that are shown; the middle of a longer one is
    cut. `journal`: a file that is appended to at every step. An agent that is built again with it goes on
    where the last one stopped, also after `kill -9`. A call that was under way is not repeated: the agent
    is told that its outcome is unknown.

    Raises ConfigError, and ModelError or ModelUnavailable when the model cannot answer; UsageError when it
    returns anything but one outcome a request.
    """

    def __init__(
        self,
        *,
        model: LanguageModel,
        instructions: str,
        state: Any,
        tools: Sequence[Callable[..., Any]] = (),
        patch_mode: PatchMode = "merge",
        retries: int = 2,
        constrained: bool = True,
        guards: Guards | None = None,
        limits: PatchLimits | None = None,
        refusals: tuple[type[Exception], ...] = (ValueError, LookupError),
        max_observation: int = 8_000,
        sampling: Sampling | None = None,
        journal: str | Path | None = None,
    ) -> None:
        check_options(
            model=model,
            instructions=instructions,
            tools=tools,
            retries=retries,
            guards=guards,
            limits=limits,
            refusals=refusals,
            max_observation=max_observation,
            sampling=sampling,
            journal=journal,
        )
        self._model = model
        self._tools = ToolCalls(tools) if tools else None
        self._runtime = StateRuntime(
            state, patch_mode=patch_mode, actions=self._tools or TextActions(), guards=guards, limits=limits
        )
        described = self._tools.describe() if self._tools is not None else ""
        self._instructions = "\n\n".join(part for part in (instructions, described) if part)
        self._schema = self._runtime.reply_schema if constrained else None
        self._retries = retries
        self._refusals = refusals
        self._max_observation = max_observation
        self._sampling = sampling or Sampling()
        self._goal = ""
        self._started_at = self._number = self._journalled_failures = 0
        self._running = False
        self._observation = BEGINNING
        self._asked = ""
        self.usage = Usage()
        """Tokens of every call so far in this process."""
        self._file = AgentJournal(Path(journal), self._runtime.schema) if journal is not None else None
        if self._file is not None:
            self._take_up(self._file)

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
        if not self._running or goal != self._goal:
            self._begin(goal, observation)
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
        self._settle(accepted=accepted, reason=observation, following=observation)
        self._number += 1
        action, failures = self._decide(observation)
        if action is None:
            self._observation = observation.removesuffix(_NO_ACTION) + _NO_ACTION
            self._write(None, self._observation, finished=False)
            return AgentStep(self._number, None, accepted=False, failures=failures)
        if self._tools is None:
            return AgentStep(self._number, action, failures=failures)
        if action["tool"] == FINISH:
            self._settle(accepted=True, finished=True)
            return AgentStep(
                self._number,
                action,
                finished=True,
                answer=action["arguments"].get("answer", ""),
                failures=failures,
            )
        result, taken = self._act(action)
        self._observation = result
        self._settle(accepted=taken, reason=result, following=result)
        return AgentStep(self._number, action, result, taken, failures=failures)

    def close(self) -> None:
        """Close the journal. Idempotent."""
        if self._file is not None:
            self._file.close()

    def _begin(self, goal: str, observation: str) -> None:
        self._goal, self._running, self._observation = goal, True, observation
        self._started_at = self._number
        if self._file is not None:
            self._file.start(goal, self._number, observation)

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
            correcting = correction(reply, proposal.message)
        return None, tuple(failures)

    def _ask(self, observation: str, correcting: str) -> str:
        messages: tuple[Message, ...] = (
            system_message(self._instructions, self._runtime.contract, self._goal),
            step_message(self._runtime.state_text, observation, correcting),
        )
        request = Request(messages, schema=self._schema, sampling=self._sampling)
        outcome = only_outcome(self._model.generate([request]), self._model)
        if isinstance(outcome, ModelError):
            raise outcome
        self.usage += outcome.usage
        return outcome.text

    def _act(self, action: Mapping[str, JSON]) -> tuple[str, bool]:
        assert self._tools is not None
        tool = self._tools.tools[action["tool"]]
        arguments = tool.read_arguments(action["arguments"])
        if self._file is not None:
            self._file.intend(self._number, action)
        try:
            result, taken = _as_text(tool.function(**arguments)), True
        except self._refusals as error:
            result, taken = f"Error in {tool.name}: {type(error).__name__}: {error}", False
        except BaseException:
            self._runtime.discard()
            raise
        return cut_middle(result, self._max_observation), taken

    def _settle(
        self, *, accepted: bool, reason: str = "", following: str | None = None, finished: bool = False
    ) -> None:
        entry = self._runtime.settle(
            step=self._number, accepted=accepted, reason=reason, observation=self._asked
        )
        if entry is not None:
            self._write(entry, following, finished=finished)

    def _write(self, entry: Any, following: str | None, *, finished: bool) -> None:
        failures = self._runtime.failures[self._journalled_failures :]
        self._journalled_failures += len(failures)
        if self._file is not None:
            self._file.settle(self._number, entry, failures, observation=following, finished=finished)

    def _take_up(self, file: AgentJournal) -> None:
        restored = file.restored
        self._runtime.restore(restored.journal, restored.failures)
        self._journalled_failures = len(restored.failures)
        self._number, self._started_at = restored.step, restored.started_at
        self._goal, self._running = restored.goal, restored.running
        self._observation = BEGINNING if restored.observation is None else restored.observation
        if restored.pending is not None:
            call = json.dumps(restored.pending, ensure_ascii=False)
            self._observation = f"The call {call} was interrupted; whether it took effect is unknown."
            self._write(None, self._observation, finished=False)


def _as_text(result: Any) -> str:
    """A tool's result as the agent sees it: a text as it is, anything else as JSON."""
    if isinstance(result, str):
        return result
    from pydantic_core import to_json

    return to_json(result).decode()
