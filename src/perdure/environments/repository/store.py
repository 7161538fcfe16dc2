"""The data of a repository and what keeps it whole: used by the world, and by beliefs about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias

from perdure.core.types import JSON

ROOT = "c_0"
MAIN = "main"

CheckStatus: TypeAlias = Literal["passed", "failed"]
PullState: TypeAlias = Literal["open", "closed"]

MOST_RELEASES = 4
"""Releases that are kept; older ones are too old to go back to."""


@dataclass
class Commit:
    """A commit of a topic branch; `file` and `issue` are empty for fixes."""

    parent: str = ""
    file: str = ""
    issue: str = ""


@dataclass
class Pull:
    """A pull request; `approved` is its place in the order of approvals, 0 before it has one."""

    branch: str = ""
    base: str = MAIN
    state: PullState = "open"
    approved: int = 0


@dataclass
class Check:
    """The last test result of a branch, and what was tested."""

    status: CheckStatus = "failed"
    tested_head: str = ""
    tested_base: str = ""


@dataclass
class Release:
    """A release; `good` until it turns out to be broken."""

    tag: str = ""
    commit: str = ""
    good: bool = True


@dataclass
class Repository:
    """What lives: main and the topic branches, their commits, requests and checks, the last releases.

    What nobody can ask for any more is gone, so its size is bounded however long a task lasts: a merge takes
    its branch, request, check and fix along, a fix the fix before it, and an issue that is out of support its
    commit. Unknown ids are empty texts.
    """

    branches: dict[str, str] = field(default_factory=dict)
    """Branch → head."""
    commits: dict[str, Commit] = field(default_factory=dict)
    """Those of topic branches, and of merged ones those that may still be backported."""
    prs: dict[str, Pull] = field(default_factory=dict)
    ci: dict[str, Check] = field(default_factory=dict)
    """Branch → last result."""
    releases: list[Release] = field(default_factory=list)
    """Oldest first."""
    made_for: dict[str, str] = field(default_factory=dict, repr=False)
    """Issue → its commit: an index of `commits`, no part of the state."""

    def __post_init__(self) -> None:
        self.made_for.update((commit.issue, name) for name, commit in self.commits.items() if commit.issue)

    def head(self, branch: str) -> str:
        """Head of a branch, empty where it is not known."""
        return self.branches.get(branch, "")

    def add_commit(
        self, branch: str, commit: str, *, file: str = "", issue: str = "", begins_at: str = ""
    ) -> None:
        """A commit on a branch; `begins_at` is the parent if the branch is new."""
        self.commits[commit] = Commit(self.branches.get(branch, begins_at), file, issue)
        self.branches[branch] = commit
        if issue:
            self.made_for[issue] = commit

    def add_fix(self, branch: str, commit: str) -> str:
        """A fix on a branch, in place of the fix before it, whose id is returned; empty without one."""
        head = self.head(branch)
        replaced = head if head in self.commits and not self.commits[head].issue else ""
        self.commits[commit] = Commit(self.commits.pop(replaced).parent if replaced else head)
        self.branches[branch] = commit
        return replaced

    def merge(self, number: str, commit: str, *, keep_issue: bool) -> list[str]:
        """A pull request enters main and is gone with its branch; ids of the commits that go with it.

        `keep_issue`: the commit that was made for the issue stays, for backports.
        """
        branch = self.prs.pop(number).branch
        gone = []
        head = self.branches.pop(branch, "")
        while head in self.commits and not (keep_issue and self.commits[head].issue):
            gone.append(head)
            head = self._drop(head)
        self.ci.pop(branch, None)
        self.branches[MAIN] = commit
        return gone

    def retire(self, issue: str) -> str:
        """An issue is out of support: the commit that is dropped, empty where its branch still needs it."""
        commit = self.made_for.get(issue, "")
        if not commit or any(self._leads_to(head, commit) for head in self.branches.values()):
            return ""
        self._drop(commit)
        return commit

    def release(self, tag: str, commit: str) -> None:
        """A release; the oldest is forgotten when there are too many."""
        self.releases.append(Release(tag, commit))
        del self.releases[:-MOST_RELEASES]

    def approve(self, number: str) -> None:
        """An approval of an open pull request; a second one changes nothing."""
        if self.prs[number].state == "open" and not self.prs[number].approved:
            self.prs[number].approved = 1 + max(pull.approved for pull in self.prs.values())

    def tested(self, branch: str, passed: bool) -> None:
        """A test result of the branch as it is now, on main as it is now."""
        self.ci[branch] = Check("passed" if passed else "failed", self.head(branch), self.head(MAIN))

    def rewrite(self, branch: str, commit: str) -> list[str]:
        """A force-push: one commit takes the place of the issue's and of all fixes, which are returned."""
        old = self.head(branch)
        gone = [old]
        while old in self.commits and not self.commits[old].issue:
            old = self.commits.pop(old).parent
            gone.append(old)
        replaced = self.commits.pop(old, Commit())
        self.commits[commit] = replaced
        if replaced.issue:
            self.made_for[replaced.issue] = commit
        self.branches[branch] = commit
        return gone

    def _leads_to(self, head: str, commit: str) -> bool:
        """Whether a commit is a head, or what its fix was made on."""
        return commit in (head, self.commits[head].parent if head in self.commits else "")

    def _drop(self, commit: str) -> str:
        """Forget a commit; its parent."""
        dropped = self.commits.pop(commit)
        if self.made_for.get(dropped.issue) == commit:
            del self.made_for[dropped.issue]
        return dropped.parent

    def is_fresh(self, branch: str) -> bool:
        """The last tests of a branch passed, on its present head and main's present head."""
        check = self.ci.get(branch)
        return check == Check("passed", self.head(branch), self.head(MAIN))

    def open_on(self, branch: str) -> str | None:
        """The open pull request of a branch."""
        return next(
            (n for n, pull in self.prs.items() if pull.branch == branch and pull.state == "open"), None
        )

    def tested_by(self, subject: str) -> str | None:
        """The branch that a CI report on a pull request, or on main, is about; None if there is none."""
        if subject == MAIN:
            return MAIN
        pull = self.prs.get(subject)
        return pull.branch if pull is not None and pull.state == "open" else None

    def state(self) -> dict[str, JSON]:
        """As JSON: the shape of the state schema."""
        state = asdict(self)
        del state["made_for"]
        return state


def read_state(state: Mapping[str, JSON]) -> Repository:
    """A repository from a structured state; what does not fit is not known."""
    releases = state.get("releases")
    return Repository(
        {name: head for name, head in _items(state, "branches") if isinstance(head, str)},
        {name: _record(Commit, value) for name, value in _items(state, "commits")},
        {name: _record(Pull, value) for name, value in _items(state, "prs")},
        {name: _record(Check, value) for name, value in _items(state, "ci")},
        [_record(Release, value) for value in releases] if isinstance(releases, list) else [],
    )


def _items(state: Mapping[str, JSON], key: str) -> list[tuple[str, JSON]]:
    value = state.get(key)
    return list(value.items()) if isinstance(value, Mapping) else []


def _record(kind: Any, value: JSON) -> Any:
    """A dataclass from an object, without the keys or values that do not belong to it."""
    given = value if isinstance(value, Mapping) else {}
    known = {item.name: type(item.default) for item in fields(kind)}
    return kind(**{key: entry for key, entry in given.items() if key in known and type(entry) is known[key]})
