from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Thread
from typing import Any

import httpx
import pytest

from perdure.core.errors import ConfigError, ModelError, ModelUnavailable
from perdure.core.model import LanguageModel, all_outcomes
from perdure.core.parts import ToolCall
from perdure.core.types import Completion, Draw, Message, Request, Sampling
from perdure.core.usage import TokenCount, Usage
from perdure.models.openai_compatible import MODEL, OpenAICompatibleModel
from tests.models.connecting import Connect, ask, one
from tests.models.fake_provider import Answer, FakeProvider, Received, completion, error


def test_a_call_reaches_the_server_and_its_answer_comes_back(connect: Connect) -> None:
    with FakeProvider(Answer(completion("Hi.", finish_reason="length"))) as server:
        model = connect(server)
        assert one(model) == Completion("Hi.", "length", Usage(7, 3))
        model.close()
        model.close()
    [received] = server.requests
    assert received.path == "/v1/chat/completions"
    assert received.body["model"] == "m"
    assert received.headers["Content-Type"] == "application/json"
    assert MODEL is OpenAICompatibleModel
    assert isinstance(model, LanguageModel)


def test_the_key_comes_from_the_environment_only(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " secret\n")
    monkeypatch.delenv("OTHER_KEY", raising=False)
    with FakeProvider() as server:
        one(connect(server, api_key_env="MY_KEY", headers={"X-Team": "red"}))
        one(connect(server, api_key_env="OTHER_KEY"))
    assert server.requests[0].headers["Authorization"] == "Bearer secret"
    assert server.requests[0].headers["X-Team"] == "red"
    assert server.requests[1].headers["Authorization"] is None


def test_connections_are_kept_and_messages_encoded_once_are_still_right(connect: Connect) -> None:
    long = "x" * 20_000
    request = Request((Message("user", "same"), Message("agent", "same"), Message("user", long)))
    with FakeProvider() as server:
        model = connect(server)
        for _ in range(3):
            one(model, request)
    expected = [("user", "same"), ("assistant", "same"), ("user", long)]
    for received in server.requests:
        assert [(m["role"], m["content"]) for m in received.body["messages"]] == expected


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_passing_statuses_are_asked_again(connect: Connect, status: int) -> None:
    with FakeProvider(Answer(error("busy"), status), Answer("<html>busy</html>", status)) as server:
        outcome = one(connect(server))
    assert isinstance(outcome, Completion)
    assert len(server.requests) == 3
    assert len({received.raw for received in server.requests}) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Answer(drop="before"),
        Answer(drop="midway"),
        Answer("<html>Sign in to the proxy</html>"),
        Answer("{"),
        Answer(b"\xff\xfe\x00"),
        Answer("[" * 100_000),
        Answer({"object": "list"}),
        Answer({"error": {"code": 503, "message": "upstream is gone"}}),
    ],
)
def test_broken_connections_and_unreadable_answers_are_asked_again(connect: Connect, answer: Answer) -> None:
    with FakeProvider(answer, answer) as server:
        outcome = one(connect(server))
    assert isinstance(outcome, Completion)
    assert len(server.requests) == 3


def test_retries_are_counted_and_the_last_reason_is_kept(connect: Connect) -> None:
    with (
        FakeProvider(then=Answer(error("down for today"), 503)) as server,
        pytest.raises(ModelUnavailable, match=r"in 4 attempts; the last: HTTP 503: down for today"),
    ):
        one(connect(server, max_retries=3))
    assert len(server.requests) == 4


def test_html_forever_is_the_end_of_the_run_and_not_of_the_program(connect: Connect) -> None:
    with (
        FakeProvider(then=Answer("<html>Sign in</html>")) as server,
        pytest.raises(ModelUnavailable, match="without JSON: '<html>Sign in</html>'"),
    ):
        one(connect(server, max_retries=1))


def test_a_server_that_is_not_there(connect: Connect) -> None:
    with FakeProvider() as server:
        url = server.url
    with pytest.raises(ModelUnavailable, match=f"{url}.*ConnectError"):
        one(connect(server, base_url=url, max_retries=1))


@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_honoured(connect: Connect, as_date: bool) -> None:
    value = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True) if as_date else "1"
    with FakeProvider(Answer(error("slow"), 429, {"Retry-After": value})) as server:
        started = time.monotonic()
        assert isinstance(one(connect(server)), Completion)
        assert time.monotonic() - started >= 0.9


@pytest.mark.parametrize("value", ["3600", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_retry_after_beyond_the_cap_gives_up_at_once(connect: Connect, value: str) -> None:
    with FakeProvider(then=Answer(error("slow"), 429, {"Retry-After": value})) as server:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="max_wait_seconds = 5"):
            one(connect(server, max_wait_seconds=5))
        assert time.monotonic() - started < 4
    assert len(server.requests) == 1


def test_no_request_outlasts_the_cap(connect: Connect) -> None:
    with FakeProvider(then=Answer(delay=30)) as server:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable):
            one(connect(server, timeout=0.2, max_wait_seconds=1.0, max_retries=100))
        assert time.monotonic() - started < 8
    assert len(server.requests) >= 2


def test_a_server_that_drips_does_not_hold_a_request_open(connect: Connect) -> None:
    with FakeProvider(Answer(completion("x"), drip=0.05)) as server:
        started = time.monotonic()
        assert isinstance(one(connect(server, timeout=0.5)), Completion)
        assert time.monotonic() - started < 8
    assert len(server.requests) == 2


def test_a_header_that_cannot_be_sent_is_not_tried_again(connect: Connect) -> None:
    with FakeProvider() as server, pytest.raises(ModelUnavailable, match="cannot be asked like this"):
        one(connect(server, headers={"X-Team": "two\nlines"}, first_pause=60))


def test_tools_are_sent_and_their_calls_come_back(connect: Connect) -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    called = completion(None, "tool_calls")
    called["choices"][0]["message"]["tool_calls"] = [
        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    ]
    with FakeProvider(Answer(called)) as server:
        outcome = one(connect(server), Request((Message("user", "x"),), tools=[tool]))
    assert server.requests[0].body["tools"] == [tool]
    assert outcome == Completion([ToolCall("c1", "add", "{}")], "tool_calls", Usage(7, 3))


def test_draws_never_reach_the_wire(connect: Connect) -> None:
    with FakeProvider() as server:
        for draw in (Draw(), Draw(1, 2, 3)):
            one(connect(server), Request((Message("user", "x"),), draw=draw))
    assert server.requests[0].raw == server.requests[1].raw


def test_a_batch_is_answered_in_order_with_bounded_concurrency(connect: Connect) -> None:
    def slower_first(received: Received) -> Answer:
        return Answer(delay=0.2 if received.body["messages"][0]["content"] in ("0", "5") else 0.02)

    with FakeProvider(then=slower_first) as server:
        outcomes = all_outcomes(connect(server, max_concurrency=3), [ask(str(i)) for i in range(12)])
    assert [o.text for o in outcomes if isinstance(o, Completion)] == [str(i) for i in range(12)]
    assert server.most_at_once == 3


def test_callers_in_several_threads_share_the_bound(connect: Connect) -> None:
    with FakeProvider(then=Answer(delay=0.05)) as server:
        model = connect(server, max_concurrency=2)
        threads = [Thread(target=all_outcomes, args=(model, [ask(), ask()])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.requests) == 8
    assert server.most_at_once <= 2


def test_an_error_in_a_batch_is_the_outcome_of_its_own_request(connect: Connect) -> None:
    def refuse_one(received: Received) -> Answer:
        if received.body["messages"][0]["content"] == "1":
            return Answer(error("x", code="context_length_exceeded"), 400)
        return Answer()

    with FakeProvider(then=refuse_one) as server:
        outcomes = all_outcomes(connect(server), [ask(str(i)) for i in range(3)])
    assert [type(outcome) for outcome in outcomes] == [Completion, ModelError, Completion]


def test_what_is_under_way_when_a_batch_fails_is_awaited(connect: Connect) -> None:
    def refuse_first(received: Received) -> Answer:
        first = received.body["messages"][0]["content"] == "0"
        return Answer(error("no"), 403, delay=0.1) if first else Answer(delay=0.5)

    with FakeProvider(then=refuse_first) as server:
        with pytest.raises(ModelUnavailable, match="403"):
            all_outcomes(connect(server, max_concurrency=3), [ask(str(i)) for i in range(20)])
        assert len(server.requests) == 3


def test_a_batch_ends_at_once_when_the_server_refuses_the_caller(connect: Connect) -> None:
    def refuse_or_stall(received: Received) -> Answer:
        stalls = received.body["messages"][0]["content"] == "0"
        return (
            Answer(error("busy"), 503, {"Retry-After": "20"})
            if stalls
            else Answer(error("no"), 403, delay=0.2)
        )

    with FakeProvider(then=refuse_or_stall) as server:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="403"):
            all_outcomes(connect(server, max_concurrency=2), [ask(str(i)) for i in range(50)])
        assert time.monotonic() - started < 5
    assert len(server.requests) < 6


def test_no_requests_no_calls(connect: Connect) -> None:
    with FakeProvider() as server:
        assert list(all_outcomes(connect(server), [])) == []
    assert server.requests == []


def test_tokens_are_estimated_unless_the_server_is_asked(connect: Connect) -> None:
    messages = [Message("user", "abcd" * 10)]
    with FakeProvider(Answer({"count": 17, "max_model_len": 99}), Answer({"input_tokens": 18})) as server:
        assert connect(server).count_tokens(messages) == TokenCount(14, exact=False)
        assert connect(server, token_counting="vllm").count_tokens(messages) == TokenCount(17, exact=True)
        assert connect(server, token_counting="llama.cpp").count_tokens(messages) == TokenCount(
            18, exact=True
        )
    assert [received.path for received in server.requests] == [
        "/tokenize",
        "/v1/chat/completions/input_tokens",
    ]


def test_a_missing_tokenize_endpoint_is_an_error_and_not_a_guess(connect: Connect) -> None:
    with (
        FakeProvider(then=Answer({"detail": "Not Found"}, 404)) as server,
        pytest.raises(ModelUnavailable, match="Not Found"),
    ):
        connect(server, token_counting="vllm").count_tokens([Message("user", "x")])


def test_surrogates_and_a_megabyte_of_text_arrive(connect: Connect) -> None:
    text = "\ud800" + "é" * 1_000_000
    with FakeProvider() as server:
        outcome = one(connect(server), Request((Message("user", text),), sampling=Sampling(stop=("\udc00",))))
    assert isinstance(outcome, Completion)
    assert outcome.text == "�" + text[1:]


def test_the_transport_can_be_replaced() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=completion(request.url.host)))
    model = OpenAICompatibleModel("m", base_url="https://far.example/v1/", transport=transport)
    assert one(model) == Completion("far.example", usage=Usage(7, 3))


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"base_url": "localhost:8000"}, "base_url = 'localhost:8000' must look like"),
        ({"base_url": "ftp://host/v1"}, "must look like"),
        ({"base_url": "http://host:port/v1"}, "is not an address"),
        ({"base_url": "http://user:pass@host/v1"}, "api_key_env"),
        ({"base_url": "https://host/v1?api_key=sk-1"}, r"must end with a path: what stands behind a \? or #"),
        ({"base_url": "https://host/v1#key"}, "must end with a path"),
        (
            {"headers": {"Authorization": "Bearer x"}},
            r"headers\.Authorization: run folders keep headers; name a",
        ),
        ({"headers": {"X-Team": "red", "x-goog-api-key": "x"}}, r"headers\.x-goog-api-key"),
        ({"headers": {"API-Key": "x"}}, r"headers\.API-Key"),
        ({"headers": {"X-Auth-Token": "x"}}, r"headers\.X-Auth-Token"),
        ({"headers": {"cookie": "x"}}, r"headers\.cookie"),
        ({"base_url": f"http://{'a' * 64}.example/v1"}, "a host that cannot be looked up"),
        ({"base_url": "http://a..b/v1"}, "a host that cannot be looked up"),
        ({"base_url": "http://host:65536/v1"}, "a port is at most 65535"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"timeout": -1}, "timeout"),
        ({"max_retries": -1}, "max_retries"),
        ({"token_counting": "guess"}, "choose one of: estimate, vllm, llama.cpp"),
        ({"schema_format": "xml"}, "choose one of: json_schema"),
    ],
)
def test_parameters_that_cannot_work(parameters: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        OpenAICompatibleModel("m", **parameters)
    assert "pass@" not in str(caught.value)


def test_a_key_that_no_header_can_carry_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sécret")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        OpenAICompatibleModel("m")
    assert "cret" not in str(caught.value)
