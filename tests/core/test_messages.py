from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.parts import Image, Part, Reasoning, Text, ToolCall, ToolResult, decode_parts, encode_parts
from perdure.core.types import Completion, Message, Role, text_digest
from perdure.core.usage import Usage

TEXTS = st.text(st.characters(codec=None, exclude_categories=()))
PARTS: st.SearchStrategy[Part] = st.one_of(
    TEXTS.map(Text),
    TEXTS.map(Reasoning),
    st.builds(ToolCall, TEXTS, TEXTS, TEXTS),
    st.builds(ToolResult, TEXTS, TEXTS),
    st.builds(Image, TEXTS, TEXTS),
)


@pytest.mark.parametrize("role", ["assistant", "tool", "", None, 3, ["user"][:0] or "User"])
def test_an_unknown_role_is_refused_where_it_is_written(role: Any) -> None:
    with pytest.raises(ValueError, match="a message's role is 'system', 'user' or 'agent', not") as caught:
        Message(role, "x")
    assert repr(role) in str(caught.value)


@pytest.mark.parametrize("content", [None, 3, b"x"[0], ["text"], [None], [Text], {"a": 1}])
def test_a_content_that_is_none_is_refused_where_it_is_written(content: Any) -> None:
    with pytest.raises(
        TypeError, match=r"a content is a text or parts, not|a part is one of text, reasoning,"
    ):
        Message("user", content)
    with pytest.raises(TypeError):
        Completion(content)


@given(st.sampled_from(get_args(Role)), TEXTS)
def test_a_text_is_a_message_of_one_part(role: Role, text: str) -> None:
    message = Message(role, text)
    assert message.text == message.content == text
    assert message.is_text
    assert message.digest == text_digest(text)
    assert message == Message(role, [Text(text)] if text else [])
    with pytest.raises(FrozenInstanceError):
        message.role = "user"  # type: ignore[misc]


@given(st.lists(PARTS, max_size=5))
def test_parts_come_back_from_json(parts: list[Part]) -> None:
    assert decode_parts(encode_parts(parts)) == tuple(parts)
    message = Message("agent", parts)
    assert message.text == "".join(part.text for part in parts if isinstance(part, Text))
    assert hash(message) == hash(Message("agent", tuple(parts)))


@given(st.lists(PARTS, max_size=3), st.lists(PARTS, max_size=3))
def test_other_parts_have_another_digest(one: list[Part], other: list[Part]) -> None:
    same = Message("user", one).content == Message("user", other).content
    assert (Message("user", one).digest == Message("user", other).digest) == same


def test_a_reply_is_told_by_its_parts() -> None:
    call = ToolCall("1", "f", "{}")
    reply = Completion([Reasoning("a"), Text("b"), call, Text("c")], "tool_calls", Usage(1, 2))
    assert (reply.text, reply.reasoning, reply.tool_calls) == ("bc", ("a",), (call,))
    assert reply.having("x") == Completion("x", "tool_calls", Usage(1, 2))
    assert Completion("x", seconds=1.0) == Completion("x"), "how long it took does not make another reply"
