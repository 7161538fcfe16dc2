"""Draws of one prompt are told apart: votes and repeats differ, also under a cache and by one seed."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import pytest

from perdure.core.callback import Callback, CallbackContext
from perdure.core.model import ModelSpec
from perdure.core.pool import ModelHandle, ModelPool
from perdure.core.types import Message, Request, Sampling, Trial
from perdure.models.response_cache import ResponseCache
from perdure.models.scripted import ScriptedModel
from tests.core.playing import DONE, play

QUESTION = Request((Message("user", "?"),))


class Voter(Callback):
    """Asks one prompt three times in every turn, as one batch and a call."""

    def __init__(self, model: ModelHandle) -> None:
        self._model = model

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        self._model.generate([QUESTION, QUESTION])
        self._model.generate([QUESTION])


def run(folder: Path, cache: Path) -> list[Request]:
    """Two turns of one task, twice; what the model was asked."""
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return DONE if len(request.messages) > 2 else "Action: read"

    pool = ModelPool({"m": ModelSpec("scripted")}, lambda _: ScriptedModel(reply), cache=ResponseCache(cache))
    schedule = [Trial("0"), Trial("0", 1)]
    play(folder, callbacks=[Voter(pool.caller("voter", "m"))], schedule=schedule, pool=pool)
    return asked


def test_votes_and_repeats_differ_under_a_cache_that_still_serves_the_same_run(tmp_path: Path) -> None:
    asked = run(tmp_path / "a", tmp_path / "cache")
    assert len(asked) == 2 * 2 * 4, "nothing of one run is taken for something else of it"
    votes = [astuple(request.draw) for request in asked if request.messages == QUESTION.messages]
    assert votes == [(repeat, turn, k) for repeat in (0, 1) for turn in (1, 2) for k in (0, 1, 2)]
    assert run(tmp_path / "b", tmp_path / "cache") == []


@pytest.mark.parametrize(
    ("sampling", "seeds"),
    [(Sampling(temperature=0.8, seed=7), 3), (Sampling(seed=7), 1), (Sampling(temperature=0.8), 1)],
)
def test_further_draws_that_sample_by_a_seed_get_another_seed(sampling: Sampling, seeds: int) -> None:
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return "x"

    pool = ModelPool({"m": ModelSpec("scripted")}, lambda _: ScriptedModel(reply))
    pool.caller("voter", "m").generate([Request(QUESTION.messages, sampling=sampling)] * 3)
    assert asked[0].sampling == sampling
    assert len({request.sampling.seed for request in asked}) == seeds
