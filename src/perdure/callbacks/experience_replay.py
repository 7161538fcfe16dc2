"""Shows solved tasks of the same run: LifelongAgentBench's experience replay (section 4)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal

from perdure.callbacks.experience_store import (
    Compat,
    SessionNumbers,
    count_tokens,
    joined,
    show_session,
    within_budget,
)
from perdure.callbacks.similarity import Encoder, make_similarity, most_diverse, most_similar
from perdure.core.callback import Callback, CallbackContext
from perdure.core.types import JSON, EvaluationOutcome, SessionStatus

_HALLUCINATED_TURN = "\nuser: "
"""Where a model that was shown dialogues starts to write the other side too."""


class ExperienceReplay(Callback):
    """Puts `k` solved tasks into the experience channel, oldest first; 0 is the control.

    A task is solved when it is correct and completed. `select`: the newest (`recent`, as the paper), those
    with the nearest goals (`similar`), or near ones that differ from each other (`diverse`); nearness is
    that of `encoder`. `max_tokens` bounds what is shown: the oldest, or the least near, are left out and
    their session numbers recorded as `dropped`. Replies are cut where they invent the user's next turn.
    `compat = "paper"` words and joins experience as the original.
    """

    name = "experience_replay"

    def __init__(
        self,
        *,
        k: int = 4,
        select: Literal["recent", "similar", "diverse"] = "recent",
        encoder: Encoder = "bm25",
        max_tokens: int | None = None,
        compat: Compat = "none",
    ) -> None:
        for key, value in (("k", k), ("max_tokens", max_tokens)):
            if value is not None and value < 0:
                raise ValueError(f"{key} must not be negative, not {value}")
        self._k = k
        self._select = select
        self._max_tokens = max_tokens
        self._compat = compat
        self._solved = SessionNumbers(k if select == "recent" else None)
        self._similarity = make_similarity(encoder) if select != "recent" else None
        self._indexed: list[int] = []
        self._dropped: list[int] = []

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        """Session numbers only; goals are indexed again when they are needed."""
        learned = [delta["solved"] for delta in deltas if delta and "solved" in delta]
        self._solved.restore([*(state or []), *learned])

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        """Show what helps with this goal."""
        self._dropped = []
        if ctx.session.status is not SessionStatus.RUNNING or not self._k:
            return
        chosen = self._choose(ctx)
        shown = {i: show_session(ctx.past_sessions[i], compat=self._compat) for i in chosen}
        if self._max_tokens is not None:
            sizes = [count_tokens(ctx, shown[i]) for i in chosen]
            kept = within_budget(sizes, self._max_tokens)
            chosen, self._dropped = chosen[:kept], sorted(chosen[kept:])
        ctx.session.experience.extend(joined([shown[i] for i in sorted(chosen)], compat=self._compat))

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        """Keep the model from playing the environment."""
        reply = ctx.session.reply
        if self._k and reply is not None and _HALLUCINATED_TURN in reply.text:
            ctx.session.receive(reply.text.partition(_HALLUCINATED_TURN)[0])

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """The session's number if it was solved, and what found no room in its prompt."""
        session = ctx.session
        delta: dict[str, JSON] = {"dropped": self._dropped} if self._dropped else {}
        correct = session.evaluation.outcome is EvaluationOutcome.CORRECT
        if correct and session.status is SessionStatus.COMPLETED:
            self._solved.add(session.index)
            delta["solved"] = session.index
        return delta or None

    def snapshot_state(self) -> JSON:
        """The numbers of the solved sessions."""
        return self._solved.newest()

    def _choose(self, ctx: CallbackContext) -> list[int]:
        """Session numbers, the most worth showing first."""
        if self._similarity is None:
            return self._solved.newest(self._k)[::-1]
        last = self._indexed[-1] if self._indexed else -1
        solved = self._solved.newest()
        for number in solved[bisect_right(solved, last) :]:
            self._similarity.add(ctx.past_sessions[number].goal)
            self._indexed.append(number)
        scores = self._similarity.scores(ctx.session.goal)
        if self._select == "similar":
            positions = most_similar(scores, self._k)
        else:
            positions = most_diverse(scores, self._k, self._similarity.between)
        return [self._indexed[p] for p in positions]


CALLBACK = ExperienceReplay
