"""A bash script as its simple commands: by bashlex, or by a plain tokeniser where that cannot read it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Any

from perdure.environments.operating_system.bash_syntax import Unparsable, syntax_nodes

_OPERATORS = "();<>|&\n"
_BEFORE_A_COMMAND = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "time"})
_BEFORE_NO_COMMAND = frozenset({"for", "select", "function", "}", "fi", "done", "esac", "in", "coproc"})
_TRAILING_COMMENT = re.compile(r"^([^'\"#\n]*[ \t;])#.*$", re.MULTILINE)


@dataclass(frozen=True)
class Word:
    """A word without its quotes; its value is known unless something in it is expanded."""

    text: str
    is_known: bool = True


@dataclass
class SimpleCommands:
    """What a script runs, as lists of words, with the functions it defines and the files it writes to."""

    commands: list[list[Word]] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    written: list[str] = field(default_factory=list)


def simple_commands(script: str) -> SimpleCommands:
    """Every simple command, those in functions and substitutions included. Raises Unparsable."""
    try:
        return _of_nodes(syntax_nodes(script), script)
    except Unparsable:
        return _of_tokens(script)


def _of_nodes(nodes: list[Any], script: str) -> SimpleCommands:
    found = SimpleCommands()
    for node in nodes:
        if node.kind == "command":
            words = [_word_of(part, script) for part in node.parts if part.kind == "word"]
            if words:
                found.commands.append(words)
        elif node.kind == "function":
            found.functions.add(node.name.word)
        elif node.kind == "redirect" and ">" in node.type and hasattr(node.output, "word"):
            found.written.append(node.output.word)
    return found


def _word_of(node: Any, script: str) -> Word:
    """Its quotes are taken off here: bashlex leaves those of `'a'"b"'c'` in."""
    start, end = node.pos
    try:
        parts = shlex.split(script[start:end])
    except ValueError:
        parts = []
    return Word(parts[0] if len(parts) == 1 and not node.parts else node.word, not node.parts)


def _of_tokens(script: str) -> SimpleCommands:
    """Raises Unparsable for quotes that do not match."""
    lexer = shlex.shlex(_TRAILING_COMMENT.sub(r"\1", script), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        raise Unparsable(str(error)) from error
    reader = _TokenReader()
    for token in tokens:
        reader.take(token)
    reader.end_command()
    return reader.found


class _TokenReader:
    """Cuts tokens into commands. It leaves out what it is not sure of: arrays, patterns, tests."""

    def __init__(self) -> None:
        self.found = SimpleCommands()
        self._words: list[Word] | None = []  # None: what follows is no command until the next operator
        self._last = ""
        self._waits_for = ""  # leave out everything up to this token
        self._redirects = False
        self._cases = 0

    def take(self, token: str) -> None:
        if self._waits_for:
            self._skip(token)
        elif token and set(token) <= set(_OPERATORS):
            self._operator(token)
        elif self._redirects:
            self._redirects = False
            self.found.written.append(token)
        elif self._words is not None:
            self._word(token)
        elif self._last == "function":
            self.found.functions.add(token)
        self._last = token

    def end_command(self) -> None:
        if self._words:
            self.found.commands.append(self._words)
        self._words = []

    def _skip(self, token: str) -> None:
        if token == self._waits_for or (self._waits_for == ")" and ")" in token):
            self._waits_for = ")" if token == "in" else ""
            if token != "in":
                self.end_command()
        elif self._waits_for == ")" and token == "esac":
            self._cases -= 1
            self._waits_for, self._words = "", None

    def _operator(self, token: str) -> None:
        if token.startswith("()") and self._words is not None and len(self._words) == 1:
            self.found.functions.add(self._words[0].text)
            self._words = []
        elif token.startswith("(") and self._last.endswith("="):
            self._waits_for = ")"
        elif self._cases and ";;" in token:
            self.end_command()
            self._waits_for = ")"
        elif "(" in token or not set(token) & set("<>"):
            self.end_command()
            if ")" in token and not set(token) & set(";|&\n("):
                self._words = None
        else:
            self._redirects = ">" in token

    def _word(self, token: str) -> None:
        if self._words:
            self._words.append(Word(token, "$" not in token and "`" not in token))
        elif token == "case":
            self._cases += 1
            self._waits_for = "in"
        elif token == "[[":
            self._waits_for = "]]"
        elif token in _BEFORE_NO_COMMAND:
            self._words = None
        elif token not in _BEFORE_A_COMMAND and not is_assignment(token):
            self._words = [Word(token, "$" not in token and "`" not in token)]


def is_assignment(token: str) -> bool:
    """`name=value` or `name+=value`."""
    name, equals, _ = token.partition("=")
    return bool(equals) and name.rstrip("+").isidentifier()
