"""What may stand under `action`: its shape, its grammar, and the JSON Schema of both."""

from __future__ import annotations

import re
from collections.abc import Sequence
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

    def check_shape(self, action: JSON) -> None:
        """Raise PatchRejected (`schema`) for something that is no action at all."""

    def check(self, action: JSON) -> None:
        """Raise PatchRejected (`semantic`) for an action that cannot be taken."""


class TextActions:
    """Actions are texts; `pattern` is a regular expression for all of one, or the list of all of them.

    `form` says how one is written, after the words "the one action to take now".
    """

    def __init__(self, pattern: str | Sequence[str] | None = None, form: str = "") -> None:
        self._choices = None if isinstance(pattern, str) or pattern is None else tuple(pattern)
        self._pattern: re.Pattern[str] | None = None
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
        """A whole match of the pattern, or one of the choices."""
        if self._choices is not None and action not in self._choices:
            some = ", ".join(map(repr, self._choices[:12]))
            raise PatchRejected(
                FailureClass.SEMANTIC, "action", f"{action!r:.80} is no action; choose among: {some}"
            )
        if self._pattern is not None and self._pattern.fullmatch(action) is None:
            raise PatchRejected(
                FailureClass.SEMANTIC,
                "action",
                f"{action!r:.80} is no valid action; its form is {self._pattern.pattern}",
            )
