"""The chat-completions dialect: requests to JSON and JSON to completions. Pure, no input or output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from typing import Literal, TypeAlias, get_args

from perdure.core.errors import ModelError
from perdure.core.parts import Image, Part, Reasoning, Text, ToolCall, ToolResult
from perdure.core.types import JSON, NO_TEXT, Completion, Message, Request, Role, SessionStatus
from perdure.core.usage import TokenLogprob, Usage
from perdure.core.well_formed import well_formed
from perdure.models.parameter_checks import check_choice

SchemaFormat: TypeAlias = Literal["json_schema", "json_schema_strict", "json_object", "off"]
"""How a reply's JSON Schema is asked for: by schema, by schema with the server's strict mode, as any JSON
object (the schema itself is not sent), or not at all."""

MaxTokensField: TypeAlias = Literal["max_tokens", "max_completion_tokens"]

_LARGEST_COUNT = 10**9
"""More tokens than this in one call are a server's slip."""

_ROLES: Mapping[Role, str] = {"system": "system", "user": "user", "agent": "assistant"}


_BLOCKED = frozenset({"content_filter", "refusal", "safety", "blocklist", "prohibited_content", "sensitive"})
"""Finish reasons by which providers say that they withhold a reply."""


class MalformedReply(ValueError):
    """A body that is not a chat completion."""


class EmptyReply(ValueError):
    """A chat completion without any choice."""


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


def chat_messages(message: Message) -> list[dict[str, JSON]]:
    """One message in the dialect; results of tools stand before it, each as a message of its own."""
    if message.is_text:
        return [{"role": _ROLES[message.role], "content": message.text if message.text.strip() else NO_TEXT}]
    chat: list[dict[str, JSON]] = [
        {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
    calls = [_sent_call(part) for part in message.parts if isinstance(part, ToolCall)]
    thoughts = [part.text for part in message.parts if isinstance(part, Reasoning)]
    content = _content(message)
    if content or calls or not chat:
        said: dict[str, JSON] = {"role": _ROLES[message.role], "content": content or NO_TEXT}
        if calls:
            said["content"] = content or None
            said["tool_calls"] = calls
        if thoughts:
            said["reasoning_content"] = "\n".join(thoughts)
        chat.append(said)
    return chat


def _content(message: Message) -> JSON:
    """The text, or text and pictures as parts."""
    if not any(isinstance(part, Image) for part in message.parts):
        return message.text if message.text.strip() else ""
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}
        for part in message.parts
        if isinstance(part, Text | Image)
    ]


def _sent_call(call: ToolCall) -> JSON:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def encode_body(messages: Sequence[Message], fields: Mapping[str, JSON]) -> bytes:
    """A request as UTF-8 JSON: these messages and, beside them, these fields (but no second `messages`)."""
    chat = [sent for message in messages for sent in chat_messages(message)]
    text = dumps({**fields, "messages": chat}, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return well_formed(text).encode()


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
        fields["stop"] = list(sampling.stop)
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


def read_outcome(body: JSON) -> Completion | ModelError:
    """The first choice of a chat completion, or the error that a withheld or impossible reply is.

    A reply without content has the text `""`; a structured refusal's words are the text, with `refusal` as
    the finish reason. Raises EmptyReply, MalformedReply.
    """
    if _has_no_choice(body):
        reason = _block_reason(body)
        if reason:
            return ModelError(f"the provider withheld the reply: {reason}")
        raise EmptyReply("the server answered without a reply")
    completion = read_completion(body)
    if not completion.text and not completion.tool_calls:
        reason = completion.finish_reason.lower()
        if reason in _BLOCKED:
            return ModelError(f"the provider withheld the reply: {reason}")
        if reason == "model_context_window_exceeded":
            return ModelError("the context window is full", SessionStatus.AGENT_CONTEXT_LIMIT)
    return completion


def read_completion(body: JSON) -> Completion:
    """The first choice of a chat completion, which may have no message. Raises MalformedReply."""
    try:
        choice = body["choices"][0]
        message = choice.get("message") or {}
        finish_reason = choice.get("finish_reason") or "stop"
        parts = [*_thoughts(message), *_texts(message.get("content"))]
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal and not any(isinstance(part, Text) for part in parts):
            parts, finish_reason = [*parts, Text(refusal)], "refusal"
        parts += [_tool_call(call) for call in message.get("tool_calls") or ()]
        return Completion(
            parts, str(finish_reason), read_usage(body.get("usage")), _logprobs(choice.get("logprobs"))
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise MalformedReply(f"not a chat completion ({type(error).__name__}: {error})") from error


def _has_no_choice(body: JSON) -> bool:
    return isinstance(body, Mapping) and "choices" in body and body["choices"] in (None, [], [None])


def _block_reason(body: Mapping[str, JSON]) -> str:
    """What the providers that say why a prompt has no reply say, in a word."""
    feedback = body.get("promptFeedback") or body.get("prompt_feedback")
    reason = (
        feedback.get("blockReason") or feedback.get("block_reason") if isinstance(feedback, Mapping) else ""
    )
    if not reason and body.get("prompt_filter_results"):
        reason = "content_filter"
    return str(reason or "").lower()


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


def _thoughts(message: Mapping[str, JSON]) -> list[Part]:
    """What servers with a reasoning parser report beside the content."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(message.get(name), str) and message[name]:
            return [Reasoning(message[name])]
    return []


def _texts(content: JSON) -> list[Part]:
    if content is None:
        return []
    if isinstance(content, str):
        return [Text(content)] if content else []
    parts: list[Part] = []
    for item in content:
        kind = item.get("type")
        if kind == "text" and item["text"]:
            parts.append(Text(item["text"]))
        elif kind in ("thinking", "reasoning"):
            parts.append(Reasoning(_thought(item.get(kind) or item.get("text"))))
    return parts


def _thought(value: JSON) -> str:
    """A text, or texts in parts (Mistral)."""
    if isinstance(value, str):
        return value
    return "".join(part["text"] for part in value or ())


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
