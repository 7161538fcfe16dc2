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

# Each as its server words it, under the status that it uses.
CONTEXT_WORDINGS: list[tuple[int, str]] = [
    # OpenAI, Azure
    (
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    ),
    (
        400,
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens.",
    ),
    (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    (
        429,
        "Request too large for gpt-4o in o on tokens per min (TPM): Limit 30000, Requested 45,000.",
    ),
    # Anthropic
    (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    (
        400,
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
    ),
    (413, "Request exceeds the maximum size"),
    # Google, Vertex
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    (
        400,
        "the input token count is 40000 but model only supports up to 32768.",
    ),
    # Mistral, Cohere, Perplexity, xAI
    (
        400,
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    ),
    (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292."),
    (400, "The total length of all messages is too long"),
    (400, "This model's maximum prompt length is 131072 but the request contains 200000 tokens."),
    # Groq, Cerebras, Together, Fireworks, DeepSeek, OpenRouter
    (400, "Please reduce the length of the messages or completion."),
    (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000"),
    (
        400,
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    ),
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000"),
    (400, "The input (516368 tokens) is longer than the model's context length (262144 tokens)."),
    (400, "The prompt is too long: 150000, model maximum context length: 131071"),
    (
        400,
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens",
    ),
    (400, "Input of 300000 tokens exceeds the maximum allowed input length of 262144 tokens."),
    # vLLM, text-generation-inference, SGLang
    (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
    (
        400,
        "'max_tokens' is too large: 4096. This model's maximum context length is 8192 tokens",
    ),
    (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
    (400, "Input prompt (5000 tokens) is too long and exceeds limit of 4096"),
    (400, "Requested token count exceeds the model's maximum context length of 131072 tokens."),
    (
        503,
        "litellm.APIConnectionError: Requested token count exceeds the model's maximum context length of 9.",
    ),
    # llama.cpp, Ollama, LM Studio
    (400, "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"),
    (500, "Context size has been exceeded."),
    (500, "input is too large to process. increase the physical batch size"),
    (400, "prompt too long; exceeded max context length by 1200 tokens"),
    (400, "input length exceeds the context length"),
    (
        400,
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with "
        "context length of only 4096 tokens, which is not enough.",
    ),
    (400, "The number of tokens to keep from the initial prompt is greater than the context length"),
    # Bedrock
    (400, "Input is too long for requested model."),
    (400, "Too many input tokens. Max input tokens: 8192, request input token count: 9000"),
    (400, "Malformed input request: expected maxLength: 50000, actual: 60000, please reformat your input"),
    # MiniMax, Kimi, DashScope, Zhipu, Baidu, Copilot, watsonx
    (400, "invalid params, context window exceeds limit (2013)"),
    (400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)"),
    (400, "InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
    (400, "Prompt exceeds max length"),
    (400, "Prompt tokens too long"),
    (400, "prompt token count of 130000 exceeds the limit of 128000"),
    (400, "the number of input tokens 9000 cannot exceed the total tokens limit 8191 for this model"),
]


@pytest.mark.parametrize(("status", "message"), CONTEXT_WORDINGS)
def test_every_known_wording_of_a_context_limit(status: int, message: str) -> None:
    for body in ({"error": {"message": message}}, {"message": message}, {"error": message}, message):
        error = read_fault(status, encoded(body)).as_model_error()
        assert error is not None
        assert error.status is SessionStatus.AGENT_CONTEXT_LIMIT


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


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. "
        "Please try again in 2s.",
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30,000, Requested 2,000.",
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
        "Too many tokens, please wait before trying again.",
        "Please reduce the length of the messages.",
    ],
)
def test_a_rate_limit_that_speaks_of_tokens_is_not_a_context_limit(message: str) -> None:
    fault = read_fault(429, encoded({"error": {"message": message}}))
    assert fault.as_model_error() is None
    assert fault.is_passing
    assert not fault.refuses_the_prompt


@pytest.mark.parametrize(
    "message",
    [
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "Rate limit exceeded: too many tokens",
        "Service unavailable: too many requests",
    ],
)
def test_throttling_in_other_statuses_is_no_context_limit(message: str) -> None:
    assert read_fault(503, encoded({"message": message})).as_model_error() is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "The last message must come from the user"}}),
        (
            400,
            {"error": {"message": "text content blocks must be non-empty", "type": "invalid_request_error"}},
        ),
        (422, {"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "field required"}]}),
        (400, {"error": {"message": "this model does not support that", "param": "messages.[3].content"}}),
        (400, "bad"),
        (500, {"error": {"message": "Conversation roles must alternate user/assistant/...", "code": 500}}),
    ],
)
def test_a_prompt_that_is_refused_is_known(status: int, body: Any) -> None:
    fault = read_fault(status, encoded(body))
    assert fault.refuses_the_prompt
    assert fault.as_model_error() is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "no", "code": "unsupported_parameter", "param": "temperature"}}),
        (400, {"error": {"message": "no", "param": "response_format"}}),
        (400, {"error": {"message": "Invalid 'user'", "param": "user", "code": "string_above_max_length"}}),
        (400, {"error": {"message": "Unrecognized request argument supplied: foo"}}),
        (400, {"error": {"message": "API key not valid. Please pass a valid API key.", "status": "INVALID"}}),
        (400, {"error": {"message": "Your credit balance is too low to access the API."}}),
        (400, {"error": {"message": "The provided model identifier is invalid."}}),
        (400, {"error": {"message": "openai/gpt-9 is not a valid model ID", "code": 400}}),
        (400, {"error": {"message": "User location is not supported for the API use."}}),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs"}]}),
        (400, {"code": "Arrearage", "message": "make sure your account is in good standing."}),
        (400, {"error": {"message": "failed to parse grammar"}}),
    ],
)
def test_what_every_prompt_would_meet_is_the_configuration_s(status: int, body: Any) -> None:
    fault = read_fault(status, encoded(body))
    assert not fault.refuses_the_prompt
    assert fault.as_model_error() is None
    assert not fault.is_passing


def test_what_a_validator_quotes_of_the_prompt_is_not_shown() -> None:
    body = {
        "detail": [{"loc": ["body", "messages", 1, "content"], "msg": "too strange", "input": "my balance"}]
    }
    fault = read_fault(422, encoded(body))
    assert fault.message == "body.messages.1.content: too strange"
    assert fault.refuses_the_prompt


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
def test_a_line_is_bounded_and_harmless(text: str) -> None:
    line = one_line(text * 50)
    assert len(line) <= 501
    assert line.isprintable()
    if text.isprintable():
        assert one_line(text) == " ".join(text.split())
