"""What can be believed about the repository from its own texts, and the best action under that belief.

Results name what was done to what, so they can be read without the action that they answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from perdure.core.types import JSON
from perdure.environments.repository.actions import VERBS, WAIT, RepositoryAction
from perdure.environments.repository.events import Event, Kind, right_action
from perdure.environments.repository.parameters import Verbs
from perdure.environments.repository.store import (
    MAIN,
    ROOT,
    Check,
    Commit,
    Pull,
    Release,
    Repository,
    read_state,
)

_REQUESTS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Event]], ...] = (
    (
        re.compile(r"(issue_\d+) needs (file_\d+) on (topic_\d+)\."),
        lambda m: Event(Kind.ISSUE, m[1], m[3], m[2]),
    ),
    (re.compile(r"(topic_\d+) is ready for review"), lambda m: Event(Kind.READY, m[1])),
    (re.compile(r"CI failed on (pr_\d+|main)"), lambda m: Event(Kind.CI_REPORT, m[1], failed=True)),
    (re.compile(r"CI passed on (pr_\d+|main)"), lambda m: Event(Kind.CI_REPORT, m[1])),
    (re.compile(r"(pr_\d+) was approved"), lambda m: Event(Kind.APPROVED, m[1])),
    (re.compile(r"the merge window is open"), lambda m: Event(Kind.WINDOW)),
    (re.compile(r"backport (issue_\d+) to (line_\d+)"), lambda m: Event(Kind.BACKPORT, m[1], m[2])),
    (re.compile(r"cut release (v_\d+)"), lambda m: Event(Kind.CUT, m[1])),
    (re.compile(r"(v_\d+) is broken in production"), lambda m: Event(Kind.BROKEN, m[1])),
)

_COMMITTED = re.compile(r"(c_\w+) made on (\w+) with (file_\d+) for (issue_\d+)")
_FIXED = re.compile(r"(c_\w+) made on (\w+) as a fix(?: in place of c_\w+)?(, tests passed)?")
_RETIRED = re.compile(r"(issue_\d+) is out of support")
_OPENED = re.compile(r"(pr_\d+) opened for (\w+)")
_MERGED = re.compile(r"(pr_\d+) merged as (c_\w+)")
_TESTED = re.compile(r"tests (passed|failed) on (\w+)")
_RELEASED = re.compile(r"(v_\d+) released from (c_\w+)")
_FORCED = re.compile(r"(\w+) was force-pushed, (c_\w+) replaces")
_FLAKY = re.compile(r"the result of (pr_\d+) is in truth (passed|failed)")
_PLACE = re.compile(r"[0-9]{1,6}")
_CLOSED = re.compile(r"(pr_\d+) was closed by")


class Belief:
    """A repository as far as it was told, read in order."""

    def __init__(self, verbs: Verbs = "union") -> None:
        self.repository = Repository({MAIN: ROOT})
        self._verbs = verbs
        self._request = Event(Kind.CHATTER)

    def read_state(self, state: Mapping[str, JSON]) -> None:
        """A structured state takes the place of everything known so far."""
        self.repository = read_state(state)
        self.repository.branches.setdefault(MAIN, ROOT)

    def read_result(self, text: str) -> None:
        """The result of the last action; refusals tell nothing."""
        if text.startswith("accepted"):
            self._learn(text)

    def read_event(self, text: str) -> None:
        """The next event, and what it tells about the repository."""
        self._request = next(
            (make(match) for pattern, make in _REQUESTS if (match := pattern.search(text))),
            Event(Kind.CHATTER),
        )
        self._learn(text)
        self._heed(self._request)

    def decide(self) -> RepositoryAction:
        """The best answer to the present event; an approval of an unknown request is worth a try at Merge."""
        action = right_action(self._request, self.repository, self._verbs)
        subject = self._request.subject
        if action is None and self._request.kind is Kind.APPROVED and subject not in self.repository.prs:
            return RepositoryAction("Merge", subject)
        return action or WAIT

    def _heed(self, request: Event) -> None:
        """What a request itself changes: results, approvals, broken releases."""
        repository = self.repository
        pull = repository.prs.get(request.subject)
        if request.kind is Kind.CI_REPORT and (branch := repository.tested_by(request.subject)) is not None:
            repository.tested(branch, not request.failed)
        if pull is not None and request.kind is Kind.APPROVED:
            repository.approve(request.subject)
        if request.kind is Kind.BROKEN:
            for release in repository.releases:
                release.good = release.good and release.tag != request.subject

    def _learn(self, text: str) -> None:
        """Facts that results, developers' events and alerts tell in the same words."""
        repository = self.repository
        if found := _COMMITTED.search(text):
            main = repository.head(MAIN)
            repository.add_commit(found[2], found[1], file=found[3], issue=found[4], begins_at=main)
        elif found := _FIXED.search(text):
            repository.add_fix(found[2], found[1])
            if found[3]:
                repository.tested(found[2], True)
        elif found := _OPENED.search(text):
            repository.prs[found[1]] = Pull(found[2])
        elif found := _MERGED.search(text):
            repository.prs.setdefault(found[1], Pull())
            repository.merge(found[1], found[2], keep_issue="CherryPick" in VERBS[self._verbs])
        elif found := _TESTED.search(text):
            repository.tested(found[2], found[1] == "passed")
        elif found := _RELEASED.search(text):
            repository.release(found[1], found[2])
        elif found := _RETIRED.search(text):
            repository.retire(found[1])
        else:
            self._learn_alert(text)

    def _learn_alert(self, text: str) -> None:
        repository = self.repository
        if found := _FORCED.search(text):
            repository.rewrite(found[1], found[2])
        elif (found := _FLAKY.search(text)) and found[1] in repository.prs:
            repository.tested(repository.prs[found[1]].branch, found[2] == "passed")
        elif (found := _CLOSED.search(text)) and found[1] in repository.prs:
            repository.prs[found[1]].state = "closed"


def summarise(repository: Repository) -> str:
    """A repository in prose, one line a topic, that `read_summary` reads back as far as it was not cut."""
    branches = ", ".join(f"{name} {head}" for name, head in repository.branches.items())
    lines = [f"Summary of branches: {branches}."]
    for topic, facts in _facts(repository).items():
        if facts:
            lines.append(f"Summary of {topic}: {', '.join(facts)}.")
    return "\n".join(lines)


def _facts(repository: Repository) -> dict[str, list[str]]:
    return {
        "pull requests": [
            f"{name} {pull.branch or '-'} {pull.state} {pull.approved}"
            for name, pull in repository.prs.items()
        ],
        "tests": [
            f"{branch} {check.status} {check.tested_head or '-'} {check.tested_base or '-'}"
            for branch, check in repository.ci.items()
        ],
        "releases": [
            f"{release.tag} {release.commit} {'good' if release.good else 'broken'}"
            for release in repository.releases
        ],
        "commits": [
            f"{name} {commit.issue or '-'} {commit.file or '-'} {commit.parent or '-'}"
            for name, commit in repository.commits.items()
        ],
    }


def read_summary(repository: Repository, topic: str, text: str) -> None:
    """Take over one line of a summary."""
    for fact in text.rstrip(".").split(", "):
        words = ["" if word == "-" else word for word in fact.split()]
        match topic, words:
            case "branches", [name, head]:
                repository.branches[name] = head
            case "pull requests", [name, branch, "open" | "closed" as state, approved]:
                place = int(approved) if _PLACE.fullmatch(approved) else 0
                repository.prs[name] = Pull(branch, MAIN, state, place)
            case "tests", [branch, "passed" | "failed" as status, head, base]:
                repository.ci[branch] = Check(status, head, base)
            case "releases", [tag, commit, "good" | "broken" as worth]:
                repository.releases.append(Release(tag, commit, worth == "good"))
            case "commits", [name, issue, file, parent]:
                repository.commits[name] = Commit(parent, file, issue)
                if issue:
                    repository.made_for[issue] = name
            case _:
                pass
