from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import ConfigError, ModelError
from perdure.core.parts import Image, Reasoning, Text, ToolCall, ToolResult
from perdure.core.types import Completion, Message, Request, Role, Sampling, SessionStatus
from perdure.core.usage import TokenLogprob, Usage
from perdure.core.well_formed import well_formed
from perdure.models.chat_dialect import (
    ChatOptions,
    EmptyReply,
    MalformedReply,
    encode_body,
    read_completion,
    read_outcome,
    read_usage,
    request_fields,
)

ROLES: tuple[Role, ...] = ("system", "user", "agent")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
PROMPT = (Message("user", "hi"),)


def body_of(request: Request, **options: Any) -> dict[str, Any]:
    body = encode_body(request.messages, request_fields(request, ChatOptions(**options)))
    parsed: dict[str, Any] = json.loads(body)
    return parsed


def reply(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, **choice}]}


def test_greedy_decoding_is_said_explicitly_and_roles_are_translated() -> None:
    request = Request((Message("system", "s"), Message("user", "u"), Message("agent", "a")))
    assert body_of(request, model="m") == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "a"},
        ],
        "temperature": 0.0,
        "top_p": 1.0,
    }


def test_every_sampling_field_is_sent() -> None:
    sampling = Sampling(0.7, 0.9, seed=5, max_tokens=11, stop=("\n", "END"))
    body = body_of(Request(PROMPT, logprobs=3, sampling=sampling))
    assert {name: body[name] for name in body if name != "messages"} == {
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 5,
        "max_tokens": 11,
        "stop": ["\n", "END"],
        "logprobs": True,
        "top_logprobs": 3,
    }


def test_sampling_parameters_can_be_left_out_and_the_token_field_renamed() -> None:
    body = body_of(
        Request(PROMPT, sampling=Sampling(max_tokens=9)),
        sampling_parameters=False,
        max_tokens_field="max_completion_tokens",
    )
    assert body == {"messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 9}


def test_the_model_s_cap_applies_where_the_request_has_none() -> None:
    assert body_of(Request(PROMPT), max_tokens=100)["max_tokens"] == 100
    assert body_of(Request(PROMPT, sampling=Sampling(max_tokens=5)), max_tokens=100)["max_tokens"] == 5


def test_the_extra_body_overrides_everything_but_the_messages() -> None:
    body = body_of(Request(PROMPT), extra_body={"temperature": 1, "top_k": 40, "messages": []})
    assert (body["temperature"], body["top_k"], len(body["messages"])) == (1, 40, 1)


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("json_schema", {"type": "json_schema", "strict": False}),
        ("json_schema_strict", {"type": "json_schema", "strict": True}),
        ("json_object", {"type": "json_object", "strict": None}),
        ("off", None),
    ],
)
def test_a_schema_is_asked_for_in_the_configured_way(style: str, expected: dict[str, Any] | None) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    response_format = body_of(Request(PROMPT, schema=schema), schema_format=style).get("response_format")
    if expected is None or response_format is None:
        assert response_format == expected
        return
    assert response_format["type"] == expected["type"]
    assert response_format.get("json_schema", {}).get("strict") == expected["strict"]
    if style.startswith("json_schema"):
        assert response_format["json_schema"]["schema"] == schema


def test_tools_are_sent_as_they_are() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    assert body_of(Request(PROMPT, tools=[tool]))["tools"] == [tool]


@pytest.mark.parametrize("option", ["max_tokens_field", "schema_format"])
def test_an_unknown_choice_names_the_valid_ones(option: str) -> None:
    with pytest.raises(ConfigError, match=f"{option} = 'wrong'; choose one of: (max_tokens|json_schema),"):
        ChatOptions(**{option: "wrong"})  # type: ignore[arg-type]


def as_utf8(text: str) -> str:
    """Pairs joined, each lone surrogate replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@given(st.lists(st.tuples(st.sampled_from(ROLES), st.text(st.characters())), max_size=5))
def test_any_text_survives_encoding(items: list[tuple[Role, str]]) -> None:
    body = body_of(Request(tuple(Message(role, text) for role, text in items)))
    assert [message["content"] for message in body["messages"]] == [
        as_utf8(text) if text.strip() else "(no text)" for _, text in items
    ]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_well_formed_text_is_left_alone(text: str) -> None:
    assert well_formed(text) == text


def test_lone_surrogates_become_the_replacement_character_and_pairs_are_joined() -> None:
    assert well_formed("a\ud800b\udc00c\ud83d\ude00d") == "a�b�c😀d"
    assert json.loads(encode_body([Message("user", "x\udfff")], {})) == {
        "messages": [{"role": "user", "content": "x�"}]
    }
    assert body_of(Request(PROMPT, sampling=Sampling(stop=("\ud800",))))["stop"] == ["�"]


def test_an_empty_reply_is_a_completion() -> None:
    for content in ({"content": ""}, {"content": None}, {}):
        assert read_completion(reply(content, finish_reason="stop")) == Completion("")


@pytest.mark.parametrize(
    "message",
    [
        {"content": "answer", "reasoning_content": "thinking"},
        {"content": "answer", "reasoning": "thinking", "reasoning_details": [{"text": "thinking"}]},
        {"content": [{"type": "thinking", "thinking": "thinking"}, {"type": "text", "text": "answer"}]},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "think"}, {"text": "ing"}]},
                {"type": "text", "text": "ans"},
                {"type": "text", "text": "wer"},
                {"type": "image_url", "image_url": {}},
            ]
        },
    ],
)
def test_reasoning_is_not_mixed_into_the_text(message: dict[str, Any]) -> None:
    completion = read_completion(reply(message))
    assert (completion.text, completion.reasoning) == ("answer", ("thinking",))


def test_parts_are_sent_as_the_dialect_has_them() -> None:
    call = ToolCall("c1", "add", '{"n": 3}')
    messages = (
        Message("user", [Text("look: "), Image("image/png", "AAAA")]),
        Message("agent", [Reasoning("hm"), Text("I add."), call]),
        Message("user", [ToolResult("c1", "4"), ToolResult("c2", "5"), Text("Go on.")]),
        Message("agent", [call]),
        Message("user", [ToolResult("c1", "7")]),
        Message("agent", [Reasoning("only thought")]),
    )
    sent = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"n": 3}'}}
    assert body_of(Request(messages))["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look: "},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        },
        {"role": "assistant", "content": "I add.", "tool_calls": [sent], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
        {"role": "tool", "tool_call_id": "c2", "content": "5"},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": None, "tool_calls": [sent]},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
        {"role": "assistant", "content": "(no text)", "reasoning_content": "only thought"},
    ]


def test_a_refusal_in_words_is_the_text() -> None:
    completion = read_completion(reply({"content": None, "refusal": "I will not."}, finish_reason="stop"))
    assert (completion.text, completion.finish_reason) == ("I will not.", "refusal")


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"finish_reason": "content_filter"}]},
        {"choices": [{"finish_reason": "SAFETY", "message": None}]},
        reply({"content": ""}, finish_reason="refusal"),
        {"choices": [], "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
        {"choices": [], "prompt_filter_results": [{"content_filter_results": {}}]},
    ],
)
def test_a_reply_that_was_withheld_is_an_error(body: Any) -> None:
    outcome = read_outcome(body)
    assert isinstance(outcome, ModelError)
    assert str(outcome).startswith("the provider withheld the reply: ")


def test_a_full_context_window_is_a_context_limit() -> None:
    outcome = read_outcome(reply({"content": ""}, finish_reason="model_context_window_exceeded"))
    assert isinstance(outcome, ModelError)
    assert outcome.status is SessionStatus.AGENT_CONTEXT_LIMIT
    cut = read_outcome(reply({"content": "as f"}, finish_reason="model_context_window_exceeded"))
    assert isinstance(cut, Completion)


@pytest.mark.parametrize("choices", [[], None, [None]])
def test_no_choice_is_no_reply(choices: Any) -> None:
    with pytest.raises(EmptyReply):
        read_outcome({"choices": choices})


def test_tool_calls_are_read_with_their_raw_arguments() -> None:
    calls = [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1'}},
        {"function": {"name": "g", "arguments": {"b": 2}}},
    ]
    completion = read_completion(reply({"content": None, "tool_calls": calls}, finish_reason="tool_calls"))
    assert completion.tool_calls == (ToolCall("1", "f", '{"a": 1'), ToolCall("", "g", '{"b": 2}'))
    assert completion.finish_reason == "tool_calls"


def test_logprobs_are_read_with_their_alternatives() -> None:
    top = [{"token": "a", "logprob": -0.1}, {"token": "b", "logprob": -3}]
    logprobs = {"content": [{"token": "a", "logprob": -0.1, "top_logprobs": top}]}
    completion = read_completion(reply({"content": "a"}, logprobs=logprobs))
    assert completion.logprobs == (TokenLogprob("a", -0.1, {"a": -0.1, "b": -3.0}),)
    assert read_completion(reply({"content": "a"}, logprobs=None)).logprobs == ()


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(5, 2)),
        (
            {
                "prompt_tokens": 50,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 40},
                "completion_tokens_details": {"reasoning_tokens": 12},
            },
            Usage(50, 20, 40, 12),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "prompt_tokens_details": None,
                "reasoning_tokens": 1,
            },
            Usage(9, 1, 0, 1),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "prompt_cache_hit_tokens": 8,
                "prompt_cache_miss_tokens": 1,
            },
            Usage(9, 1, 8, 0),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 3}, Usage(9, 1, 3)),
        (
            {"input_tokens": 4, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}},
            Usage(4, 2, 1),
        ),
        ({"prompt_tokens": -1, "completion_tokens": "many"}, Usage()),
        ({"prompt_tokens": float("inf"), "completion_tokens": float("nan")}, Usage()),
        ({"prompt_tokens": 10**9, "completion_tokens": 10**9 + 1}, Usage(10**9, 0)),
    ],
)
def test_usage_of_every_server_shape(usage: Any, expected: Usage) -> None:
    assert read_usage(usage) == expected


@given(JSON_VALUES)
def test_json_of_any_other_shape_is_malformed_and_nothing_else(value: Any) -> None:
    for body in (value, {"choices": value}, {"choices": [value]}, {"choices": [{"message": value}]}):
        try:
            completion = read_completion(body)
        except MalformedReply:
            continue
        assert isinstance(completion.text, str)


@given(JSON_VALUES, JSON_VALUES, JSON_VALUES, JSON_VALUES)
def test_strange_parts_of_a_reply_never_crash(content: Any, calls: Any, usage: Any, logprobs: Any) -> None:
    body = reply({"content": content, "tool_calls": calls}, logprobs=logprobs) | {"usage": usage}
    try:
        completion = read_completion(body)
    except MalformedReply:
        return
    assert completion.usage.prompt_tokens >= 0
