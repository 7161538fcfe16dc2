"""What may happen next in a script, and how likely."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Literal, TypeAlias

from perdure.core.randomness import keyed_random
from perdure.environments.repository.actions import RepositoryAction
from perdure.environments.repository.events import Event, Kind
from perdure.environments.repository.parameters import MOST_PROBES, Parameters
from perdure.environments.repository.store import MAIN, Pull
from perdure.environments.repository.world import LINES, World

MOST_TOPICS = 3
"""Branches under way at a time."""
SUPPORTED = 3
"""Issues with a commit that may still be asked for: beyond them the oldest merged one is retired."""

CHATTER = (
    "for your information, the wiki has a new theme.",
    "for your information, somebody renamed the chat channel.",
    "for your information, the style guide is being discussed again.",
    "for your information, the office is closed on Friday.",
    "for your information, a build machine got more memory.",
)

Candidate: TypeAlias = tuple[float, Callable[[], Event]]


class Draft:
    """The script's own world, answered rightly so far, and what is to come."""

    def __init__(self, parameters: Parameters, seed: int) -> None:
        self.parameters = parameters
        self.seed = seed
        self._numbers: dict[str, list[int]] = {}
        self.pull_numbers: dict[str, str] = {}
        self.world = World(seed, parameters.verbs, self.pull_numbers)
        self.due: dict[str, int] = {}
        """Pull request, or main → step of its next CI report."""
        self.fixes: list[str] = []
        """Branches that a developer will mend (where agents have no FixCI)."""
        self.issues: list[str] = []
        """Issues that are not out of support, oldest first."""
        self.issue_of: dict[str, str] = {}
        """Branch → issue."""
        self.branch_of: dict[str, str] = {}
        """Issue → branch."""
        self._backports: dict[str, list[str]] = {}
        self.pending_tag = ""
        self.affected = ""
        """Pull request that the drift touches."""
        self.affected_issue = ""
        self.agenda: deque[Literal["silence", "alert", "probe"]] = deque()
        """What a drift still has to show; nothing else happens meanwhile."""

    def plan_drift(self) -> None:
        """The world has changed silently: what comes next is fixed."""
        self.agenda.extend("silence" for _ in range(self.parameters.gap))
        self.agenda.append("alert")
        self.agenda.extend("probe" for _ in range(self.parameters.probes))

    def name(self, kind: str) -> str:
        """A new name; its number tells nothing, not even beside the names of other kinds."""
        if kind not in self._numbers:
            self._numbers[kind] = list(range(self.parameters.horizon))
            keyed_random(self.seed, "names", kind).shuffle(self._numbers[kind])
        return f"{kind}_{self._numbers[kind].pop()}"

    def issue(self, draw: Random) -> Event:
        """A feature request on a new branch: for the agent, or a developer's push where it has no Commit."""
        branch, issue = self.name("topic"), self.name("issue")
        self.pull_numbers[branch] = self.name("pr")
        self.issues.append(issue)
        self.issue_of[branch], self.branch_of[issue] = issue, branch
        kind = Kind.PUSHED if self.parameters.verbs == "main" else Kind.ISSUE
        return Event(kind, issue, branch, f"file_{draw.randrange(100)}")

    def ready(self, branch: str) -> Event:
        """A branch gets its pull request."""
        if self.parameters.verbs == "main":
            return Event(Kind.OPENED, self.pull_numbers[branch], branch)
        return Event(Kind.READY, branch)

    def report(self, number: str) -> Event:
        """CI tells its result."""
        self.due.pop(number, None)
        return Event(Kind.CI_REPORT, number)

    def backport(self, issue: str, draw: Random, *, probe: bool = False) -> Event:
        """An issue's commit goes to a line that has it not."""
        taken = self._backports.setdefault(issue, [])
        line = draw.choice([line for line in LINES if line not in taken])
        taken.append(line)
        return Event(Kind.BACKPORT, issue, line, probe=probe)

    def backportable(self) -> list[str]:
        """Issues with a commit that few lines have yet."""
        most = len(LINES) - MOST_PROBES
        return [issue for issue in self.issues if len(self._backports.get(issue, ())) < most]

    def to_retire(self) -> str:
        """The oldest merged issue, once there are too many; empty while there are not."""
        repository = self.world.repository
        if len(repository.made_for) <= SUPPORTED:
            return ""
        merged = (issue for issue in self.issues if self.branch_of[issue] not in repository.branches)
        return next(merged, "")

    def retire(self, issue: str) -> Event:
        """An issue is out of support."""
        self.issues.remove(issue)
        self._backports.pop(issue, None)
        return Event(Kind.RETIRED, issue)

    def topics(self) -> list[str]:
        """Branches without a pull request."""
        repository = self.world.repository
        taken = {pull.branch for pull in repository.prs.values()}
        return [name for name in repository.branches if name in self.pull_numbers and name not in taken]

    def open_pulls(self) -> list[tuple[str, Pull]]:
        """Open pull requests, oldest first."""
        return [(n, pull) for n, pull in self.world.repository.prs.items() if pull.state == "open"]

    def follow(self, event: Event, shown: Event, action: RepositoryAction, t: int) -> None:
        """Note what must come of an event and of its right answer."""
        delay = 1 + keyed_random(self.seed, "delay", t).randrange(3)
        repository = self.world.repository
        branch = event.other if event.kind is Kind.OPENED else action.name
        failed_tests = (
            action.verb == "RunTests" and action.name != MAIN and not self.world.passes(action.name)
        )
        if action.verb in ("CreatePR", "FixCI") or event.kind is Kind.OPENED or failed_tests:
            number = repository.open_on(branch)
            if number is not None:
                self.due[number] = t + delay
        if event.kind is Kind.FIXED:
            self.due[self.pull_numbers[event.subject]] = t + delay
        if event.kind is Kind.CI_REPORT and shown.failed and self.parameters.verbs == "main":
            self.fixes.append(repository.prs[event.subject].branch)
        if event.kind is Kind.CUT:
            self.pending_tag = event.subject if action.verb == "RunTests" else ""
        if action.verb == "Merge":
            self.due.pop(action.name, None)
            self.due[MAIN] = t + delay


def candidates(draft: Draft, draw: Random) -> list[Candidate]:
    """Weighted events that make sense now."""
    verbs = draft.parameters.verbs
    # Other merges can mend a branch, so it may be gone before its developer comes to it.
    draft.fixes = [branch for branch in draft.fixes if branch in draft.world.repository.branches]
    found: list[Candidate] = [(0.3, lambda: Event(Kind.CHATTER, other=draw.choice(CHATTER)))]
    topics, pulls = draft.topics(), draft.open_pulls()
    if draft.fixes:
        found.append((4.0, lambda: Event(Kind.FIXED, draft.fixes.pop(0))))
    if len(topics) + len(pulls) < MOST_TOPICS:
        # Rare, because what it asks for can be done without remembering anything.
        has_few = len(draft.world.repository.made_for) < SUPPORTED
        found.append((1.2 if has_few else 0.08, lambda: draft.issue(draw)))
    if topics:
        found.append((1.2, lambda: draft.ready(topics[0])))
    fresh = [number for number, pull in pulls if draft.world.repository.is_fresh(pull.branch)]
    stale = [number for number, _ in pulls if number not in fresh]
    if fresh:
        found.append((0.1, lambda: Event(Kind.APPROVED, draw.choice(fresh))))
    if stale:
        found.append((1.2, lambda: Event(Kind.APPROVED, draw.choice(stale))))
    if any(pull.approved for _, pull in pulls):
        found.append((2.0, lambda: Event(Kind.WINDOW)))
    if verbs != "appendix":
        found += _release_candidates(draft, draw)
    return found


def _release_candidates(draft: Draft, draw: Random) -> list[Candidate]:
    """Backports, releases and rollbacks: what only the main list of verbs can answer."""
    found: list[Candidate] = []
    issues = draft.backportable()
    if issues:
        found.append((0.9, lambda: draft.backport(draw.choice(issues), draw)))
    releases = draft.world.repository.releases
    if draft.pending_tag:
        found.append((3.0, lambda: Event(Kind.CUT, draft.pending_tag)))
    elif not releases or releases[-1].commit != draft.world.repository.head(MAIN):
        found.append((0.25, lambda: Event(Kind.CUT, draft.name("v"))))
    good = [release.tag for release in releases if release.good]
    if len(good) > 1:
        found.append((1.2, lambda: Event(Kind.BROKEN, good[-1])))
    return found
