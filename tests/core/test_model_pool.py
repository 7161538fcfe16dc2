from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import Divergence, ModelError, ModelUnavailable, PluginNotFound
from perdure.core.model import LanguageModel, ModelPool, ModelSpec, Outcome, request_digest
from perdure.core.types import Completion, Message, Request, Sampling, TokenCount, Usage
from perdure.models.scripted import ScriptedModel
from perdure.storage.journal import Journal


def ask(text: str, draw: int = 0) -> Request:
    return Request((Message("user", text),), draw=(0, 0, draw))


def echo(request: Request) -> Completion:
    return Completion(request.messages[-1].text.upper(), usage=Usage(10, 5, 4, 3))


class Batches:
    """A model that keeps the batches it was given."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.closed = 0

    def generate(self, requests: Sequence[Request]) -> Sequence[Outcome]:
        self.batches.append([request.messages[-1].text for request in requests])
        if any(request.messages[-1].text == "down" for request in requests):
            raise ModelUnavailable("down")
        return [
            ModelError("bad") if request.messages[-1].text == "bad" else echo(request) for request in requests
        ]

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        return TokenCount(len(messages), exact=True)

    def close(self) -> None:
        self.closed += 1


class Store:
    """A response cache in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, Completion] = {}

    def get(self, digest: str) -> Completion | None:
        return self.kept.get(digest)

    def put(self, digest: str, completion: Completion) -> None:
        self.kept[digest] = completion


def pool_with(model: LanguageModel, cache: Store | None = None) -> ModelPool:
    return ModelPool({"m": ModelSpec("p")}, lambda spec: model, cache=cache)


def texts(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.text if isinstance(outcome, Completion) else f"error {outcome}" for outcome in outcomes]


def test_equal_specs_share_one_instance_built_on_first_use() -> None:
    built: list[ModelSpec] = []

    def build(spec: ModelSpec) -> LanguageModel:
        built.append(spec)
        return ScriptedModel(echo)

    specs = {
        "a": ModelSpec("p", {"x": 1, "y": [2]}),
        "b": ModelSpec("p", {"y": [2], "x": 1}),
        "c": ModelSpec("p", {"x": 2}),
        "d": ModelSpec("q", {"x": 2}),
    }
    pool = ModelPool(specs, build)
    handles = [pool.caller("agent", name) for name in "abcd"]
    assert built == [], "a name that nobody asks costs nothing"
    for _ in range(2):
        for handle in handles:
            handle.generate([ask("x")])
    assert len(built) == 3
    assert pool.get("a") is pool.get("b")
    assert pool.get("c") is not pool.get("d")


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(PluginNotFound, match="unknown model 'n'; choose one of: m"):
        pool_with(Batches()).caller("agent", "n")


def test_a_handle_is_a_language_model_and_batches_stay_batches() -> None:
    model = Batches()
    handle = pool_with(model).caller("agent", "m")
    assert isinstance(handle, LanguageModel)
    assert texts(handle.generate([ask("a"), ask("bad"), ask("c")])) == ["A", "error bad", "C"]
    assert model.batches == [["a", "bad", "c"]]
    assert handle.generate([]) == []
    assert model.batches == [["a", "bad", "c"]], "an empty batch asks nobody"
    assert handle.count_tokens([Message("user", "x")]) == TokenCount(1, exact=True)


def test_usage_is_metered_by_caller() -> None:
    pool = pool_with(Batches())
    pool.caller("agent", "m").generate([ask("a"), ask("bad")])
    pool.caller("critic", "m").generate([ask("b")])
    charges = pool.drain_charges()
    assert [(c.caller, c.model, c.usage, c.source) for c in charges] == [
        ("agent", "m", Usage(10, 5, 4, 3), "model"),
        ("agent", "m", Usage(), "model"),
        ("critic", "m", Usage(10, 5, 4, 3), "model"),
    ]
    assert all(charge.seconds >= 0 for charge in charges)
    assert pool.drain_charges() == []
    assert pool.usage == Usage(20, 10, 8, 6)


def test_a_cache_hit_asks_nobody_and_counts_no_tokens() -> None:
    model = Batches()
    pool = pool_with(model, Store())
    handle = pool.caller("agent", "m")
    handle.generate([ask("a")])
    assert texts(handle.generate([ask("a"), ask("b"), ask("a", draw=1)])) == ["A", "B", "A"]
    assert model.batches == [["a"], ["b", "a"]], "another draw is another request"
    assert [charge.source for charge in pool.drain_charges()] == ["model", "cache", "model", "model"]
    assert pool.usage == Usage(30, 15, 12, 9)


def test_errors_are_not_cached() -> None:
    model, cache = Batches(), Store()
    handle = pool_with(model, cache).caller("agent", "m")
    for _ in range(2):
        handle.generate([ask("bad")])
    assert len(model.batches) == 2
    assert cache.kept == {}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def journalled(folder: Path, model: LanguageModel, cache: Store | None = None) -> tuple[ModelPool, Journal]:
    pool = pool_with(model, cache)
    journal = Journal(folder / "journal.jsonl")
    journal.begin(0, "t", 0)
    pool.recorder = journal
    return pool, journal


def test_calls_are_recorded_in_the_order_of_the_requests_with_their_callers(folder: Path) -> None:
    pool, journal = journalled(folder, Batches(), Store())
    agent, critic = pool.caller("agent", "m"), pool.caller("critic", "m")
    agent.generate([ask("a")])
    critic.generate([ask("b"), ask("a"), ask("bad")])
    assert [(c.caller, c.request) for c in journal.calls] == [
        ("agent", ask("a")),
        ("critic", ask("b")),
        ("critic", ask("a")),
        ("critic", ask("bad")),
    ]
    journal.close()
    model = Batches()
    pool, journal = journalled(folder, model)
    assert texts(pool.caller("agent", "m").generate([ask("a")])) == ["A"]
    assert texts(pool.caller("critic", "m").generate([ask("b"), ask("a"), ask("bad")])) == [
        "B",
        "A",
        "error bad",
    ]
    assert model.batches == [], "served from the journal, cache hits and errors too"
    assert [charge.source for charge in pool.drain_charges()] == ["journal"] * 4
    assert pool.usage.prompt_tokens == 30
    journal.close()


def test_of_a_batch_that_was_partly_recorded_only_the_rest_is_asked(folder: Path) -> None:
    pool, journal = journalled(folder, Batches())
    pool.caller("agent", "m").generate([ask("a"), ask("b"), ask("c")])
    journal.close()
    path = folder / "journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    model = Batches()
    pool, journal = journalled(folder, model)
    assert texts(pool.caller("agent", "m").generate([ask("a"), ask("b"), ask("c")])) == ["A", "B", "C"]
    assert model.batches == [["c"]]
    assert [charge.source for charge in pool.drain_charges()] == ["journal", "journal", "model"]
    assert len(journal.calls) == 3
    journal.close()


def test_a_batch_that_fails_as_a_whole_records_nothing(folder: Path) -> None:
    pool, journal = journalled(folder, Batches())
    with pytest.raises(ModelUnavailable):
        pool.caller("agent", "m").generate([ask("a"), ask("down")])
    assert journal.calls == []
    assert pool.drain_charges() == []
    journal.close()


def test_another_request_than_the_recorded_one_is_a_divergence(folder: Path) -> None:
    pool, journal = journalled(folder, Batches())
    pool.caller("agent", "m").generate([ask("a")])
    journal.close()
    pool, journal = journalled(folder, Batches())
    with pytest.raises(Divergence, match="'agent' asked 'm' something that was not asked then"):
        pool.caller("agent", "m").generate([ask("z")])
    journal.close()


def test_models_are_closed_once() -> None:
    model = Batches()
    pool = pool_with(model)
    pool.close()
    assert model.closed == 0, "never built, nothing to close"
    pool.get("m")
    pool.close()
    pool.close()
    assert model.closed == 1


TEXTS = st.text(st.characters(codec=None, exclude_categories=()))
requests = st.builds(
    Request,
    st.lists(st.builds(Message, st.sampled_from(["system", "user", "agent"]), TEXTS), max_size=3).map(tuple),
    schema=st.one_of(st.none(), st.just({"type": "object"})),
    logprobs=st.integers(0, 2),
    sampling=st.builds(Sampling, temperature=st.floats(0, 2), seed=st.one_of(st.none(), st.integers(0, 9))),
    draw=st.tuples(st.integers(0, 2), st.just(1), st.integers(0, 2)),
)


@given(requests, requests, st.sampled_from("mn"), st.sampled_from("mn"))
def test_two_requests_have_one_digest_only_if_they_are_the_same(
    one: Request, other: Request, model: str, other_model: str
) -> None:
    same = one == other and model == other_model
    assert (request_digest(one, model) == request_digest(other, other_model)) == same
