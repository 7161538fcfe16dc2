"""The action grammar: a bare command, or the last `Action:` line of a reply."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure.environments.repository.parameters import Verbs
from perdure.environments.skillexec.commands import find_command

Verb: TypeAlias = Literal[
    "Commit", "CreatePR", "Merge", "FixCI", "RunTests", "CherryPick", "CreateRelease", "Rollback", "Wait"
]

VERBS: dict[Verbs, tuple[Verb, ...]] = {
    "union": (
        "Commit",
        "CreatePR",
        "Merge",
        "FixCI",
        "RunTests",
        "CherryPick",
        "CreateRelease",
        "Rollback",
        "Wait",
    ),
    "main": ("Merge", "RunTests", "CherryPick", "CreateRelease", "Rollback", "Wait"),
    "appendix": ("Commit", "CreatePR", "Merge", "FixCI", "Wait"),
}
"""The paper's two lists of verbs, and both together."""

NO_OP = "Wait"
DO_NOTHING = "Action: Wait"

EXAMPLES: dict[Verb, str] = {
    "Commit": "Commit topic_3 file_8",
    "CreatePR": "CreatePR topic_3",
    "Merge": "Merge pr_12",
    "FixCI": "FixCI topic_3",
    "RunTests": "RunTests topic_3",
    "CherryPick": "CherryPick c_4be71a line_2",
    "CreateRelease": "CreateRelease v_5 c_4be71a",
    "Rollback": "Rollback v_5",
    "Wait": "Wait",
}
"""How each action is written."""

_BRANCH = "(?:main|topic_[0-9]{1,6}|line_[0-9]{1,6})"
_COMMIT = "c_[0-9a-f]{1,8}"
_ARGUMENTS: dict[Verb, tuple[str, ...]] = {
    "Commit": (_BRANCH, "file_[0-9]{1,6}"),
    "CreatePR": (_BRANCH,),
    "Merge": ("pr_[0-9]{1,6}",),
    "FixCI": (_BRANCH,),
    "RunTests": (_BRANCH,),
    "CherryPick": (_COMMIT, _BRANCH),
    "CreateRelease": ("v_[0-9]{1,6}", _COMMIT),
    "Rollback": ("v_[0-9]{1,6}",),
    "Wait": (),
}
ACTION_PATTERN = "(" + "|".join(" ".join((verb, *parts)) for verb, parts in _ARGUMENTS.items()) + ")"
"""Every well-formed action, as a regular expression for constrained decoding."""

_VERBS: dict[str, Verb] = {verb.lower(): verb for verb in _ARGUMENTS}
_COMMAND = re.compile(ACTION_PATTERN, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RepositoryAction:
    """A parsed action: a verb, what it acts on, and a second name where the verb takes one."""

    verb: Verb
    name: str = ""
    other: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.name, self.other)))


WAIT = RepositoryAction("Wait")


def parse_action(reply: str, verbs: Iterable[Verb] = tuple(EXAMPLES)) -> RepositoryAction | str:
    """The action of a reply, or one line that says why there is none, and how one of `verbs` is written.

    Linear time; quotes nothing of the reply.
    """
    return find_command(reply, _parse_command, [EXAMPLES[verb] for verb in verbs])


def _parse_command(text: str) -> RepositoryAction | None:
    words = text.split()
    if not 1 <= len(words) <= 3 or _COMMAND.fullmatch(" ".join(words)) is None:
        return None
    verb, *names = words
    return RepositoryAction(_VERBS[verb.lower()], *(name.lower() for name in names))
