"""The structured-state runtime: propose, then commit or discard; with its journal and its counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.state.action import ActionGrammar, TextActions
from perdure.state.contract import MEMORY, answer_form, contract
from perdure.state.guards import Guards
from perdure.state.journal import JournalEntry, PatchJournal, state_hash
from perdure.state.patch import PatchLimits, PatchMode, PatchPipeline, Proposal, compact
from perdure.state.reply_schema import reply_schema
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import Failure, FailureClass, PatchRejected, count_failures

CommitMode: TypeAlias = Literal["on_accept", "paper"]

TRACE_VERSION = 1


@dataclass(frozen=True)
class FailedReply:
    """A failure and when it happened."""

    step: int
    failure: Failure

    def encode(self) -> dict[str, JSON]:
        """As JSON."""
        failure = self.failure
        return {
            "step": self.step,
            "class": failure.kind.value,
            "code": failure.code,
            "message": failure.message,
        }


class StateRuntime:
    """One state and its changes, step by step.

    `schema` is whatever `StateSchema` reads. `commit`: `on_accept` changes the state only when the action was
    accepted, `paper` always (SKILL.state, algorithm 1: the state changes before the action is carried out).
    `reasoning`: answers have room for thoughts, which are dropped, as their first key. `memory`: what the
    prompt says of what is kept beside the state. A rejected patch leaves the state byte-identical. Raises
    ConfigError.
    """

    def __init__(
        self,
        schema: Any,
        *,
        patch_mode: PatchMode = "merge",
        commit: CommitMode = "on_accept",
        actions: ActionGrammar | None = None,
        guards: Guards | None = None,
        limits: PatchLimits | None = None,
        reasoning: bool = False,
        memory: str = MEMORY,
    ) -> None:
        self.schema = schema if isinstance(schema, StateSchema) else StateSchema(schema)
        if patch_mode not in get_args(PatchMode):
            choices = ", ".join(get_args(PatchMode))
            raise ConfigError(f"patch_mode = {patch_mode!r:.80}; choose one of: {choices}")
        grammar = actions or TextActions()
        self._pipeline = PatchPipeline(
            self.schema, grammar, patch_mode, guards or Guards(), limits or PatchLimits(), reasoning
        )
        self._commit_mode = commit
        self.contract = contract(self.schema, patch_mode, grammar, reasoning=reasoning, memory=memory)
        """What the prompt says about the state and the answer; constant."""
        self.answer_form = answer_form(patch_mode, grammar, reasoning=reasoning)
        """How an answer is written, for a correction."""
        self.reply_schema = reply_schema(self.schema, patch_mode, grammar, reasoning=reasoning)
        """JSON Schema of a reply."""
        self._pending: Proposal | None = None
        self._state_text = ""
        self._hash = ""
        self.restore(PatchJournal(self.schema.initial))

    @property
    def state_text(self) -> str:
        """The state as compact JSON, as the prompt shows it."""
        return self._state_text

    @property
    def hash(self) -> str:
        """Digest of the state."""
        return self._hash

    @property
    def state(self) -> Mapping[str, JSON]:
        """The state. Change it through patches only."""
        return self._state

    @property
    def failures(self) -> Sequence[FailedReply]:
        """Every failure so far, refusals by the environment included (`semantic`)."""
        return tuple(self._failures)

    def restore(self, journal: PatchJournal, failures: Sequence[FailedReply] = ()) -> None:
        """Start from a journal: its last state, with every entry kept."""
        self.journal = journal
        self._failures = list(failures)
        self._pending = None
        self._set_state(journal.last_state())

    def propose(
        self, reply: str, *, step: int, observation: str, base_hash: str | None = None
    ) -> Proposal | Failure:
        """Validate a reply. A proposal waits for `settle`; a failure is counted and changes nothing.

        `observation` is what the model had seen (deletions must be named there or in the action). `base_hash`
        is the hash of the state that the reply was written for: another one now is a failure.
        """
        self._pending = None
        try:
            if base_hash is not None and base_hash != self._hash:
                raise PatchRejected(
                    FailureClass.OVERWRITE,
                    "base_hash",
                    f"The patch was made for the state {base_hash}; it is {self._hash} now.",
                )
            self._pending = self._pipeline.propose(self._state, reply, observation)
        except PatchRejected as error:
            self._failures.append(FailedReply(step, error.failure))
            return error.failure
        return self._pending

    def read_action(self, reply: str) -> JSON:
        """The action of a reply, or None where there is none to read; changes nothing."""
        return self._pipeline.read_action(reply)

    def settle(
        self, *, step: int, accepted: bool, reason: str = "", observation: str | None = None
    ) -> JournalEntry | None:
        """The action of the pending proposal was carried out, or refused with a reason: commit or discard.

        Returns the journal's new entry, or None when nothing was pending. `observation` is kept in the entry.
        """
        proposal, self._pending = self._pending, None
        if proposal is None:
            return None
        committed = accepted or self._commit_mode == "paper"
        if committed and proposal.changes:
            self._set_state(proposal.state, proposal.state_text)
        if not accepted:
            refused = PatchRejected(
                FailureClass.SEMANTIC, "refused_action", reason or "The action was refused."
            )
            self._failures.append(FailedReply(step, refused.failure))
        entry = JournalEntry(
            step,
            proposal.patch,
            proposal.action,
            accepted,
            committed,
            proposal.changes,
            self._hash,
            proposal.coercions,
            proposal.tolerances,
            observation,
        )
        self.journal.append(entry)
        return entry

    def discard(self) -> None:
        """Drop the pending proposal: its action was not taken."""
        self._pending = None

    def trace(self) -> dict[str, JSON]:
        """Everything that happened, as JSON; `PatchJournal.from_trace` reads it back."""
        return {
            "v": TRACE_VERSION,
            "patch_mode": self._pipeline.mode,
            "commit": self._commit_mode,
            "initial": self.journal.initial,
            "patches": [entry.encode() for entry in self.journal.entries],
            "state_updates": sum(bool(entry.committed and entry.changes) for entry in self.journal.entries),
            "failures": [failed.encode() for failed in self._failures],
            "counts": count_failures(failed.failure.kind for failed in self._failures),
        }

    def _set_state(self, state: dict[str, JSON], text: str | None = None) -> None:
        self._state = state
        self._state_text = compact(state) if text is None else text
        self._hash = state_hash(state)
