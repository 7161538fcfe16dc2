"""Any server that speaks the chat-completions dialect: vLLM, SGLang, llama.cpp, Ollama, gateways, vendors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, get_args

from perdure.core.errors import ConfigError, ModelUnavailable
from perdure.core.model import Outcome, timed
from perdure.core.parameters import Operational
from perdure.core.types import JSON, Message, Request
from perdure.core.usage import TokenCount
from perdure.models.as_answered import as_answered
from perdure.models.chat_dialect import (
    ChatOptions,
    MaxTokensField,
    SchemaFormat,
    encode_body,
    read_outcome,
    request_fields,
)
from perdure.models.http_transport import HttpTransport
from perdure.models.parameter_checks import check_choice
from perdure.models.retry import RetryPolicy
from perdure.models.token_estimate import estimate_messages
from perdure.models.tokenize_endpoint import TokenCounting, read_token_count, tokenize_body, tokenize_url

if TYPE_CHECKING:
    from httpx import BaseTransport
else:
    # The registry reads these hints; importing httpx for one of them would slow every `list`.
    BaseTransport = Any

_LARGEST_PORT = 65535
_IS_FOR_KEYS = re.compile(r"(proxy-)?authorization|cookie|(.*-)?api-?key|.*-token", re.IGNORECASE)


class OpenAICompatibleModel:
    """A model behind an HTTP server.

    What to ask:
    `model`: the server's name for it. `base_url`: the address up to and including `/v1`.
    `api_key_env`: the environment variable that holds the key; unset is fine for servers that want none.
    `headers`, `extra_body`: added to every request (`extra_body` may override any field but the messages);
    no secrets here, and none in the address: run folders keep both.

    How to draw:
    `max_tokens`: cap on a reply where the request sets none. `max_tokens_field`: `max_tokens`, or
    `max_completion_tokens` as newer vendor models want it. `sampling_parameters`: false leaves out
    temperature and top_p, for reasoning models that refuse them. `schema_format`: `json_schema`,
    `json_schema_strict`, `json_object` or `off`. `context_window`: tokens, where known; only told to others,
    never enforced here. `token_counting`: `estimate`, or `vllm` or `llama.cpp` to ask that server.

    How long to try:
    `timeout`: seconds for one attempt. `max_concurrency`: requests under way at once, over all threads.
    `max_retries`: attempts after the first, on 408, 409, 429, 5xx, connection errors, timeouts and
    unreadable answers. `max_wait_seconds`: no request takes longer, pauses included. `first_pause`: seconds,
    doubled with each attempt, drawn with full jitter; `Retry-After` is honoured, but never past the cap.
    `transport`: replaces the network; not for configuration files.

    Raises ConfigError for a value that cannot work.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: Annotated[str, Operational] = "https://api.openai.com/v1",
        api_key_env: Annotated[str, Operational] = "OPENAI_API_KEY",
        headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, JSON] | None = None,
        max_tokens: int | None = None,
        max_tokens_field: MaxTokensField = "max_tokens",
        sampling_parameters: bool = True,
        schema_format: SchemaFormat = "json_schema",
        context_window: int | None = None,
        token_counting: TokenCounting = "estimate",
        timeout: Annotated[float, Operational] = 300.0,
        max_concurrency: Annotated[int, Operational] = 8,
        max_retries: Annotated[int, Operational] = 6,
        max_wait_seconds: Annotated[float, Operational] = 900.0,
        first_pause: Annotated[float, Operational] = 0.5,
        transport: Annotated[BaseTransport | None, Operational] = None,
    ) -> None:
        check_choice("token_counting", token_counting, get_args(TokenCounting))
        self.model = model
        self.context_window = context_window
        self.max_concurrency = max_concurrency
        self.pure = True
        self.constrains_replies = schema_format != "off"
        self._base_url = _checked_url(base_url)
        self._chat_url = f"{self._base_url}/chat/completions"
        self._counting: TokenCounting = token_counting
        self._options = ChatOptions(
            model, max_tokens, max_tokens_field, sampling_parameters, schema_format, dict(extra_body or {})
        )
        key = _read_key(api_key_env)
        self._transport = HttpTransport(
            headers=_without_keys(headers or {}),
            key=key,
            timeout=timeout,
            max_concurrency=max_concurrency,
            retry=RetryPolicy(max_retries, max_wait_seconds, first_pause),
            hint=f"the environment variable {api_key_env} " + ("holds the key" if key else "is not set"),
            transport=transport,
        )

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        """Each outcome as it arrives; a batch is sent by up to `max_concurrency` threads.

        Raises ModelUnavailable when the server is down, refuses the caller, or cannot be understood.
        """
        return as_answered(self._ask, requests, self.max_concurrency)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """The server's own count where `token_counting` names its endpoint, else an estimate."""
        if self._counting == "estimate":
            return estimate_messages(messages)
        url = tokenize_url(self._counting, self._base_url)
        outcome, _ = self._transport.post(url, tokenize_body(self.model, messages), read_token_count)
        if isinstance(outcome, int):
            return TokenCount(outcome, exact=True)
        raise ModelUnavailable(f"{url} cannot count tokens: {outcome}")

    def close(self) -> None:
        """Close the connections. Idempotent."""
        self._transport.close()

    def _ask(self, request: Request, stop: Event) -> Outcome:
        body = encode_body(request.messages, request_fields(request, self._options))
        return timed(*self._transport.post(self._chat_url, body, read_outcome, stop))


def _without_keys(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers. Raises ConfigError for one that carries a key: run folders keep what is configured."""
    for name in headers:
        if _IS_FOR_KEYS.fullmatch(name):
            raise ConfigError(f"headers.{name}: run folders keep headers; name a variable with api_key_env")
    return headers


def _checked_url(url: str) -> str:
    import httpx

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigError(f"base_url = {url!r} is not an address: {error}") from error
    if parsed.userinfo:
        raise ConfigError("base_url must not hold a user name or password; name a variable with api_key_env")
    if parsed.query or parsed.fragment:
        raise ConfigError("base_url must end with a path: what stands behind a ? or # is no part of it")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError(f"base_url = {url!r} must look like http://host:port/v1 or https://host/v1")
    try:
        # What the resolver does with a name: a label is 1 to 63 characters (RFC 1035, 2.3.4).
        parsed.raw_host.decode().encode("idna")
    except UnicodeError as error:
        raise ConfigError(f"base_url = {url!r} has a host that cannot be looked up: {error}") from error
    if parsed.port is not None and parsed.port > _LARGEST_PORT:
        raise ConfigError(f"base_url = {url!r}: a port is at most {_LARGEST_PORT}")
    return url.rstrip("/")


def _read_key(variable: str) -> str:
    key = os.environ.get(variable, "").strip() if variable else ""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the key in the environment variable {variable} holds a character no header can carry"
        )
    return key


MODEL = OpenAICompatibleModel
