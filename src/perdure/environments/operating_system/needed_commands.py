"""The programs that a task's own scripts call: what a machine must have for the task to be played fairly.

It errs on the side of asking for too little: what is named by a variable, lies outside the system's folders,
or is defined, written, installed or looked for by the scripts themselves is not asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from perdure.environments.operating_system.bash_syntax import EXECUTING_OPTIONS, Unparsable
from perdure.environments.operating_system.script_text import read_script
from perdure.environments.operating_system.simple_commands import Word, is_assignment, simple_commands
from perdure.environments.operating_system.tasks import OsTask, Script

_LONGEST_SCRIPT = 20_000
_DEEPEST = 8
_PROGRAM = re.compile(r"(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_SYSTEM_FOLDERS = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin"})

_PREFIXES: Mapping[str, tuple[str, int]] = {
    "builtin": ("", 0),
    "chronic": ("", 0),
    "command": ("", 0),
    "doas": ("-u -C", 0),
    "env": ("-u -C -S --unset --chdir", 0),
    "exec": ("-a", 0),
    "ionice": ("-c -n --class --classdata", 0),
    "nice": ("-n --adjustment", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "stdbuf": ("-i -o -e", 0),
    "sudo": ("-u -g -p -C -h -r -t -T -U -D -R --user --group", 0),
    "time": ("-f -o", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
    "xargs": ("-I -n -P -L -d -a -E -s --max-args --max-procs --delimiter --arg-file --replace", 0),
}
"""Programs that run another one: their options that take a value, and the operands before its name."""

_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_ACCOUNTS = frozenset({"su", "runuser"})
_LOOKING = frozenset({"type", "which", "hash", "whereis"})
_INSTALLERS = frozenset({"apt", "apt-get", "aptitude", "apk", "dnf", "dpkg", "pip", "pip3", "yum"})
_WRITERS = frozenset({"chmod", "cp", "curl", "install", "ln", "mv", "tee", "touch", "wget"})


@dataclass
class Needs:
    """Programs that scripts call, and names that they take care of themselves."""

    called: set[str] = field(default_factory=set)
    provided: set[str] = field(default_factory=set)

    @property
    def programs(self) -> frozenset[str]:
        """What the machine has to have."""
        return frozenset(self.called - self.provided)


@lru_cache(maxsize=10_000)
def needed_commands(task: OsTask) -> frozenset[str]:
    """Programs without which the task cannot be set up, solved as its example does, or graded."""
    scripts = [task.initialization, Script(task.background), task.evaluation, task.solution]
    scripts += [check.script for check in task.checks if check is not None]
    needs = Needs()
    for script in scripts:
        if script is None or not script.text.strip():
            continue
        if script.language == "python":
            needs.called.add("python3")
        else:
            read_needs(script.text, needs)
    return needs.programs


def read_needs(script: str, needs: Needs, depth: int = 0) -> None:
    """Add what a bash script needs. What cannot be read adds nothing."""
    if len(script) > _LONGEST_SCRIPT or depth > _DEEPEST:
        return
    text = read_script(script)
    inner = [*text.scripts, *(': "' + body.replace('"', '\\"') + '"' for body in text.expanded)]
    try:
        found = simple_commands(text.commands)
    except Unparsable:
        return
    needs.provided |= found.functions
    needs.provided |= {PurePosixPath(path).name for path in found.written}
    for words in found.commands:
        inner += _read_command(words, needs)
    for nested in inner:
        read_needs(nested, needs, depth + 1)


def _read_command(words: Sequence[Word], needs: Needs) -> Iterator[str]:
    """Add what one simple command needs; gives the scripts among its arguments."""
    if not words or not words[0].is_known:
        return
    program = _program(words[0].text)
    if program is None:
        return
    name, arguments = program, words[1:]
    needs.called.add(name)
    needs.provided.update(_provided(name, arguments))
    if reader := _READERS.get(name):
        yield from (word.text for word in reader(arguments) if word.is_known)
    for command in _commands_inside(name, arguments):
        yield from _read_command(command, needs)


def _program(word: str) -> str | None:
    """The program that a command word asks the system for, if it does."""
    path = PurePosixPath(word)
    if "/" in word and str(path.parent) not in _SYSTEM_FOLDERS:
        return None
    return path.name if _PROGRAM.fullmatch(path.name) else None


def _commands_inside(name: str, arguments: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Commands that a program is told to run by words of its own."""
    if name == "find":
        for i, word in enumerate(arguments):
            if word.text in EXECUTING_OPTIONS:
                yield arguments[i + 1 :]
    elif name in _PREFIXES and not (name == "command" and _has_option(arguments, "vV")):
        options, operands = _PREFIXES[name]
        yield _after_options(arguments, frozenset(options.split()))[operands:]


def _after_options(arguments: Sequence[Word], with_value: frozenset[str]) -> Sequence[Word]:
    """What follows a program's own options and assignments."""
    position = 0
    while position < len(arguments):
        text = arguments[position].text
        if text == "--":
            return arguments[position + 1 :]
        if text in with_value:
            position += 2
        elif (text.startswith("-") and len(text) > 1) or is_assignment(text):
            position += 1
        else:
            break
    return arguments[position:]


def _provided(name: str, arguments: Sequence[Word]) -> Iterable[str]:
    """Names that a command defines, writes, installs or only looks for."""
    texts = [word.text for word in arguments]
    plain = [text for text in texts if not text.startswith("-")]
    if name in _LOOKING or (name == "command" and _has_option(arguments, "vV")):
        return [PurePosixPath(text).name for text in plain]
    if name == "alias":
        return [text.partition("=")[0] for text in plain]
    if name in _INSTALLERS:
        return [re.split(r"[=<>~]", PurePosixPath(text).name)[0] for text in plain]
    if name in _WRITERS:
        return [PurePosixPath(text).name for text in plain if not _lies_in_system(text)]
    return []


def _lies_in_system(path: str) -> bool:
    """An existing program of the system, as the source of a copy or a link is."""
    return str(PurePosixPath(path).parent) in _SYSTEM_FOLDERS


def _after_option_c(arguments: Sequence[Word]) -> Iterator[Word]:
    """The script of `bash -c SCRIPT`, `su ann -c SCRIPT`."""
    for option, script in pairwise(arguments):
        if re.fullmatch(r"-[a-z]*c", option.text) or option.text == "--command":
            yield script
            return


def _evaluated(arguments: Sequence[Word]) -> Iterator[Word]:
    yield Word(" ".join(word.text for word in arguments), all(word.is_known for word in arguments))


def _trapped(arguments: Sequence[Word]) -> Iterator[Word]:
    if len(arguments) > 1 and not arguments[0].text.startswith("-"):
        yield arguments[0]


_READERS: Mapping[str, Callable[[Sequence[Word]], Iterator[Word]]] = {
    **dict.fromkeys((*_SHELLS, *_ACCOUNTS), _after_option_c),
    "eval": _evaluated,
    "trap": _trapped,
}
"""Programs that are given scripts, and which of their arguments these are."""


def _has_option(arguments: Sequence[Word], letters: str) -> bool:
    return any(word.text.startswith("-") and set(word.text) & set(letters) for word in arguments[:2])
