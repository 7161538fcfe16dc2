"""Regular expressions that a model's text is held to: matched in linear time, whatever the text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from perdure.core.errors import ConfigError

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator


def check_pattern(pattern: str) -> None:
    """Raise ConfigError for an expression that is broken, or that no linear-time engine can match."""
    _compiled(pattern)


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text, as JSON Schema has it."""
    return _compiled(pattern).isinstance_python(text)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> SchemaValidator:
    # Python's own engine backtracks: `^(a+)+$` takes hours for forty letters of a model's choice.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except (SchemaError, UnicodeEncodeError) as error:
        raise ConfigError(
            f"state_schema: pattern {pattern!r:.80} is no regular expression that can be matched in linear "
            "time (without look-around and references to groups)"
        ) from error
