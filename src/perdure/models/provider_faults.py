"""What a model server's error means: data of one session, a pause, or the end of the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from json import loads

from perdure.core.errors import ModelError
from perdure.core.types import JSON, SessionStatus
from perdure.models.refusal_wordings import (
    CONFIGURATION_CODES,
    CONFIGURATION_WORDS,
    CONTEXT_CODES,
    CONTEXT_WORDS,
    FILTER_WORDS,
    MEMORY_WORDS,
    NEVER_FITS,
    NO_CREDIT_CODES,
    RATE_WORDS,
    TEMPLATE_WORDS,
    TOKENS_ASKED,
)

_SHOWN_CHARACTERS = 500

_ABOUT_THE_CALLER = frozenset({401, 402, 404, 429})
"""Statuses that speak of keys, money, addresses and rates, not of one prompt."""

_PROMPT_FIELDS = ("messages", "input", "prompt", "content")


@dataclass(frozen=True)
class ProviderFault:
    """A server's refusal: HTTP status, message in one line, and every code it gave."""

    status: int
    message: str
    codes: frozenset[str] = frozenset()
    field: str = ""
    """The field of the request that the server names, where it names one."""

    @property
    def is_passing(self) -> bool:
        """Asking again later may help: 408, 409, 429 and 5xx, unless the account is out of credit."""
        return (self.status in (408, 409, 429) or self.status >= 500) and not self.codes & NO_CREDIT_CODES

    @property
    def refuses_the_prompt(self) -> bool:
        """This prompt is refused, in words that nobody knows, and others may not be: 400, 422, a template."""
        if self.status >= 500:
            return self._says(TEMPLATE_WORDS)
        if self.status not in (400, 422):
            return False
        return not self._is_about_the_configuration

    def as_model_error(self) -> ModelError | None:
        """The session's own fault, or None where the fault may be the server's or the caller's."""
        if self._exceeds_the_context:
            return ModelError(self.message, SessionStatus.AGENT_CONTEXT_LIMIT)
        if self.status in _ABOUT_THE_CALLER:
            return None
        if self._says(MEMORY_WORDS):
            return ModelError(self.message, SessionStatus.AGENT_OUT_OF_MEMORY)
        if self.status < 500 and self._says(FILTER_WORDS):
            return ModelError(f"refused by the provider's content filter: {self.message}")
        return None

    @property
    def _exceeds_the_context(self) -> bool:
        # 413 is a body too large for the server: nothing but the prompt grows.
        if self.status == 413:
            return True
        if self.status == 429:
            return self._is_larger_than_a_rate
        if self.status in _ABOUT_THE_CALLER:
            return False
        if self.codes & CONTEXT_CODES and not self._names_another_field:
            return True
        return bool(CONTEXT_WORDS.search(self.message)) and not RATE_WORDS.search(self.message)

    @property
    def _is_larger_than_a_rate(self) -> bool:
        if not NEVER_FITS.search(self.message):
            return False
        asked = TOKENS_ASKED.search(self.message)
        if asked is None:
            return True
        limit, requested = (int(number.replace(",", "")) for number in asked.groups())
        return requested > limit

    @property
    def _is_about_the_configuration(self) -> bool:
        if self.field:
            return self._names_another_field
        known = self.codes & (CONFIGURATION_CODES | NO_CREDIT_CODES)
        return bool(known) or bool(CONFIGURATION_WORDS.search(self.message))

    @property
    def _names_another_field(self) -> bool:
        return bool(self.field) and not self.field.startswith(_PROMPT_FIELDS)

    def _says(self, words: re.Pattern[str]) -> bool:
        return any(words.search(text) for text in (self.message, *self.codes))


def read_fault(status: int, body: bytes) -> ProviderFault:
    """The fault in an error response, whatever its shape: JSON of any dialect, text or a proxy's HTML."""
    text = body.decode("utf-8", "replace")
    try:
        parsed = loads(text)
    except (ValueError, RecursionError):
        return ProviderFault(status, one_line(re.sub(r"<[^>]*>", " ", text)))
    return fault_of(status, parsed)


def fault_of(status: int, body: JSON) -> ProviderFault:
    """The fault in a parsed error body."""
    if isinstance(body, list) and body and isinstance(body[0], Mapping):
        body = body[0]  # Google's streaming endpoints
    error = (body.get("error") or body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return ProviderFault(status, one_line(str(error)))
    complaints = _complaints(error)
    said = "; ".join(f"{'.'.join(place)}: {what}" for place, what in complaints)
    message = error.get("message") or error.get("detail") or error.get("msg") or error
    if said and not isinstance(message, str):
        message = said
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("raw"):
        # A gateway's own message says only that the provider behind it failed.
        message = f"{message}: {metadata['raw']}"
    nested = error.get("innererror")
    sources = (error, nested if isinstance(nested, Mapping) else {})
    codes = {str(source[key]) for source in sources for key in ("code", "type", "status") if source.get(key)}
    fields = [place[1] for place, _ in complaints if len(place) > 1]
    field = error.get("param") or (fields[0] if fields else "")
    return ProviderFault(status, one_line(str(message)), frozenset(codes), str(field))


def _complaints(error: Mapping[str, JSON]) -> list[tuple[list[str], str]]:
    """What a validator says (pydantic's shape), each the place, as body, field, …, and what is wrong."""
    listed: JSON = next((error[key] for key in ("detail", "message") if isinstance(error.get(key), list)), [])
    return [
        ([str(step) for step in item["loc"]], str(item.get("msg", "")))
        for item in listed
        if isinstance(item, Mapping) and isinstance(item.get("loc"), list)
    ]


def fault_within(body: JSON) -> ProviderFault | None:
    """The fault that a gateway wraps in a successful response, or None."""
    if not isinstance(body, Mapping):
        return None
    choices = body.get("choices")
    wrapped: JSON = body
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        wrapped = choices[0]
    if not wrapped.get("error"):
        return None
    code = wrapped["error"].get("code") if isinstance(wrapped["error"], Mapping) else None
    status = code if isinstance(code, int) and 400 <= code <= 599 else 502
    return fault_of(status, wrapped)


def one_line(text: str) -> str:
    """White space collapsed, what a terminal would obey replaced, cut to what fits an error line."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(
            character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line
        )
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…"
