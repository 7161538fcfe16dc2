"""The repository itself: what each command does to it, and why it may be refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256

from perdure.environments.repository.actions import VERBS, RepositoryAction
from perdure.environments.repository.parameters import Verbs
from perdure.environments.repository.store import MAIN, ROOT, Pull, Repository

LINE_COUNT = 100
LINES = tuple(f"line_{number}" for number in range(LINE_COUNT))
FAILURE_RATE = 0.5


class World:
    """A repository, and what the present event asks for. Ids of new commits are keyed by seed and step."""

    def __init__(self, seed: int, verbs: Verbs, pull_numbers: dict[str, str]) -> None:
        self.repository = Repository({MAIN: ROOT})
        self.asked: tuple[str, str, str] = ("", "", "")
        """Branch, file and issue of the commit that is wanted now."""
        self.tag = ""
        """The release that is to be cut now."""
        self.production = ""
        self.merged_well = 0
        self.breaking_merges = 0
        self._seed = seed
        self._verbs = verbs
        self._pull_numbers = pull_numbers
        """Branch → the number its pull request gets: scripted, so failures do not shift numbers."""
        self._fixes: set[str] = set()
        self._picked: set[tuple[str, str]] = set()
        self._main_broken = False
        self._commands: dict[str, Callable[[RepositoryAction, int], tuple[bool, str]]] = {
            "Commit": self._commit,
            "CreatePR": self._create_pr,
            "Merge": self._merge,
            "FixCI": self._fix_ci,
            "RunTests": self._run_tests,
            "CherryPick": self._cherry_pick,
            "CreateRelease": self._create_release,
            "Rollback": self._rollback,
            "Wait": lambda action, t: (True, ""),
        }

    def apply(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        """Carry out an action at step `t`: whether it was done, and what came of it or why not."""
        if action.verb not in VERBS[self._verbs]:
            return False, "there is no such action here"
        return self._commands[action.verb](action, t)

    def obstacle(self, action: RepositoryAction) -> str:
        """Why a pull request or a copy cannot be made, whatever was asked; empty where it can."""
        match action.verb:
            case "CreatePR":
                if action.name not in self.repository.branches or action.name not in self._pull_numbers:
                    return "there is no such topic branch"
                opened = self._pull_numbers[action.name] in self.repository.prs
                return "that branch had its pull request already" if opened else ""
            case "CherryPick":
                if action.name not in self.repository.commits:
                    return "there is no such commit"
                if action.other not in LINES:
                    return "that is no line"
                picked = (action.name, action.other) in self._picked
                return "that line has that commit already" if picked else ""
            case _:
                return ""

    def passes(self, branch: str) -> bool:
        """Whether the tests of a branch pass: a seeded function of its head and main's; fixes always pass."""
        head, base = self.repository.head(branch), self.repository.head(MAIN)
        if branch == MAIN:
            return not self._main_broken
        return head in self._fixes or self._draw("ci", head, base) >= FAILURE_RATE

    def new_id(self, t: int) -> str:
        """Id of a commit made at step `t`."""
        return f"c_{sha256(f'{self._seed}|commit|{t}'.encode()).hexdigest()[:6]}"

    def start_topic(self, branch: str, commit: str, file: str, issue: str) -> None:
        """The commit of an issue, on a branch that begins at main's head."""
        begins_at = self.repository.head(MAIN)
        self.repository.add_commit(branch, commit, file=file, issue=issue, begins_at=begins_at)

    def push_fix(self, branch: str, commit: str) -> str:
        """A commit after which the tests of a branch pass; what is told of it."""
        replaced = self.repository.add_fix(branch, commit)
        self._fixes.discard(replaced)
        self._fixes.add(commit)
        return f"{commit} made on {branch} as a fix{f' in place of {replaced}' if replaced else ''}"

    def retire(self, issue: str) -> str:
        """An issue is out of support; the commit that nobody needs any more, empty where there is none."""
        commit = self.repository.retire(issue)
        self._picked = {pair for pair in self._picked if pair[0] != commit}
        return commit

    def digest(self) -> str:
        """SHA-256 of everything that an action may change."""
        rest = [sorted(self._fixes), sorted(self._picked), self._main_broken, self.production]
        return sha256(json.dumps([self.repository.state(), *rest]).encode()).hexdigest()

    def open_pull(self, branch: str) -> str:
        """The branch's pull request is open from now on; its number."""
        number = self._pull_numbers[branch]
        self.repository.prs[number] = Pull(branch)
        return number

    def _draw(self, *key: str) -> float:
        """In [0, 1), the same for the same key."""
        text = "|".join((str(self._seed), *key))
        return int.from_bytes(sha256(text.encode()).digest()[:4], "big") / 2**32

    def _commit(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        branch, file, issue = self.asked
        if (action.name, action.other) != (branch, file):
            return False, "that change was not asked for now"
        commit = self.new_id(t)
        self.start_topic(branch, commit, file, issue)
        return True, f"{commit} made on {branch} with {file} for {issue}"

    def _create_pr(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        if obstacle := self.obstacle(action):
            return False, obstacle
        return True, f"{self.open_pull(action.name)} opened for {action.name}"

    def _merge(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        pull = self.repository.prs.get(action.name)
        if pull is None or pull.state != "open":
            return False, "there is no such open pull request"
        if not pull.approved:
            return False, "that pull request is not approved"
        good = self.repository.is_fresh(pull.branch)
        self._main_broken = not good and not self.passes(pull.branch)
        self.merged_well += good
        self.breaking_merges += self._main_broken
        commit = self.new_id(t)
        gone = self.repository.merge(action.name, commit, keep_issue="CherryPick" in VERBS[self._verbs])
        self._fixes.difference_update(gone)
        along = f" with {' and '.join(gone)}" if gone else ""
        return True, f"{action.name} merged as {commit}, {pull.branch} deleted{along}"

    def _fix_ci(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        if self.repository.open_on(action.name) is None:
            return False, "that branch has no open pull request"
        check = self.repository.ci.get(action.name)
        renews = self._verbs == "appendix"
        if not renews and (check is None or check.status != "failed"):
            return False, "the tests of that branch did not fail"
        told = self.push_fix(action.name, self.new_id(t))
        if renews:
            # Without RunTests this is the only way to make an approved request fresh again.
            self.repository.tested(action.name, True)
        passed = ", tests passed" if renews else ""
        return True, f"{told}{passed}"

    def _run_tests(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        if action.name not in self.repository.branches:
            return False, "there is no such branch"
        passed = self.passes(action.name)
        self.repository.tested(action.name, passed)
        return True, f"tests {'passed' if passed else 'failed'} on {action.name}"

    def _cherry_pick(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        if obstacle := self.obstacle(action):
            return False, obstacle
        source = self.repository.commits[action.name]
        self._picked.add((action.name, action.other))
        return True, f"{action.name} copied onto {action.other} with {source.file or 'no file'}"

    def _create_release(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        if action.name != self.tag:
            return False, "that release is not to be cut now"
        if action.other != self.repository.head(MAIN):
            return False, "that is not the head of main"
        if not self.repository.is_fresh(MAIN):
            return False, "main is not known to be green"
        self.repository.release(action.name, action.other)
        self.production, self.tag = action.name, ""
        return True, f"{action.name} released from {action.other}"

    def _rollback(self, action: RepositoryAction, t: int) -> tuple[bool, str]:
        if not any(release.tag == action.name and release.good for release in self.repository.releases):
            return False, "there is no such good release"
        self.production = action.name
        return True, f"production is at {action.name}"
