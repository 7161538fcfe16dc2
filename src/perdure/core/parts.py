"""What messages and replies are made of: texts, thoughts, calls of tools and their results, pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Text:
    """What is said."""

    text: str


@dataclass(frozen=True)
class Reasoning:
    """What a model thought before it spoke: recorded, never carried out, never sent again by itself."""

    text: str


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that a model asked for; `arguments` is the raw JSON text it wrote."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ToolResult:
    """What a called tool returned."""

    call_id: str
    text: str


@dataclass(frozen=True)
class Image:
    """A picture in base64, with its media type (`image/png`)."""

    media_type: str
    data: str


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Image

_PART_NAMES: Mapping[type, str] = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "tool_call",
    ToolResult: "tool_result",
    Image: "image",
}
_PARTS: Mapping[str, Callable[..., Part]] = {
    "text": Text,
    "reasoning": Reasoning,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
    "image": Image,
}


def encode_parts(parts: Iterable[Part]) -> list[dict[str, str]]:
    """Parts as JSON."""
    return [{"is": _PART_NAMES[type(part)], **vars(part)} for part in parts]


def decode_parts(items: Iterable[Mapping[str, str]]) -> tuple[Part, ...]:
    """The inverse of `encode_parts`. Raises KeyError or TypeError for anything else."""
    return tuple(_PARTS[item["is"]](**{key: item[key] for key in item if key != "is"}) for item in items)


def checked_parts(content: str | Iterable[Part]) -> tuple[Part, ...]:
    """The parts of a content; an empty text is none. Raises TypeError."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    try:
        parts = tuple(content)
    except TypeError:
        raise TypeError(f"a content is a text or parts, not {content!r:.80}") from None
    for part in parts:
        if type(part) not in _PART_NAMES:
            raise TypeError(f"a part is one of {', '.join(_PART_NAMES.values())}, not {part!r:.80}")
    return tuple(part for part in parts if part != Text(""))  # a text that says nothing is none


def is_one_text(parts: Sequence[Part]) -> bool:
    """There is no other part than one text."""
    return not parts or (len(parts) == 1 and isinstance(parts[0], Text))


def said(parts: Sequence[Part]) -> str:
    """Every text, one after the other."""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return "".join(part.text for part in parts if isinstance(part, Text))
