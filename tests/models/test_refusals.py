"""What a server refuses: data of one session, or the end of the run."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from perdure.core.errors import ModelError, ModelUnavailable
from perdure.core.model import all_outcomes
from perdure.core.types import Completion, Message, Request, SessionStatus
from perdure.core.usage import Usage
from tests.models.connecting import Connect, ask, one
from tests.models.fake_provider import Answer, FakeProvider, completion, error


@pytest.mark.parametrize("status", [401, 402, 403, 404, 405])
def test_other_refusals_stop_at_once_and_say_where_and_why(connect: Connect, status: int) -> None:
    with FakeProvider(then=Answer(error("this is why"), status)) as server:
        with pytest.raises(ModelUnavailable) as caught:
            one(connect(server))
        assert len(server.requests) == 1
        line = str(caught.value)
        assert f"{server.url}/chat/completions" in line
    assert f"HTTP {status}: this is why" in line
    assert "\n" not in line


@pytest.mark.parametrize("status", [400, 422])
def test_a_prompt_that_is_refused_twice_is_data(connect: Connect, status: int) -> None:
    with FakeProvider(then=Answer(error("messages[3] is not wanted here"), status)) as server:
        outcome = one(connect(server))
    assert isinstance(outcome, ModelError)
    assert str(outcome) == f"the server refused the prompt: HTTP {status}: messages[3] is not wanted here"
    assert outcome.status is SessionStatus.AGENT_UNKNOWN_ERROR
    assert len(server.requests) == 2


def test_a_prompt_that_is_refused_once_is_answered(connect: Connect) -> None:
    with FakeProvider(Answer(error("hiccup"), 400)) as server:
        assert isinstance(one(connect(server)), Completion)


@pytest.mark.parametrize("choices", [[], None, [None]])
def test_an_answer_without_a_choice_is_data_after_the_retries(connect: Connect, choices: Any) -> None:
    with FakeProvider(then=Answer({"choices": choices})) as server:
        outcome = one(connect(server, max_retries=2))
    assert isinstance(outcome, ModelError)
    assert str(outcome) == "the server answered without a reply"
    assert len(server.requests) == 3


@pytest.mark.parametrize("body", [{"choices": [{"finish_reason": "stop"}]}, completion(None), completion("")])
def test_a_reply_without_text_is_a_reply(connect: Connect, body: Any) -> None:
    with FakeProvider(Answer(body)) as server:
        outcome = one(connect(server))
    assert isinstance(outcome, Completion)
    assert outcome.text == ""


def test_an_empty_turn_is_never_sent(connect: Connect) -> None:
    with FakeProvider() as server:
        one(connect(server), Request((Message("user", "x"), Message("agent", ""), Message("user", " \n"))))
    assert [m["content"] for m in server.requests[0].body["messages"]] == ["x", "(no text)", "(no text)"]


@pytest.mark.parametrize("key", ["sk-secret/0123456789", 'k"\\/9'])
def test_a_key_that_the_server_echoes_is_masked(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    answers = (
        Answer(error(f"Bearer {key} is not known"), 401),
        Answer({}, 307, {"Location": f"http://x/?key={key}"}),
        Answer(f"<b>{key}</b>", 404),
        Answer(error(f"{key} {quote(key)} {quote(key, safe='')}"), 400),
        Answer(error(key), 400),
    )
    with FakeProvider(*answers) as server:
        model = connect(server, api_key_env="MY_KEY")
        for _ in range(3):
            with pytest.raises(ModelUnavailable) as caught:
                one(model)
            assert key not in str(caught.value)
            assert "[key]" in str(caught.value)
        outcome = one(model)
        assert isinstance(outcome, ModelError)
        assert key not in str(outcome)
        assert quote(key) not in str(outcome)
        assert quote(key, safe="") not in str(outcome)
        reply = one(model, ask(f"what is {key}?"))
    assert isinstance(reply, Completion)
    if len(key) >= 12:
        assert reply.text == "what is [key]?"
    assert server.requests[0].headers["Authorization"] == f"Bearer {key}"


def test_a_word_that_stands_for_a_key_is_left_in_replies(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "EMPTY")
    with FakeProvider() as server:
        outcome = one(connect(server, api_key_env="MY_KEY"), ask("is it EMPTY?"))
    assert isinstance(outcome, Completion)
    assert outcome.text == "is it EMPTY?"


def test_no_terminal_obeys_a_server(connect: Connect) -> None:
    evil = "\x1b[2J\x1b]0;title\x07 \x9b31m \u202e hello"
    with (
        FakeProvider(then=Answer(error(evil), 404)) as server,
        pytest.raises(ModelUnavailable, match="hello") as caught,
    ):
        one(connect(server))
    assert str(caught.value).isprintable()


def test_a_refused_caller_is_told_which_variable_is_not_set(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with (
        FakeProvider(then=Answer(error("no key"), 401)) as server,
        pytest.raises(ModelUnavailable, match="OPENAI_API_KEY is not set"),
    ):
        one(connect(server))


def test_a_prompt_that_is_too_long_is_data(connect: Connect) -> None:
    with FakeProvider(Answer(error("This model's maximum context length is 9 tokens"), 400)) as server:
        outcome = one(connect(server))
    assert isinstance(outcome, ModelError)
    assert outcome.status is SessionStatus.AGENT_CONTEXT_LIMIT
    assert len(server.requests) == 1


def test_a_server_out_of_memory_is_data_and_not_asked_again(connect: Connect) -> None:
    with FakeProvider(Answer(error("CUDA out of memory"), 500)) as server:
        outcome = one(connect(server))
    assert isinstance(outcome, ModelError)
    assert outcome.status is SessionStatus.AGENT_OUT_OF_MEMORY
    assert len(server.requests) == 1


def test_an_empty_reply_is_not_a_context_limit(connect: Connect) -> None:
    with FakeProvider(Answer(completion("")), Answer(completion(None))) as server:
        outcomes = all_outcomes(connect(server), [ask(), ask()])
    assert [outcome.text for outcome in outcomes if isinstance(outcome, Completion)] == ["", ""]


def test_a_reply_that_the_content_filter_withheld_is_data(connect: Connect) -> None:
    withheld, cut = completion(None, "content_filter"), completion("As far as", "content_filter")
    with FakeProvider(Answer(withheld), Answer(cut)) as server:
        model = connect(server)
        first, second = one(model), one(model)
    assert isinstance(first, ModelError)
    assert first.status is SessionStatus.AGENT_UNKNOWN_ERROR
    assert second == Completion("As far as", "content_filter", Usage(7, 3))


def test_a_redirect_names_its_target(connect: Connect) -> None:
    with (
        FakeProvider(then=Answer({}, 308, {"Location": "https://elsewhere/v1"})) as server,
        pytest.raises(ModelUnavailable, match="https://elsewhere/v1"),
    ):
        one(connect(server))
