"""Restricts scripts to a set of commands, found in the parsed script.

It is a rule about what a script says, not a wall: the sandbox is the wall. What cannot be parsed, or names a
command by a variable, cannot be checked and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Literal

from perdure.core.errors import MissingExtra
from perdure.core.installation import add_extras
from perdure.environments.operating_system.bash_syntax import (
    EXECUTING_OPTIONS,
    Unparsable,
    syntax_nodes,
)
from perdure.environments.operating_system.tasks import SKILLS

_OF_THE_SHELL = """
    . : [ alias bash bg break builtin command continue declare env eval exec export false fg getopts hash help
    jobs kill let local mapfile nohup printf pwd read readonly return set sh shift shopt source test timeout
    times trap true type ulimit umask unalias unset wait"""
_ABOUT_USERS = """
    adduser chpasswd delgroup deluser getent groupdel groupmod groups id last logname newgrp passwd su sudo
    userdel users who whoami"""
_OF_A_BARE_SYSTEM = """
    arch base64 basename bzip2 chattr cksum cmp comm crontab csplit cut date dd df diff dirname du
    egrep expand expr factor fgrep file fmt fold free getfacl gunzip gzip head hostname install join
    locale logger lsattr md5sum mkfifo mknod mktemp more less nice nl nproc od paste patch pathchk
    pgrep pkill pr ps readlink realpath renice rmdir seq setfacl sha1sum sha256sum shred shuf sort
    split stat stty sum sync tac tail tar tr tree truncate tsort tty uname unexpand uniq unzip
    uptime which xargs xz yes zcat zip"""
PAPER_COMMANDS = frozenset([*SKILLS, *f"{_OF_THE_SHELL} {_ABOUT_USERS} {_OF_A_BARE_SYSTEM}".split()])
"""The preset "paper": the 29 commands that label the published tasks, and what their solutions use beside
them: the shell's own, administration of users, and the tools of a bare system.

The labels are not the commands: 85 of 250 published solutions use others."""

_LONGEST_SCRIPT = 20_000
_QUOTED_HEREDOC = re.compile(r"<<-?[ \t]*(['\"])(\w+)\1")


def allowed_set(value: list[str] | Literal["paper"] | None) -> frozenset[str] | None:
    """The set that a configuration means; None allows everything. Raises MissingExtra, ValueError."""
    if value is None:
        return None
    if isinstance(value, str) and value != "paper":
        raise ValueError(f"allowed_commands must be a list or 'paper', not {value!r}")
    try:
        import bashlex  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtra("bashlex", add_extras("os")) from None
    return PAPER_COMMANDS if value == "paper" else frozenset(value)


def forbidden(script: str, allowed: frozenset[str]) -> str | None:
    """One line that says why a script may not run, or None when it may."""
    if len(script) > _LONGEST_SCRIPT:
        return f"a script of more than {_LONGEST_SCRIPT} characters cannot be checked for its commands"
    try:
        used = commands_of(script)
    except UncheckableScript as problem:
        return f"the commands of the script cannot be told apart ({problem})"
    wrong = sorted(used - allowed)
    if not wrong:
        return None
    return f"not allowed here: {', '.join(wrong)}; allowed are {', '.join(sorted(allowed))}"


class UncheckableScript(Exception):
    """A script whose commands cannot be known without running it."""


def commands_of(script: str) -> set[str]:
    """The names of all commands a script may run, those in substitutions and here-documents included.

    Functions that the script defines are not counted, their bodies are; nor are files that it writes and runs
    by a path. Raises UncheckableScript.
    """
    try:
        nodes = syntax_nodes(_without_quoted_heredocs(script))
    except Unparsable as error:
        raise UncheckableScript(str(error)) from error
    defined = {node.name.word for node in nodes if node.kind == "function"}
    written = {PurePosixPath(node.output.word).name for node in nodes if _writes_a_file(node)}
    used: set[str] = set()
    for node in nodes:
        if node.kind == "command":
            used.update(_named(node, written))
        elif node.kind == "redirect" and getattr(node, "heredoc", None) is not None:
            used.update(_in_heredoc(node))
    return used - defined


def _writes_a_file(node: Any) -> bool:
    return node.kind == "redirect" and node.type in (">", ">>") and hasattr(node.output, "word")


def _named(node: Any, written: Set[str]) -> Iterable[str]:
    """The command of a simple command, and those that `find` is told to run."""
    words = [part for part in node.parts if part.kind == "word"]
    if not words:
        return []
    named = [words[0]]
    if PurePosixPath(words[0].word).name == "find":
        named += [b for a, b in pairwise(words) if a.word in EXECUTING_OPTIONS]
    for word in named:
        if word.parts:
            raise UncheckableScript(f"a command is named by an expansion: {word.word}")
    return [
        name for word in named if (name := _command_name(word.word)) not in written or "/" not in word.word
    ]


def _command_name(word: str) -> str:
    return PurePosixPath(word).name or word


def _without_quoted_heredocs(script: str) -> str:
    """The script with here-documents of a quoted delimiter emptied: nothing in them runs."""
    kept: list[str] = []
    lines = iter(script.split("\n"))
    for line in lines:
        found = _QUOTED_HEREDOC.search(line)
        if found is None:
            kept.append(line)
            continue
        kept.append(line[: found.start()] + f"<<{found[2]}" + line[found.end() :])
        kept.append(next((end for end in lines if end.lstrip("\t") == found[2]), ""))
    return "\n".join(kept)


def _in_heredoc(node: Any) -> set[str]:
    """Substitutions in the text of a here-document whose delimiter is not quoted."""
    text = node.heredoc.value
    if not any(mark in text for mark in ("$(", "`")):
        return set()
    quoted = text.replace('"', '\\"')
    return commands_of(f'_="{quoted}"')
