"""A model's text, cleaned once where it enters: well-formed, and what is thought told from what is said.

Servers without a reasoning parser hand out thoughts inside the text. They are recorded, never carried out:

- *Harmony*: a text that begins with a channel mark is read as `<|channel|>NAME<|message|>…` segments: `final`
  is said, a segment addressed to a function is a tool call, the others are thought. Also where a decoder
  dropped the marks (`analysis…assistantfinal…`).
- *A think block* at the beginning of the text, several after one another, or one that never ends: thought.
- *A lone end of thinking* (the beginning stood in the prompt): what comes before it is thought. It counts at
  the beginning of a line, directly behind a character, or before an empty line, and neither quoted nor inside
  a code block or code span: there, or after a beginning of its own, it is talked about.

Everything else is said, tags in it included. Cleaning what was cleaned changes nothing. Linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from perdure.core.parts import Image, Part, Reasoning, Text, ToolCall, decode_parts, encode_parts
from perdure.core.types import Completion
from perdure.core.well_formed import well_formed

# The marks of DeepSeek, Qwen and most others; of prompts for Claude; of Magistral, Kimi, Cohere, Seed.
_MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
)
_END_OF = {begin.lower(): end for begin, end in _MARKS}
_BEGIN = re.compile("|".join(re.escape(begin) for begin, _ in _MARKS), re.IGNORECASE)
_END = re.compile("|".join(re.escape(end) for _, end in _MARKS), re.IGNORECASE)
_MARK = re.compile(f"{_BEGIN.pattern}|{_END.pattern}", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_ROUNDS = 64
"""Blocks after one another that are split off one by one; a text with more is nobody's thinking."""

_LINE = 500
"""Characters of a line that are looked at for a quotation mark."""

_OPENING, _CLOSING = "'\"“‘«", "”’»"
_BEFORE_QUOTES = " \t=(:,[{"
_EMPTY_LINE = re.compile(r"[ \t]*\n[ \t]*\n")

_CHANNEL = re.compile(r"\s*(?:<\|start\|>\s*assistant)?\s*<\|channel\|>")
_HEADER = r"<\|channel\|>\s*(?P<channel>\w++)(?P<address>[^\n<]*+(?:<\|constrain\|>[^\n<]*+)?)<\|message\|>"
_SEGMENT = re.compile(
    _HEADER + r"(?P<content>.*?)(?:<\|(?:end|return|call)\|>"
    r"|(?=<\|start\|>\w*<\|channel\|>)|(?=<\|channel\|>\w++[^\n<]*+<\|)|\Z)",
    re.DOTALL,
)
_RECIPIENT = re.compile(r"to=(?:functions\.)?(?P<name>[\w.-]+)")
_UNMARKED_HARMONY = re.compile(r"\s*analysis(?P<thought>\S.*?)assistantfinal(?P<said>.*)", re.DOTALL)


@dataclass(frozen=True)
class CleanReply:
    """What was said, and beside it what was thought and which tools were called inside the text."""

    text: str
    reasoning: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()


def clean_reply(text: str) -> CleanReply:
    """A reply as it enters. Never raises."""
    text = well_formed(text)
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for _ in range(_ROUNDS):
        split = _harmony(text) or _think_block(text) or _lone_end(text)
        if split is None:
            break
        text = split.text
        thoughts += filter(None, (thought.strip() for thought in split.reasoning))
        calls += split.tool_calls
    return CleanReply(text, tuple(thoughts), tuple(calls))


def clean_completion(reply: Completion) -> Completion:
    """A whole reply as it enters: its text read, the other parts made well-formed."""
    parts: list[Part] = []
    for part in reply.parts:
        if isinstance(part, Text):
            clean = clean_reply(part.text)
            parts += map(Reasoning, clean.reasoning)
            parts += [Text(clean.text)] if clean.text else []
            parts += clean.tool_calls
        elif isinstance(part, Image):
            parts.append(part)
        else:
            fields = (
                {name: well_formed(text) for name, text in item.items()} for item in encode_parts([part])
            )
            parts += decode_parts(fields)
    return reply if tuple(parts) == reply.parts else reply.having(parts)


def _think_block(text: str) -> CleanReply | None:
    begin = _BEGIN.match(text.lstrip())
    if begin is None:
        return None
    inside = text.lstrip()[begin.end() :]
    end = re.search(re.escape(_END_OF[begin[0].lower()]), inside, re.IGNORECASE)
    if end is None:
        return CleanReply("", (inside,))
    return CleanReply(inside[end.end() :].lstrip(), (inside[: end.start()],))


def _lone_end(text: str) -> CleanReply | None:
    if _END.search(text) is None:
        return None
    starts, ends = _code(text)
    last: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        block = bisect_right(starts, mark.start()) - 1
        if block >= 0 and mark.start() < ends[block]:
            continue
        if _BEGIN.fullmatch(mark[0]):
            break
        if _ends_thinking(text, mark):
            last = mark
    if last is None:
        return None
    return CleanReply(text[last.end() :].lstrip(), (text[: last.start()],))


def _code(text: str) -> tuple[list[int], list[int]]:
    """Where code blocks and code spans start and end. A block that is never closed is none."""
    starts: list[int] = []
    ends: list[int] = []
    fence, opened, position = "", 0, 0
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and line.strip() == mark[1]:
                starts.append(opened)
                ends.append(position + len(line))
                fence = ""
        elif mark is not None:
            fence, opened = mark[1], position
        else:
            for span in _CODE_SPAN.finditer(line):
                starts.append(position + span.start())
                ends.append(position + span.end())
        position += len(line) + 1
    return starts, ends


def _ends_thinking(text: str, end: re.Match[str]) -> bool:
    first = max(0, end.start() - _LINE)
    line = text[max(first, text.rfind("\n", first, end.start()) + 1) : end.start()]
    if not line.strip():
        return True
    if _is_quoting(line):
        return False
    return not line[-1].isspace() or _EMPTY_LINE.match(text, end.end()) is not None


def _is_quoting(line: str) -> bool:
    """A quotation or a bracket is open where the line breaks off."""
    last = max(line.rfind(mark) for mark in _OPENING + _CLOSING)
    opens = line[last : last + 1] in tuple(_OPENING) and (last == 0 or line[last - 1] in _BEFORE_QUOTES)
    return opens or line[-1] in "(["


def _harmony(text: str) -> CleanReply | None:
    unmarked = _UNMARKED_HARMONY.match(text)
    if unmarked is not None:
        return CleanReply(unmarked["said"].strip(), (unmarked["thought"],))
    if not _CHANNEL.match(text):
        return None
    said: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for segment in _SEGMENT.finditer(text):
        content = segment["content"].strip()
        recipient = _RECIPIENT.search(segment["address"])
        if recipient is not None:
            calls.append(ToolCall("", recipient["name"], content))
        elif segment["channel"] == "final":
            said.append(content)
        else:
            thoughts.append(content)
    if not (said or thoughts or calls):
        thoughts = [text]  # cut off before the first word
    return CleanReply("\n".join(said), tuple(thoughts), tuple(calls))
