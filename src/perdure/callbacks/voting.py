"""Majority votes over normalised actions (self-consistency, Wang et al. 2023)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perdure.core.types import Reply


@dataclass(frozen=True)
class Ballot:
    """Votes of one turn. Voter 0 is the agent's own reply; a reply without a valid action does not vote."""

    replies: tuple[Reply | None, ...]
    """None where no reply could be had."""
    actions: tuple[str | None, ...]
    """Keys by which actions are compared."""

    @property
    def counts(self) -> dict[str, int]:
        """Action → votes, in the order in which actions were first named."""
        return dict(Counter(action for action in self.actions if action is not None))

    @property
    def leaders(self) -> list[str]:
        """The actions with the most votes, in the order in which they were first named."""
        counts = self.counts
        most = max(counts.values(), default=0)
        return [action for action, count in counts.items() if count == most]

    def reply_for(self, action: str) -> Reply:
        """The first whole reply that holds this action. Raises ValueError for an action nobody named."""
        reply = self.replies[self.actions.index(action)]
        if reply is None:
            raise ValueError(f"no reply holds {action!r}")
        return reply


def cast(replies: Sequence[Reply | None], read: Callable[[Reply], str | None]) -> Ballot:
    """Read every reply's action."""
    actions = tuple(None if reply is None else read(reply) for reply in replies)
    return Ballot(tuple(replies), actions)


def break_tie_as_original(ballot: Ballot) -> str:
    """The original's rule for several leaders: drop the agent's own action; of the rest, the first named."""
    leaders = ballot.leaders
    others = [action for action in leaders if action != ballot.actions[0]]
    return (others or leaders)[0]
