"""Logical events of the repository, and the one right answer to each, given what is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from perdure.environments.repository.actions import WAIT, RepositoryAction, Verb
from perdure.environments.repository.parameters import Verbs
from perdure.environments.repository.store import MAIN, Repository


class Kind(StrEnum):
    """Kinds of events; the value names the kind in metrics."""

    ISSUE = "issue"
    READY = "ready"
    CI_REPORT = "ci_report"
    APPROVED = "approved"
    WINDOW = "window"
    BACKPORT = "backport"
    CUT = "cut"
    BROKEN = "broken"
    CHATTER = "chatter"
    ALERT = "alert"
    PUSHED = "pushed"
    OPENED = "opened"
    FIXED = "fixed"
    RETIRED = "retired"


REMEMBERING = frozenset({Kind.CI_REPORT, Kind.APPROVED, Kind.WINDOW, Kind.BACKPORT, Kind.CUT, Kind.BROKEN})
"""Kinds whose right answer, where it is not Wait, takes a fact that the event does not tell."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `subject` and `other` are the names that its text shows; the rest is never shown."""

    kind: Kind
    subject: str = ""
    """Issue, branch, pull request or tag."""
    other: str = ""
    """Line of a backport, branch of an issue or an opened pull request, chatter."""
    file: str = ""
    failed: bool = False
    """What a CI report says if its pull request does not exist."""
    probe: bool = False
    actionable: bool = False
    """Its right answer is not Wait when everything before was answered rightly; counts in the score."""
    remembers: bool = False
    """Its right answer takes a remembered fact."""

    def line(self) -> str:
        """Canonical text, for hashes of scripts."""
        flags = f"{self.failed:d}{self.probe:d}{self.actionable:d}{self.remembers:d}"
        return f"{self.kind} {self.subject} {self.other} {self.file} {flags}"


def right_action(event: Event, repository: Repository, verbs: Verbs) -> RepositoryAction | None:
    """The one right answer; None where what it needs does not exist, or is not known."""
    match event.kind:
        case Kind.BACKPORT:  # the most frequent kind stands first
            found = repository.made_for.get(event.subject)
            return RepositoryAction("CherryPick", found, event.other) if found else None
        case Kind.ISSUE:
            return RepositoryAction("Commit", event.other, event.file)
        case Kind.READY:
            return RepositoryAction("CreatePR", event.subject)
        case Kind.CI_REPORT if not event.failed or verbs == "main" or event.subject == MAIN:
            return WAIT
        case Kind.CI_REPORT:
            branch = repository.tested_by(event.subject)
            return RepositoryAction("FixCI", branch) if branch is not None else None
        case Kind.APPROVED:
            return _when_approved(event.subject, repository, verbs)
        case Kind.WINDOW:
            return _oldest_fresh(repository)
        case Kind.CUT:
            green = repository.is_fresh(MAIN) and repository.head(MAIN)
            return _release(event.subject, repository) if green else RepositoryAction("RunTests", MAIN)
        case Kind.BROKEN:
            return _previous_good(event.subject, repository)
        case _:
            return WAIT


def _when_approved(number: str, repository: Repository, verbs: Verbs) -> RepositoryAction | None:
    pull = repository.prs.get(number)
    if pull is None or pull.state != "open":
        return None
    if repository.is_fresh(pull.branch):
        return RepositoryAction("Merge", number)
    renew: Verb = "FixCI" if verbs == "appendix" else "RunTests"
    return RepositoryAction(renew, pull.branch)


def _oldest_fresh(repository: Repository) -> RepositoryAction:
    queue = [
        (pull.approved, number)
        for number, pull in repository.prs.items()
        if pull.state == "open" and pull.approved and repository.is_fresh(pull.branch)
    ]
    return RepositoryAction("Merge", min(queue)[1]) if queue else WAIT


def _release(tag: str, repository: Repository) -> RepositoryAction:
    return RepositoryAction("CreateRelease", tag, repository.head(MAIN))


def _previous_good(tag: str, repository: Repository) -> RepositoryAction | None:
    tags = [release.tag for release in repository.releases]
    if tag not in tags:
        return None
    earlier = repository.releases[: tags.index(tag)]
    good = [release.tag for release in earlier if release.good]
    return RepositoryAction("Rollback", good[-1]) if good else None
