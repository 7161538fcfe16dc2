"""Counting a prompt with the server's own tokenizer, where the server offers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from perdure.core.types import JSON, Message
from perdure.models.chat_dialect import MalformedReply, encode_body

TokenCounting: TypeAlias = Literal["estimate", "vllm", "llama.cpp"]
"""`estimate` asks nobody; the others name the server whose endpoint is asked."""


def tokenize_url(counting: TokenCounting, base_url: str) -> str:
    """Where the server counts: vLLM beside its `/v1`, llama.cpp below it."""
    if counting == "vllm":
        return f"{base_url.removesuffix('/v1')}/tokenize"
    return f"{base_url}/chat/completions/input_tokens"


def tokenize_body(model: str, messages: Sequence[Message]) -> bytes:
    """The question, the same for both: a whole prompt, with the mark that opens the reply."""
    return encode_body(messages, {"model": model, "add_generation_prompt": True})


def read_token_count(body: JSON) -> int:
    """Tokens of the prompt under the chat template. Raises MalformedReply."""
    count = (body.get("count") or body.get("input_tokens")) if isinstance(body, dict) else None
    if not isinstance(count, int):
        raise MalformedReply("not a token count")
    return count
