"""Drifts in a script: getting a pull request that can drift, the silence, the alert and the probes."""

from __future__ import annotations

from random import Random

from perdure.environments.repository.candidates import CHATTER, Draft
from perdure.environments.repository.events import Event, Kind


def drifting_pull(draft: Draft) -> str | None:
    """The first open, approved pull request with fresh passing tests; None where there is none yet."""
    repository = draft.world.repository
    ripe = (n for n, pull in draft.open_pulls() if n not in draft.due and repository.is_fresh(pull.branch))
    return next(ripe, None)


def lead_event(draft: Draft, draw: Random) -> Event:
    """The shortest way to such a pull request, from what there is."""
    if draft.due:
        return draft.report(next(iter(draft.due)))
    if draft.fixes:
        return Event(Kind.FIXED, draft.fixes.pop(0))
    if draft.topics():
        return draft.ready(draft.topics()[0])
    return draft.issue(draw)


def drift_events(draft: Draft, draw: Random) -> Event:
    """The next event from the silent change to the last probe; nothing else happens meanwhile."""
    match draft.agenda.popleft():
        case "silence":
            return Event(Kind.CHATTER, other=draw.choice(CHATTER))
        case "alert":
            return Event(Kind.ALERT)
        case "probe":
            return _probe(draft, draw)


def _probe(draft: Draft, draw: Random) -> Event:
    """Touches the affected pull request: approvals while it is open or lost for good, its issue otherwise."""
    is_open = draft.affected in draft.world.repository.prs
    if draft.parameters.drift == "C" or (draft.parameters.drift == "B" and is_open):
        return Event(Kind.APPROVED, draft.affected, probe=True)
    if draft.parameters.verbs == "appendix":
        return Event(Kind.CHATTER, other=draw.choice(CHATTER))
    return draft.backport(draft.affected_issue, draw, probe=True)
