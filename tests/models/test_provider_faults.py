from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.types import SessionStatus
from perdure.models.provider_faults import fault_within, one_line, read_fault

CONTEXT_REFUSALS: list[tuple[int, Any]] = [
    # OpenAI, by code and by words
    (
        400,
        {"error": {"message": "too big", "type": "invalid_request_error", "code": "context_length_exceeded"}},
    ),
    (400, {"error": {"message": "This model's maximum context length is 8192 tokens. However, ..."}}),
    (400, {"error": {"message": "Your input exceeds the context window of this model."}}),
    (400, {"error": {"message": "Invalid 'messages[0].content'", "code": "string_above_max_length"}}),
    # vLLM, flat and nested
    (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400}),
    (
        400,
        {"error": {"message": "The decoder prompt (length 9) is longer than the maximum model length of 8"}},
    ),
    # SGLang
    (400, {"message": "The input (61709 tokens) is longer than the model's context length (40960 tokens)."}),
    (400, {"message": "Requested token count exceeds the model's maximum context length of 4096 tokens."}),
    (400, {"message": "Input length (9 tokens) exceeds the maximum allowed length (8 tokens)."}),
    # llama.cpp, new and old
    (400, {"error": {"code": 400, "type": "exceed_context_size_error", "message": "request (9 tokens) ..."}}),
    (500, {"error": {"message": "the request exceeds the available context size. try increasing it"}}),
    # Ollama
    (500, {"error": "the input length exceeds the context length"}),
    # OpenRouter, with the provider's words in the metadata
    (400, {"error": {"message": "This endpoint's maximum context length is 131072 tokens.", "code": 400}}),
    (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "metadata": {"raw": '{"message": "prompt is too long: 201 tokens > 200 maximum"}'},
            }
        },
    ),
    # text-generation-inference
    (422, {"error": "`inputs` must have less than 1024 tokens. Given: 5000", "error_type": "validation"}),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048."}),
    # vendors behind gateways
    (
        400,
        {"error": {"message": "Prompt too large for model with 32768 maximum context length"}},
    ),
    (
        400,
        {
            "error": {
                "message": "The input token count (12) exceeds the maximum number of tokens allowed (9)."
            }
        },
    ),
    (400, {"error": {"message": "input length and `max_tokens` exceed context limit: 1 + 2 > 2"}}),
    (
        400,
        {
            "error": {
                "message": "This model's maximum prompt length is 131072 but the request contains 140000"
            }
        },
    ),
    # LM Studio
    (400, {"error": "However, the model is loaded with context length of only 32768 tokens"}),
    # a proxy in front
    (413, "<html><body><h1>413 Request Entity Too Large</h1></body></html>"),
]


def encoded(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


@pytest.mark.parametrize(("status", "body"), CONTEXT_REFUSALS)
def test_a_prompt_that_is_too_long_is_the_session_s_context_limit(status: int, body: Any) -> None:
    error = read_fault(status, encoded(body)).as_model_error()
    assert error is not None
    assert error.status is SessionStatus.AGENT_CONTEXT_LIMIT


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "CUDA out of memory. Tried to allocate 2 GiB"}},
        {"error": "cudaMalloc failed: allocating 90.0 MiB on device 0"},
        {"error": {"message": "engine failure", "type": "OutOfMemoryError"}},
    ],
)
def test_a_server_out_of_memory(body: Any) -> None:
    error = read_fault(500, encoded(body)).as_model_error()
    assert error is not None
    assert error.status is SessionStatus.AGENT_OUT_OF_MEMORY


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "The response was filtered", "code": "content_filter"}}),
        (400, {"error": {"message": "no", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
        (400, {"error": {"message": "Your request was rejected by our safety system."}}),
        (403, {"error": {"message": "model requires moderation; your input was flagged", "code": 403}}),
    ],
)
def test_a_content_filter_s_refusal_is_data(status: int, body: Any) -> None:
    error = read_fault(status, encoded(body)).as_model_error()
    assert error is not None
    assert error.status is SessionStatus.AGENT_UNKNOWN_ERROR
    assert "content filter" in str(error)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "Incorrect API key provided: sk-...abcd"),
        (403, "You do not have access to this model"),
        (404, "The model `x` does not exist. See its context window and maximum context length."),
        (400, "Unrecognized request argument supplied: foo"),
        (422, "field required"),
        (402, "Insufficient credits"),
        (418, "I'm a teapot"),
    ],
)
def test_other_refusals_are_neither_data_nor_passing(status: int, message: str) -> None:
    fault = read_fault(status, encoded({"error": {"message": message}}))
    assert fault.as_model_error() is None
    assert not fault.is_passing
    assert fault.message == message


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_these_statuses_pass(status: int) -> None:
    fault = read_fault(status, b"busy")
    assert fault.is_passing
    assert fault.as_model_error() is None


def test_an_empty_account_does_not_refill_by_waiting() -> None:
    fault = read_fault(429, encoded({"error": {"message": "quota", "code": "insufficient_quota"}}))
    assert not fault.is_passing


def test_a_rate_limit_that_speaks_of_tokens_is_not_a_context_limit() -> None:
    message = "Request too large on tokens per min. Please reduce the length of the messages."
    assert read_fault(429, encoded({"error": {"message": message}})).as_model_error() is None


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, 429),
        ({"error": {"code": "weird", "message": "?"}}, 502),
        ({"error": "text"}, 502),
        ({"choices": [{"error": {"code": 503, "message": "gone"}, "finish_reason": "error"}]}, 503),
    ],
)
def test_a_gateway_s_error_inside_a_success(body: Any, status: int) -> None:
    fault = fault_within(body)
    assert fault is not None
    assert fault.status == status


def test_a_success_is_no_fault() -> None:
    assert fault_within({"choices": [{"message": {"content": "error"}}], "error": None}) is None
    assert fault_within([1]) is None


def test_html_loses_its_tags() -> None:
    assert read_fault(502, b"<html>\n<h1>Bad  Gateway</h1></html>").message == "Bad Gateway"


@given(st.integers(400, 599), st.binary())
def test_any_body_gives_a_fault_with_one_line(status: int, body: bytes) -> None:
    fault = read_fault(status, body)
    fault.as_model_error()
    assert "\n" not in fault.message


@given(st.text())
def test_a_line_is_bounded(text: str) -> None:
    assert len(one_line(text * 50)) <= 501
    assert one_line(text) == " ".join(text.split())[:500] + ("…" if len(" ".join(text.split())) > 500 else "")
