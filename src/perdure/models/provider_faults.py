"""What a model server's error means: data of one session, a pause, or the end of the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from json import loads

from perdure.core.errors import ModelError
from perdure.core.types import JSON, SessionStatus

_SHOWN_CHARACTERS = 500

_CONTEXT_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
)

# One alternative a server family. OpenAI, vLLM, DeepSeek, OpenRouter and Mistral speak of a maximum context
# length; llama.cpp of the available context size; SGLang and LM Studio of the model's context length; xAI and
# vLLM's engine of a prompt or decoder length; text-generation-inference of `inputs` tokens; gateways to other
# vendors of a prompt or input that is too long.
_CONTEXT_WORDS = re.compile(
    r"maximum (?:context|prompt|model) length"
    r"|exceeds? (?:the )?(?:available |maximum |model(?:'s)? )?context (?:size|length|window|limit)"
    r"|exceeds? the (?:model's )?(?:maximum allowed|context) length"
    r"|(?:longer|larger|greater) than the (?:model's )?(?:maximum )?(?:context|model) (?:length|size|window)"
    r"|context (?:size|length|window|limit) (?:has been |was )?exceeded"
    r"|model(?:'s context length is only| is loaded with context length of only)"
    r"|`?inputs`? (?:tokens \+ `?max_new_tokens`? must be <=|must have less than)"
    r"|input length and `?max_tokens`? exceed context limit"
    r"|(?:prompt|input) is too long"
    r"|input (?:token count|length) .*exceeds? the maximum"
    r"|too many (?:input )?tokens"
    r"|reduce the length of the (?:messages|prompt|input)",
    re.IGNORECASE,
)
_MEMORY_WORDS = re.compile(
    r"out of memory|out[_-]of[_-]memory|OutOfMemory|cudaMalloc failed|failed to allocate\b.*\bmemory",
    re.IGNORECASE,
)
_FILTER_WORDS = re.compile(
    r"content[_ ](?:filter|management policy|policy)|ResponsibleAIPolicyViolation|requires moderation"
    r"|\binput was flagged|safety system|DataInspectionFailed|data_inspection_failed",
    re.IGNORECASE,
)
_NO_CREDIT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})

_ABOUT_THE_CALLER = frozenset({401, 402, 404, 429})
"""Statuses that speak of keys, money, addresses and rates, never of one prompt."""


@dataclass(frozen=True)
class ProviderFault:
    """A server's refusal: HTTP status, message in one line, and every code it gave."""

    status: int
    message: str
    codes: frozenset[str] = frozenset()

    @property
    def is_passing(self) -> bool:
        """Asking again later may help: 408, 409, 429 and 5xx, unless the account is out of credit."""
        return (self.status in (408, 409, 429) or self.status >= 500) and not self.codes & _NO_CREDIT_CODES

    def as_model_error(self) -> ModelError | None:
        """The session's own fault, or None where the fault is the server's or the caller's."""
        if self.status in _ABOUT_THE_CALLER:
            return None
        # 413 is a body too large for the server: nothing but the prompt grows.
        if self.status == 413 or self.codes & _CONTEXT_CODES or _CONTEXT_WORDS.search(self.message):
            return ModelError(self.message, SessionStatus.AGENT_CONTEXT_LIMIT)
        if self._says(_MEMORY_WORDS):
            return ModelError(self.message, SessionStatus.AGENT_OUT_OF_MEMORY)
        if self.status < 500 and self._says(_FILTER_WORDS):
            return ModelError(f"refused by the provider's content filter: {self.message}")
        return None

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
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return ProviderFault(status, one_line(str(error)))
    message = error.get("message") or error.get("detail") or error.get("msg") or error
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("raw"):
        # A gateway's own message says only that the provider behind it failed.
        message = f"{message}: {metadata['raw']}"
    nested = error.get("innererror")
    sources = (error, nested if isinstance(nested, Mapping) else {})
    codes = {str(source[key]) for source in sources for key in ("code", "type") if source.get(key)}
    return ProviderFault(status, one_line(str(message)), frozenset(codes))


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
    """White space collapsed, cut to what fits an error line."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…"
