"""Seeded scripts: the whole course of events of one task, fixed before the agent's first action.

The script is written by playing it: each event is drawn, happens in a world of its own and is answered
rightly there. What that world would ask for next is what the script says, whatever an agent does later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from random import Random

from perdure.core.randomness import keyed_random
from perdure.environments.repository.actions import WAIT
from perdure.environments.repository.candidates import CHATTER, Draft, candidates
from perdure.environments.repository.drift import drift_events, drifting_pull, lead_event
from perdure.environments.repository.events import REMEMBERING, Event, Kind, right_action
from perdure.environments.repository.parameters import LEAD, Parameters
from perdure.environments.repository.scene import change_world, set_aside, take_place


@dataclass(frozen=True)
class Script:
    """What happens in one task, whatever the agent does."""

    events: tuple[Event, ...]
    pull_numbers: dict[str, str]
    """Branch → number of its pull request."""
    change_at: int | None = None
    """Index of the event before which the world changes silently; None without a drift."""
    affected: str = ""
    """Pull request that the drift touches."""
    merges: int = 0
    """Feature requests that are merged when every event is answered rightly."""

    def digest(self) -> str:
        """SHA-256 over everything above: equal scripts, equal digests."""
        lines = [f"{sorted(self.pull_numbers.items())} {self.change_at} {self.affected} {self.merges}"]
        return sha256("\n".join([*lines, *(event.line() for event in self.events)]).encode()).hexdigest()


def write_script(parameters: Parameters, seed: int) -> Script:
    """The script of one generator seed."""
    draft = Draft(parameters, seed)
    events: list[Event] = []
    change_at: int | None = None
    drifts = parameters.drift != "none"
    while len(events) < parameters.horizon:
        t = len(events)
        due = drifts and change_at is None and t >= parameters.drift_step
        if due and (pull := drifting_pull(draft)) is not None:
            change_at = t
            draft.affected = pull
            draft.affected_issue = draft.issue_of[draft.world.repository.prs[pull].branch]
            change_world(draft.world, parameters.drift, draft.affected, t)
            draft.plan_drift()
        events.append(_play(draft, _next_event(draft, t, lead=drifts and change_at is None), t))
    return Script(tuple(events), draft.pull_numbers, change_at, draft.affected, draft.world.merged_well)


def _next_event(draft: Draft, t: int, *, lead: bool) -> Event:
    draw = keyed_random(draft.seed, "events", t)
    if draft.agenda:
        return drift_events(draft, draw)
    if lead and t >= draft.parameters.drift_step - LEAD:
        return lead_event(draft, draw)
    return _draw_event(draft, draw, t)


def _draw_event(draft: Draft, draw: Random, t: int) -> Event:
    due = [number for number, when in draft.due.items() if when <= t]
    if due:
        return draft.report(due[0])
    if issue := draft.to_retire():
        return draft.retire(issue)
    weighted = candidates(draft, draw)
    total = sum(weight for weight, _ in weighted)
    point = draw.random() * total
    for weight, event in weighted:
        point -= weight
        if point < 0:
            return event()
    return Event(Kind.CHATTER, other=draw.choice(CHATTER))


def _play(draft: Draft, event: Event, t: int) -> Event:
    """Let the event happen and be answered rightly in the draft's world; the event with what that showed."""
    verbs = draft.parameters.verbs
    shown, _ = take_place(event, draft.world, t)
    action = right_action(shown, draft.world.repository, verbs)
    solvable = action is not None and action != WAIT
    action = action or WAIT
    blind = action.verb == "RunTests" and event.kind is Kind.CUT
    draft.world.apply(action, t)
    set_aside(draft.world)
    draft.follow(event, shown, action, t)
    return replace(
        event,
        failed=shown.failed,
        actionable=solvable,
        remembers=solvable and event.kind in REMEMBERING and not blind,
    )
