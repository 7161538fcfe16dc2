"""Draws of one prompt are told apart, alike before and after an interruption, and never on the wire."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.core.callback import Callback, CallbackContext
from perdure.core.draws import Draws
from perdure.core.model import LanguageModel, ModelPool, ModelSpec, request_digest
from perdure.core.session import Session
from perdure.core.types import Message, Request, Sampling, Trial
from perdure.models.chat_dialect import ChatOptions, request_fields
from perdure.models.response_cache import ResponseCache
from perdure.models.scripted import ScriptedModel
from tests.core.playing import DONE, play

QUESTION = Request((Message("user", "?"),))


def stamped(draws: Draws, request: Request = QUESTION, caller: str = "agent") -> Request:
    return draws.stamp(caller, request, request_digest(request))


def test_equal_requests_of_a_turn_are_counted() -> None:
    session = Session("t", sample=2)
    draws = Draws(session)
    assert [stamped(draws).draw for _ in range(3)] == [(2, 0, 0), (2, 0, 1), (2, 0, 2)]
    assert stamped(draws, caller="judge").draw == (2, 0, 0), "each caller for itself"
    assert stamped(draws, Request((Message("user", "!"),))).draw == (2, 0, 0)
    session.take_turn()
    assert stamped(draws).draw == (2, 1, 0)


def test_further_draws_that_sample_by_a_seed_get_another_seed() -> None:
    warm = Request(QUESTION.messages, sampling=Sampling(temperature=0.8, seed=7))
    draws = Draws(Session("t"))
    seeds = [stamped(draws, warm).sampling.seed for _ in range(3)]
    assert seeds[0] == 7
    assert len(set(seeds)) == 3
    greedy = Request(QUESTION.messages, sampling=Sampling(seed=7))
    draws = Draws(Session("t"))
    assert [stamped(draws, greedy).sampling.seed for _ in range(2)] == [7, 7]


class Voter(Callback):
    """Asks one prompt three times in every turn, as one batch and a call."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        self._model.generate([QUESTION, QUESTION])
        self._model.generate([QUESTION])


def run(folder: Path, cache: Path, schedule: list[Trial]) -> tuple[list[Request], int]:
    """Two turns a trial; what the model was asked, and the number of its calls."""
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return DONE if len(request.messages) > 2 else "Action: read"

    pool = ModelPool({"m": ModelSpec("scripted")}, lambda _: ScriptedModel(reply), cache=ResponseCache(cache))
    play(folder, callbacks=[Voter(pool.caller("voter", "m"))], schedule=schedule, pool=pool)
    return asked, len(asked)


def test_votes_and_repeats_differ_under_a_cache_that_still_serves_the_same_run(tmp_path: Path) -> None:
    asked, calls = run(tmp_path / "a", tmp_path / "cache", [Trial("0"), Trial("0", 1)])
    assert calls == 2 * 2 * 4, "nothing of one run is taken for something else of it"
    votes = [request.draw for request in asked if request.messages == QUESTION.messages]
    assert votes == [(repeat, turn, k) for repeat in (0, 1) for turn in (1, 2) for k in (0, 1, 2)]
    again, calls = run(tmp_path / "b", tmp_path / "cache", [Trial("0"), Trial("0", 1)])
    assert calls == 0
    assert again == []


def test_a_stamp_does_not_reach_the_wire() -> None:
    one, other = QUESTION, Request(QUESTION.messages, draw=(3, 2, 1))
    assert request_fields(one, ChatOptions("m")) == request_fields(other, ChatOptions("m"))


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.0)])
def test_a_request_without_a_seed_keeps_its_sampling(sampling: Sampling) -> None:
    draws = Draws(Session("t"))
    requests = [stamped(draws, Request(QUESTION.messages, sampling=sampling)) for _ in range(2)]
    assert [request.sampling for request in requests] == [sampling, sampling]
