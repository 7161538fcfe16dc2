"""Votes of several groups of experiences: LifelongAgentBench's group self-consistency (section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.callbacks.experience_store import Compat, SessionNumbers, joined, show_session
from perdure.callbacks.voting import Ballot, break_tie_as_original, cast
from perdure.core.agent import ModelAgent
from perdure.core.callback import Callback, CallbackContext, label_of
from perdure.core.errors import ConfigError, ModelError
from perdure.core.model import Outcome
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, EvaluationOutcome, Message, Request, SessionStatus

QUESTION = """\
{last}

These next actions were proposed:
{listed}
Reply with the number of the best one only."""

HALVE_AFTER = 5
"""So many votes in a row that needed a smaller batch make the smaller batch the rule."""


class GroupSelfConsistency(Callback):
    """Asks the agent's model once more for each group of solved tasks, and adopts the action most voted for.

    The newest `groups` x `group_size` correct sessions (all, with `groups = 0`) are shared out in groups;
    each prompt is what the strategy renders with that group as further experience. Voters are the agent's own
    reply and one for each group; they vote by the environment's `read_action`. The winner's first whole reply
    is adopted, so that a strategy's state follows it. Several leaders: the model is asked which of them is
    right, and where it does not say, the agent's own action stays if it leads, else the first leader wins;
    `compat = "paper"` applies the original's rule instead (`break_tie_as_original`) and its wording.

    `batch` prompts are generated at once; an out-of-memory halves it and starts the vote again, five votes
    in a row with a smaller batch halve it for good. Other model errors do not vote. `model` is the voters'
    model, the agent's by default. Votes are recorded in the session's delta.
    """

    name = "group_self_consistency"

    def __init__(
        self,
        *,
        groups: int = 4,
        group_size: int = 4,
        batch: int = 4,
        model: ModelHandle | None = None,
        compat: Compat = "none",
    ) -> None:
        if groups < 0 or group_size < 1 or batch < 1:
            raise ValueError("group_size and batch must be at least 1, groups at least 0")
        self._size = group_size
        self._solved = SessionNumbers(groups * group_size or None)
        self._batch, self._smaller_in_a_row = batch, 0
        self._batch_before = (self._batch, 0)
        self._model = model
        self._compat = compat
        self._groups: list[list[str]] = []
        self._log: list[JSON] = []

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        """Session numbers and the batch size; votes stay in the sessions' records."""
        if state:
            self._solved.restore(state["solved"])
            self._batch, self._smaller_in_a_row = state["batch"]
        for delta in deltas:
            if delta and "solved" in delta:
                self._solved.add(delta["solved"])
            if delta and "batch" in delta:
                self._batch, self._smaller_in_a_row = delta["batch"]

    def on_session_create(self, ctx: CallbackContext) -> None:
        """Share the solved tasks out. Raises ConfigError for an agent without a model."""
        if not isinstance(ctx.agent, ModelAgent):
            raise ConfigError(f'{self.name} asks the agent\'s model again: it needs agent.kind = "model"')
        self._log = []
        self._batch_before = (self._batch, self._smaller_in_a_row)
        texts = [show_session(ctx.past_sessions[i], compat=self._compat) for i in self._solved.newest()]
        chunks = [texts[i : i + self._size] for i in range(0, len(texts), self._size)]
        self._groups = [joined(chunk, compat=self._compat) for chunk in chunks]

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        """Vote, and adopt the winner."""
        own = ctx.session.reply
        if own is None or not self._groups or not isinstance(ctx.agent, ModelAgent):
            return
        requests = [ctx.agent.request(ctx.view(group)) for group in self._groups]
        model = self._voters(ctx.agent)
        outcomes = self._generate(model, requests)
        replies = [None if isinstance(outcome, ModelError) else outcome for outcome in outcomes]
        ballot = cast([own, *replies], ctx.read_action)
        winner = self._winner(ctx, ballot, model)
        self._log.append({"turn": ctx.session.turns, "votes": ballot.counts, "winner": winner})
        if winner is not None and winner != ballot.actions[0]:
            ctx.session.receive(ballot.reply_for(winner))

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """The votes, the session's number if it was correct, and the batch size if that changed."""
        delta: dict[str, JSON] = {"votes": self._log} if self._log else {}
        if ctx.session.evaluation.outcome is EvaluationOutcome.CORRECT:
            self._solved.add(ctx.session.index)
            delta["solved"] = ctx.session.index
        if (self._batch, self._smaller_in_a_row) != self._batch_before:
            delta["batch"] = [self._batch, self._smaller_in_a_row]
        return delta or None

    def snapshot_state(self) -> JSON:
        """The numbers of the solved sessions, and the batch size."""
        return {"solved": self._solved.newest(), "batch": [self._batch, self._smaller_in_a_row]}

    def _voters(self, agent: ModelAgent) -> ModelHandle:
        """The voters' model: its prompts are the agent's, and counted with them under this method's name."""
        return (self._model or agent.model).under(f"agent:{label_of(self)}")

    def _generate(self, model: ModelHandle, requests: Sequence[Request]) -> list[Outcome]:
        """One outcome a request, in batches that fit; what is too large alone stays an error."""
        size = min(self._batch, len(requests))
        halved = False
        while True:
            outcomes: list[Outcome] = []
            for start in range(0, len(requests), size):
                outcomes += model.generate(requests[start : start + size])
                if size > 1 and any(map(_out_of_memory, outcomes)):
                    break
            if len(outcomes) == len(requests) and (size == 1 or not any(map(_out_of_memory, outcomes))):
                break
            size, halved = size // 2, True
        self._smaller_in_a_row = self._smaller_in_a_row + 1 if halved else 0
        if self._smaller_in_a_row >= HALVE_AFTER:
            self._batch, self._smaller_in_a_row = max(1, self._batch // 2), 0
        return outcomes

    def _winner(self, ctx: CallbackContext, ballot: Ballot, model: ModelHandle) -> str | None:
        leaders = ballot.leaders
        if len(leaders) < 2:
            return leaders[0] if leaders else None
        if self._compat == "paper":
            return break_tie_as_original(ballot)
        chosen = self._asked(ctx, leaders, model)
        if chosen is not None:
            return chosen
        return ballot.actions[0] if ballot.actions[0] in leaders else leaders[0]

    def _asked(self, ctx: CallbackContext, leaders: Sequence[str], model: ModelHandle) -> str | None:
        """The leader whose number the model gives, if it gives one."""
        if not isinstance(ctx.agent, ModelAgent):
            return None
        request = ctx.agent.request(ctx.view())
        *before, last = request.messages
        listed = "\n".join(f"{number}. {action}" for number, action in enumerate(leaders, 1))
        question = QUESTION.format(last=last.text, listed=listed)
        messages = (*before, Message(last.role, question))
        outcome = model.generate([Request(messages, sampling=request.sampling)])[0]
        if isinstance(outcome, ModelError):
            return None
        digits = outcome.text.strip().rstrip(".")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else 0
        return leaders[number - 1] if 1 <= number <= len(leaders) else None


def _out_of_memory(outcome: Outcome) -> bool:
    return isinstance(outcome, ModelError) and outcome.status is SessionStatus.AGENT_OUT_OF_MEMORY


CALLBACK = GroupSelfConsistency
