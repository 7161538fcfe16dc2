"""The chat-completions dialect: requests to JSON and JSON to completions. Pure, no input or output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Literal, TypeAlias, get_args

from perdure.core.types import JSON, Completion, Request, Role, TokenLogprob, ToolCall, Usage
from perdure.models.parameter_checks import check_choice

SchemaFormat: TypeAlias = Literal["json_schema", "json_schema_strict", "json_object", "off"]
"""How a reply's JSON Schema is asked for: by schema, by schema with the server's strict mode, as any JSON
object (the schema itself is not sent), or not at all."""

MaxTokensField: TypeAlias = Literal["max_tokens", "max_completion_tokens"]

_LARGEST_COUNT = 10**9
"""More tokens than this in one call are a server's slip."""

_ROLES: Mapping[Role, str] = {"system": "system", "user": "user", "agent": "assistant"}


class MalformedReply(ValueError):
    """A body that is not a chat completion."""


@dataclass(frozen=True)
class ChatOptions:
    """What is the same in every request of one model."""

    model: str = ""
    max_tokens: int | None = None
    """Cap on a reply where the request sets none."""
    max_tokens_field: MaxTokensField = "max_tokens"
    sampling_parameters: bool = True
    """Send temperature and top_p; some reasoning models refuse them."""
    schema_format: SchemaFormat = "json_schema"
    extra_body: Mapping[str, JSON] = field(default_factory=dict)
    """Added last, so that it can override anything but the messages."""

    def __post_init__(self) -> None:
        check_choice("max_tokens_field", self.max_tokens_field, get_args(MaxTokensField))
        check_choice("schema_format", self.schema_format, get_args(SchemaFormat))


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and each lone surrogate replaced by U+FFFD.

    A lone surrogate has no UTF-8 form, and strict JSON parsers refuse its escape too.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def chat_message(role: Role, text: str) -> dict[str, str]:
    """One message in the dialect."""
    return {"role": _ROLES[role], "content": well_formed(text)}


def encode_message(role: Role, text: str) -> bytes:
    """One message as UTF-8 JSON."""
    encoded = dumps({"role": _ROLES[role], "content": text}, ensure_ascii=False)
    try:
        return encoded.encode()
    except UnicodeEncodeError:
        return dumps(chat_message(role, text), ensure_ascii=False).encode()


def request_fields(request: Request, options: ChatOptions) -> dict[str, JSON]:
    """Everything of a request but its messages."""
    sampling = request.sampling
    fields: dict[str, JSON] = {"model": options.model} if options.model else {}
    if options.sampling_parameters:
        fields["temperature"] = sampling.temperature
        fields["top_p"] = sampling.top_p
    max_tokens = sampling.max_tokens if sampling.max_tokens is not None else options.max_tokens
    if max_tokens is not None:
        fields[options.max_tokens_field] = max_tokens
    if sampling.seed is not None:
        fields["seed"] = sampling.seed
    if sampling.stop:
        fields["stop"] = [well_formed(stop) for stop in sampling.stop]
    if request.logprobs:
        fields["logprobs"] = True
        fields["top_logprobs"] = request.logprobs
    if request.tools is not None:
        fields["tools"] = [dict(tool) for tool in request.tools]
    if request.schema is not None:
        fields.update(_response_format(request.schema, options.schema_format))
    fields.update(options.extra_body)
    return fields


def _response_format(schema: Mapping[str, JSON], style: SchemaFormat) -> dict[str, JSON]:
    if style == "off":
        return {}
    if style == "json_object":
        return {"response_format": {"type": "json_object"}}
    named = {"name": "reply", "schema": dict(schema), "strict": style == "json_schema_strict"}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def read_completion(body: JSON) -> Completion:
    """The first choice of a chat completion. Raises MalformedReply.

    Reasoning that a server reports beside the content is not mixed into the text. A reply without content has
    the text `""`; a structured refusal's words are the text, with `refusal` as the finish reason.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
        finish_reason = choice.get("finish_reason") or "stop"
        refusal = message.get("refusal")
        if not text and isinstance(refusal, str) and refusal:
            text, finish_reason = refusal, "refusal"
        return Completion(
            text,
            str(finish_reason),
            read_usage(body.get("usage")),
            tuple(_tool_call(call) for call in message.get("tool_calls") or ()),
            _logprobs(choice.get("logprobs")),
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise MalformedReply(f"not a chat completion ({type(error).__name__}: {error})") from error


def read_usage(usage: JSON) -> Usage:
    """Token counts in the shapes that servers use; 0 for what is left out or beyond 10**9."""
    if not isinstance(usage, Mapping):
        return Usage()
    prompt_details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    completion_details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    return Usage(
        _count(usage, "prompt_tokens", "input_tokens"),
        _count(usage, "completion_tokens", "output_tokens"),
        _count(prompt_details, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens", "cached_tokens"),
        _count(completion_details, "reasoning_tokens") or _count(usage, "reasoning_tokens"),
    )


def _count(counts: JSON, *names: str) -> int:
    if isinstance(counts, Mapping):
        for name in names:
            value = counts.get(name)
            if isinstance(value, int | float) and 0 < value <= _LARGEST_COUNT:
                return int(value)
    return 0


def _text(content: JSON) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _tool_call(call: JSON) -> ToolCall:
    function = call["function"]
    arguments = function.get("arguments") or ""
    # Some servers answer with the parsed object instead of its JSON text.
    raw = arguments if isinstance(arguments, str) else dumps(arguments)
    return ToolCall(str(call.get("id") or ""), str(function["name"]), raw)


def _logprobs(logprobs: JSON) -> tuple[TokenLogprob, ...]:
    if not isinstance(logprobs, Mapping):
        return ()
    return tuple(
        TokenLogprob(
            item["token"],
            float(item["logprob"]),
            {other["token"]: float(other["logprob"]) for other in item.get("top_logprobs") or ()},
        )
        for item in logprobs.get("content") or ()
    )
