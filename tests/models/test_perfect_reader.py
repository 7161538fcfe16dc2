"""A program as a model: what it answers, how it counts, what it says was cached."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.conformance.models import check_model
from perdure.core.errors import ConfigError
from perdure.core.model import all_outcomes
from perdure.core.types import Completion, Message, Request, Trial
from perdure.environments import counter
from perdure.environments.warehouse import WORLD, WarehouseEnvironment
from perdure.models.perfect_reader import PerfectReaderModel, count_pieces
from perdure.strategies.summary_prompt import Turn, asks_for_summary, summary_request


def ask(model: PerfectReaderModel, *messages: Message) -> Completion:
    (outcome,) = all_outcomes(model, [Request(messages)])
    assert isinstance(outcome, Completion)
    return outcome


def first_prompt() -> tuple[Message, Message]:
    environment = WarehouseEnvironment(horizon=10)
    opening = environment.reset(Trial(environment.task_ids()[0]))
    return Message("system", environment.instructions), Message("user", opening.history[-1].text)


def test_the_suite_for_models_passes() -> None:
    assert [result for result in check_model(PerfectReaderModel(WORLD)) if not result.passed] == []


def test_it_acts_and_summarises() -> None:
    model = PerfectReaderModel(WORLD)
    system, user = first_prompt()
    assert ask(model, system, user).text.startswith("Action: Store item_")
    turn = Turn(user.text, "Action: Store item_1 shelf_0")
    request = summary_request(system.text, "Answer.", "", [turn])
    assert asks_for_summary(request)
    assert not asks_for_summary((system, user))
    assert not asks_for_summary(())
    assert ask(model, *request).text.startswith("Summary of shelves:")


def test_reasoning_stands_above_the_action() -> None:
    system, user = first_prompt()
    bare = ask(PerfectReaderModel(WORLD, tokenizer="pieces"), system, user)
    padded = ask(PerfectReaderModel(WORLD, tokenizer="pieces", reasoning_tokens=100), system, user)
    assert padded.text.endswith(f"\n\n{bare.text}")
    assert 80 <= padded.usage.completion_tokens - bare.usage.completion_tokens <= 101


@pytest.mark.parametrize("tokenizer", ["estimate", "pieces"])
def test_counts_are_exact_and_those_of_the_usage(tokenizer: str) -> None:
    model = PerfectReaderModel(WORLD, tokenizer=tokenizer)
    counted = model.count_tokens(first_prompt())
    assert counted.exact
    assert ask(model, *first_prompt()).usage.prompt_tokens == counted.tokens


def test_cached_tokens_are_the_shared_beginning() -> None:
    model = PerfectReaderModel(WORLD, tokenizer="pieces")
    system, user = first_prompt()
    size = model.count_tokens((system, user)).tokens
    assert ask(model, system, user).usage.cached_tokens == 0
    assert ask(model, system, user).usage.cached_tokens == size
    assert ask(model, system, user, Message("agent", "x"), Message("user", "y")).usage.cached_tokens == size
    other = ask(model, system, Message("user", "Answer something else."))
    assert other.usage.cached_tokens == model.count_tokens((system,)).tokens + count_pieces("Answer ")


def test_summaries_between_do_not_spoil_the_cache() -> None:
    model = PerfectReaderModel(WORLD)
    prompt = first_prompt()
    ask(model, *prompt)
    ask(model, *summary_request(prompt[0].text, "g", "", []))
    assert ask(model, *prompt).usage.cached_tokens == model.count_tokens(prompt).tokens


@given(st.text(), st.text())
def test_pieces_grow_with_the_text(first: str, second: str) -> None:
    assert count_pieces(first) <= count_pieces(first + second)


def test_a_world_of_ones_own_may_bring_the_reader() -> None:
    assert WORLD.readers is not None
    readers = replace(WORLD.readers, perfect_reader=lambda messages: "Action: go")
    assert ask(PerfectReaderModel(replace(WORLD, readers=readers)), Message("user", "?")).text == "Action: go"


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ConfigError, match="this environment has no perfect reader"):
        PerfectReaderModel(counter.WORLD)
    with pytest.raises(ConfigError, match="choose one of: estimate, pieces"):
        PerfectReaderModel(WORLD, tokenizer="words")
