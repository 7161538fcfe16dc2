from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import PluginNotFound, UsageError
from perdure.core.model import LanguageModel, ModelSpec, Outcome
from perdure.core.pool import ModelHandle, ModelPool, covered
from perdure.core.request_digest import request_digest
from perdure.core.types import Completion, Draw, Message, Request, Sampling
from perdure.core.usage import TokenCount, Usage
from perdure.models.scripted import ScriptedModel
from perdure.storage.call_log import CallLog
from tests.core.pool_parts import Batches, Store, ask, echo, logged, pool_with, texts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


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


def test_a_handle_gives_a_list_and_batches_stay_batches() -> None:
    model = Batches()
    handle = pool_with(model).caller("agent", "m")
    assert texts(handle.generate([ask("a"), ask("bad"), ask("c")])) == ["A", "error bad", "C"]
    assert model.batches == [["a", "bad", "c"]]
    assert handle.generate([]) == []
    assert model.batches == [["a", "bad", "c"]], "an empty batch asks nobody"
    assert handle.count_tokens([Message("user", "x")]) == TokenCount(1, exact=True)


def test_usage_is_metered(folder: Path) -> None:
    pool, log = logged(folder, Batches())
    pool.caller("agent", "m").generate([ask("a"), ask("bad")])
    pool.caller("critic", "m").generate([ask("b")])
    assert [(c.caller, c.number, c.model, c.usage, c.answered) for c in log.charges] == [
        ("agent", 0, "m", Usage(10, 5, 4, 3), "asked"),
        ("agent", 1, "m", Usage(), "asked"),
        ("critic", 0, "m", Usage(10, 5, 4, 3), "asked"),
    ]
    assert all(charge.seconds >= 0 for charge in log.charges)
    assert pool.usage == Usage(20, 10, 8, 6)
    log.close()


def test_a_cache_hit_asks_nobody_and_counts_no_tokens(folder: Path) -> None:
    model, cache = Batches(), Store()
    pool, log = logged(folder, model, cache)
    handle = pool.caller("agent", "m")
    handle.generate([ask("a")])
    assert texts(handle.generate([ask("a"), ask("a")])) == ["A", "A"]
    assert model.batches == [["a"], ["a", "a"]], "the same question again is another draw"
    log.turn = 1
    handle.generate([ask("a")])
    assert model.batches[2:] == [["a"]], "and another turn too"
    assert [charge.answered for charge in log.charges] == ["asked"] * 4
    log.close()

    (folder / "again").mkdir()
    again = ModelPool({"m": ModelSpec("p")}, lambda spec: model, cache=cache)
    log = again.recorder = CallLog(folder / "again" / "0.jsonl", {"task": "t"})
    handle = again.caller("agent", "m")
    assert texts(handle.generate([ask("a"), ask("b"), ask("a")])) == ["A", "B", "A"]
    assert model.batches[3:] == [["b"]]
    # A batch's cached calls are logged before the others are asked.
    assert [(c.number, c.answered) for c in log.charges] == [(0, "cache"), (2, "cache"), (1, "asked")]
    assert again.usage == Usage(10, 5, 4, 3)
    log.close()
    again = pool_with(Batches())
    log = again.recorder = CallLog(folder / "again" / "0.jsonl", {"task": "t"})
    again.caller("agent", "m").generate([ask("a"), ask("b"), ask("a")])
    assert again.usage == Usage(10, 5, 4, 3), "a cached answer that is served again is still nobody's bill"
    log.close()


def test_two_repeats_of_a_task_ask_twice_under_a_cache(folder: Path) -> None:
    model, cache = Batches(), Store()
    for repeat in (0, 1, 0):
        log = CallLog(folder / f"{repeat}.jsonl", {"task": "t", "repeat": repeat})
        pool = pool_with(model, cache)
        pool.recorder = log
        pool.caller("environment", "m").generate([ask("a")])
        log.close()
        (folder / f"{repeat}.jsonl").unlink()
    assert model.batches == [["a"], ["a"]]


def test_errors_are_not_cached() -> None:
    model, cache = Batches(), Store()
    handle = pool_with(model, cache).caller("agent", "m")
    for _ in range(2):
        handle.generate([ask("bad")])
    assert len(model.batches) == 2
    assert cache.kept == {}


@pytest.mark.parametrize(
    "answers",
    [
        [(0, Completion("x"))],
        [(0, Completion("x")), (0, Completion("x"))],
        [(0, Completion("x")), (2, Completion("x"))],
        [(0, Completion("x")), (1, "x")],
        [Completion("x"), Completion("x")],
    ],
)
def test_a_model_that_breaks_its_contract_is_named(answers: list[Any]) -> None:
    class Broken(Batches):
        def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
            return iter(answers)

    with pytest.raises(UsageError, match=r"^Broken\.generate\(\)"):
        ModelHandle.of(Broken()).generate([ask("a"), ask("b")])


def test_lanes_share_models_and_the_meter_and_have_their_own_logs(folder: Path) -> None:
    built: list[LanguageModel] = []

    def build(spec: ModelSpec) -> LanguageModel:
        time.sleep(0.05)
        built.append(ScriptedModel(echo))
        return built[-1]

    pool = ModelPool({"m": ModelSpec("p")}, build)
    lanes = [pool.lane() for _ in range(8)]
    logs = []
    for number, lane in enumerate(lanes):
        lane.recorder = CallLog(folder / f"{number}.jsonl", {"task": f"t{number}"})
        logs.append(lane.recorder)

    def play(lane: ModelPool) -> None:
        handle = lane.caller("agent", "m")
        for number in range(20):
            handle.generate([ask(str(number))])

    threads = [Thread(target=play, args=(lane,)) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert pool.recorder is None
    assert pool.usage == Usage(1600, 800, 640, 480)
    assert [len(log.calls) for log in logs] == [20] * 8
    for log in logs:
        log.close()


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
    draw=st.builds(Draw, st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
)


@given(requests, requests, st.sampled_from("mn"), st.sampled_from("mn"))
def test_two_requests_have_one_digest_only_if_they_are_the_same(
    one: Request, other: Request, model: str, other_model: str
) -> None:
    same = one == other and model == other_model
    assert (request_digest(one, model) == request_digest(other, other_model)) == same


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ([], 0.0),
        ([(1.0, 3.0)], 2.0),
        ([(5.0, 6.0), (1.0, 3.0)], 3.0),
        ([(1.0, 4.0), (2.0, 3.0), (3.5, 5.0)], 4.0),
    ],
)
def test_a_batch_is_under_way_while_any_of_it_is(spans: list[tuple[float, float]], seconds: float) -> None:
    assert covered(spans) == seconds
