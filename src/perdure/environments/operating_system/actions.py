"""The action grammar: `Act: bash` with ```bash blocks, `Act: finish`, for questions `Act: answer(…)`."""

from __future__ import annotations

import re
from dataclasses import dataclass

DO_NOTHING = "Act: finish"

_ACT = re.compile(r"Act:\s*(\S.*)")
_FENCE = "```"
_OPENING = "```bash"


@dataclass(frozen=True)
class Bash:
    """Every bash block of one reply, joined by blank lines: one script."""

    script: str


@dataclass(frozen=True)
class Finish:
    """The agent says that the task is done."""


@dataclass(frozen=True)
class Answer:
    """The agent says what was asked for (AgentBench tasks)."""

    text: str


@dataclass(frozen=True)
class Invalid:
    """There is no action in a reply; the message says what is missing."""

    message: str


def parse_action(reply: str, *, takes_answers: bool = False) -> Bash | Finish | Answer | Invalid:
    """The action that the first `Act:` of a reply names. Linear time.

    A block starts at a line "```bash" and ends at the next line that starts with "```" (LifelongAgentBench,
    section B: all blocks of the reply count, whichever text stands between them).
    """
    found = _ACT.search(reply)
    if found is None:
        return Invalid(f"there is no line that starts with `Act:`; {_forms(takes_answers)}")
    verb = found[1].strip()
    lowered = verb.lower()
    if lowered.startswith("bash"):
        blocks = bash_blocks(reply)
        if not blocks:
            return Invalid("after a line `Act: bash`, put the commands between a line ```bash and a line ```")
        return Bash("\n\n".join(blocks))
    if lowered.startswith("finish"):
        return Finish()
    if takes_answers and lowered.startswith("answer"):
        return _parse_answer(reply[found.start(1) :])
    return Invalid(f"`Act:` is followed by something else; {_forms(takes_answers)}")


def bash_blocks(reply: str) -> list[str]:
    """The contents of every closed ```bash block, in order."""
    blocks: list[str] = []
    current: list[str] | None = None
    for line in reply.split("\n"):
        mark = line.strip()
        if current is None:
            if mark.lower() == _OPENING:
                current = []
        elif mark.startswith(_FENCE):
            blocks.append("\n".join(current))
            current = None
        else:
            current.append(line.removesuffix("\r"))
    return blocks


def action_key(action: Bash | Finish | Answer) -> str:
    """One spelling for actions that do the same: blank lines and spaces at line ends do not count."""
    match action:
        case Bash(script):
            lines = [line.rstrip() for line in script.strip().split("\n")]
            return _OPENING + "\n" + "\n".join(line for line in lines if line)
        case Finish():
            return "finish"
        case Answer(text):
            return f"answer({text})"


def _parse_answer(text: str) -> Answer | Invalid:
    """From the first bracket to the last one of its line, so that an answer may hold brackets."""
    line = text.split("\n", 1)[0]
    start, end = line.find("("), line.rfind(")")
    if start < 0 or end < start:
        return Invalid("an answer is written as `Act: answer(…)` on one line")
    return Answer(line[start + 1 : end].strip())


def _forms(takes_answers: bool) -> str:
    answer = "a line `Act: answer(…)` to answer, or " if takes_answers else ""
    return (
        "write a line `Act: bash` and the commands between a line ```bash and a line ``` below it, or "
        f"{answer}a line `Act: finish` when the task is done"
    )
