"""What may stand under `action`: its shape, its grammar, and the JSON Schema of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.state.nodes import Node
from perdure.state.taxonomy import FailureClass, PatchRejected


class ActionGrammar(Protocol):
    """Decides whether an action can be taken."""

    schema: Node
    """JSON Schema of an action, for constrained decoding."""
    wording: str
    """What the prompt calls an action."""
    example: JSON
    """One action, for the worked example; None where there is none to show."""

    def check_shape(self, action: JSON) -> None:
        """Raise PatchRejected (`schema`) for something that is no action at all."""

    def check(self, action: JSON) -> None:
        """Raise PatchRejected (`semantic`) for an action that cannot be taken."""


class TextActions:
    """Actions are texts; `pattern` is a regular expression for all of one, or the list of all of them.

    `form` says how one is written, after the words "the one action to take now"; `example` is one of them.
    `read` is the environment's own reading: with it, an action is what it reads, as in any other reply, and
    the pattern is only what a model can be held to. Raises ConfigError.
    """

    def __init__(
        self,
        pattern: str | Sequence[str] | None = None,
        form: str = "",
        *,
        example: str | None = None,
        read: Callable[[str], str | None] | None = None,
    ) -> None:
        self._choices = None if isinstance(pattern, str) or pattern is None else tuple(pattern)
        self._pattern: re.Pattern[str] | None = None
        self._read = read
        self._form = form
        self.example: JSON = example
        self.wording = f"a text: the one action to take now, {form or 'written as the instructions say'}"
        self.schema: Node = {"type": "string", "minLength": 1}
        if isinstance(pattern, str):
            try:
                self._pattern = re.compile(pattern)
            except re.error as error:
                raise ConfigError(f"action_pattern = {pattern!r}: {error}") from error
            self.schema = {"type": "string", "pattern": f"^(?:{pattern})$"}
        elif self._choices is not None:
            if not self._choices:
                raise ConfigError("action_pattern: an empty list allows no action")
            self.schema = {"type": "string", "enum": list(self._choices)}

    def check_shape(self, action: JSON) -> None:
        """A text that is not blank."""
        if not isinstance(action, str) or not action.strip():
            raise PatchRejected(
                FailureClass.SCHEMA, "action_type", '"action" must be a text that is not blank.'
            )

    def check(self, action: JSON) -> None:
        """What the environment reads; without its reading a whole match of the pattern, or a choice."""
        if self._read is not None:
            if self._read(action) is None:
                form = f"; it is {self._form}" if self._form else ""
                raise _refused(f"{action!r:.80} is no action{form}")
        elif self._choices is not None and action not in self._choices:
            some = ", ".join(map(repr, self._choices[:12]))
            raise _refused(f"{action!r:.80} is no action; choose among: {some}")
        elif self._pattern is not None and self._pattern.fullmatch(action) is None:
            raise _refused(f"{action!r:.80} is no valid action; its form is {self._pattern.pattern}")


def _refused(message: str) -> PatchRejected:
    return PatchRejected(FailureClass.SEMANTIC, "action", message)
