"""Takes out of a bash script's text what is no command: here-documents, comment lines, arithmetic."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(?P<quote>['\"]?)(?P<mark>[A-Za-z_]\w*)(?P=quote)")
_SHELL_READS = re.compile(r"(?:^|[\s;|&(])(?:/\S*/)?(?:ba|da|z)?sh(?:\s+-\w+)*\s*$")
_LONGEST_ARITHMETIC = 500
_SHEBANG = re.compile(r"#!\s*\S*\b(?:env\s+)?(?:ba|da|z)?sh\b")


@dataclass(frozen=True)
class ScriptText:
    """A script's own commands, the scripts inside its here-documents, and the texts in which `$(…)` runs."""

    commands: str
    scripts: tuple[str, ...]
    expanded: tuple[str, ...]


def read_script(script: str) -> ScriptText:
    """Split a script. A here-document is a script where a shell reads it or its first line names one."""
    kept: list[str] = []
    scripts: list[str] = []
    expanded: list[str] = []
    lines = _without_arithmetic(script).split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.lstrip().startswith("#"):
            continue
        while found := _HEREDOC.search(line):
            end = _end_of(found["mark"], lines, position)
            body = "\n".join(lines[position:end])
            position = end + 1
            if _SHELL_READS.search(line[: found.start()]) or _SHEBANG.match(body.lstrip()):
                scripts.append(body)
            elif not found["quote"]:
                expanded.append(body)
            line = line[: found.start()] + line[found.end() :]
        kept.append(line)
    return ScriptText("\n".join(kept), tuple(scripts), tuple(expanded))


def _end_of(mark: str, lines: list[str], start: int) -> int:
    """The line that ends a here-document; the end of the script where there is none, as bash has it."""
    return next((i for i in range(start, len(lines)) if lines[i].strip() == mark), len(lines))


def _without_arithmetic(script: str) -> str:
    """`$((…))` becomes 0 and `((…))` becomes `:`. Linear time."""
    parts: list[str] = []
    position = 0
    while (start := script.find("((", position)) >= 0:
        end = _closing(script, start)
        if end is None:
            break
        is_value = start > 0 and script[start - 1] == "$"
        parts.append(script[position : start - is_value] + ("0" if is_value else ":"))
        position = end
    return "".join(parts) + script[position:]


def _closing(script: str, start: int) -> int | None:
    """Where the `))` that ends arithmetic stands; None for two subshells, `((a); (b))`."""
    depth = 0
    for i in range(start, min(len(script), start + _LONGEST_ARITHMETIC)):
        depth += (script[i] == "(") - (script[i] == ")")
        if depth == 0:
            return i + 1 if script[i - 1] == ")" else None
    return None
