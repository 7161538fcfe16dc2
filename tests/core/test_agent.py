from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.agent import Absorbed, Agent, ContextStrategy, ContextView, ModelAgent
from perdure.core.environment import Opening
from perdure.core.errors import (
    ConfigError,
    EnvironmentUnavailable,
    InfrastructureError,
    MissingExtra,
    ModelError,
    ModelUnavailable,
    PerdureError,
    PluginNotFound,
    RunFolderError,
    StorageError,
    UsageError,
)
from perdure.core.history import HistoryFactory
from perdure.core.pool import ModelHandle
from perdure.core.randomness import keyed_random, keyed_seed
from perdure.core.session import Session
from perdure.core.types import (
    JSON,
    Completion,
    Message,
    Observation,
    Request,
    Sampling,
    SessionStatus,
    Trial,
    text_digest,
)
from perdure.core.usage import Usage
from perdure.models.scripted import ScriptedModel
from perdure.strategies.full_history import FullHistory

OPENING = Opening("g", Observation("o"), HistoryFactory().construct("g", Observation("o")))
VIEW = ContextView("Rules.", "g", (), tuple(OPENING.history))


def asked(
    sampling: Sampling | None = None, *, seed: int = 0, task: str = "t", repeat: int = 0, turn: int = 1
) -> Request:
    """The request of one turn."""
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return "x"

    agent = ModelAgent(ModelHandle.of(ScriptedModel(reply)), FullHistory(), sampling=sampling, seed=seed)
    agent.start(Trial(task, repeat), OPENING)
    assert agent.infer(replace(VIEW, turn=turn)).text == "x"
    (request,) = seen
    return request


def test_greedy_decoding_needs_no_seed_and_a_given_seed_is_kept() -> None:
    assert asked().sampling == Sampling()
    assert asked(Sampling(temperature=0.7, seed=5), turn=3).sampling.seed == 5


def test_every_draw_has_its_own_seed_which_depends_on_nothing_else() -> None:
    warm = Sampling(temperature=0.7, max_tokens=9)
    first = asked(warm).sampling
    assert first == asked(warm).sampling
    assert (first.temperature, first.max_tokens) == (0.7, 9)
    others = [
        asked(warm, seed=1),
        asked(warm, task="u"),
        asked(warm, repeat=1),
        asked(warm, turn=2),
    ]
    assert len({first.seed, *(other.sampling.seed for other in others)}) == 5


def test_the_schema_of_the_strategy_reaches_the_model() -> None:
    class Shaped(FullHistory):
        schema: Mapping[str, JSON] | None = {"type": "object"}

    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return "{}"

    agent = ModelAgent(ModelHandle.of(ScriptedModel(reply)), Shaped())
    agent.start(Trial("t", 3), OPENING)
    agent.infer(VIEW)
    assert seen[0].schema == {"type": "object"}
    assert isinstance(agent.strategy, ContextStrategy)


def test_a_reply_that_cannot_be_had_is_raised_inside_the_agent() -> None:
    error = ModelError("full", SessionStatus.AGENT_CONTEXT_LIMIT)
    agent = ModelAgent(ModelHandle.of(ScriptedModel([error])), FullHistory())
    agent.start(Trial("t"), OPENING)
    with pytest.raises(ModelError) as caught:
        agent.infer(VIEW)
    assert caught.value is error


def test_a_scripted_agent_needs_two_methods() -> None:
    class Parrot(Agent):
        def start(self, trial: Trial, opening: Opening) -> None:
            self.goal = opening.goal

        def infer(self, view: ContextView) -> str:
            return self.goal

    agent = Parrot()
    agent.start(Trial("t"), OPENING)
    assert agent.absorb(Completion(agent.infer(VIEW))) == Absorbed(action="g")
    assert agent.read(Completion("x")) == "x"
    agent.observe(Observation("x"))
    assert agent.trace() is None


def test_a_reply_becomes_an_action_or_an_error() -> None:
    for action, error in ((None, None), ("a", "e")):
        with pytest.raises(ValueError, match="either an action or an error"):
            Absorbed(action, error)
    assert Absorbed(action="").action == ""


def test_full_history_shows_everything_in_order() -> None:
    session = Session("t")
    session.start("g", OPENING.history)
    session.receive("a1")
    session.observe("a1", Observation("o1"))
    session.receive("bad")
    session.reject("no")
    view = ContextView("Rules.", "g", ("Lesson.",), session.history, session.rejected)
    assert list(FullHistory().render(view)) == [
        Message("system", "Rules.\n\nLesson."),
        Message("user", "g\no"),
        Message("agent", "a1"),
        Message("user", "o1"),
        Message("agent", "bad"),
        Message("user", "no"),
    ]
    assert FullHistory().render(view) == FullHistory().render(view)


def test_keyed_randomness_is_the_same_everywhere() -> None:
    assert keyed_seed(0, "t", 0, 1, "sampling") == keyed_seed(0, "t", 0, 1, "sampling")
    assert keyed_random(0, "counter", 0).randint(0, 10**9) == keyed_random(0, "counter", 0).randint(0, 10**9)
    known = (1789854226, 670190)
    assert (keyed_seed(1, "a"), keyed_random(1, "a").randint(0, 10**6)) == known


@given(st.integers(), st.text(), st.integers())
def test_keyed_seeds_fit_in_31_bits(seed: int, name: str, step: int) -> None:
    assert 0 <= keyed_seed(seed, name, step) < 2**31


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_every_text_has_an_address(text: str) -> None:
    digest = text_digest(text)
    assert len(digest) == 32
    assert Message("user", text).digest == digest
    assert text_digest(text + "x") != digest


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


def test_the_tree_of_errors() -> None:
    for usage in (ConfigError, PluginNotFound, MissingExtra, RunFolderError):
        assert issubclass(usage, UsageError)
    for outage in (ModelUnavailable, EnvironmentUnavailable, StorageError):
        assert issubclass(outage, InfrastructureError)
    assert not issubclass(UsageError, InfrastructureError)
    assert issubclass(ModelError, PerdureError)
    assert not issubclass(ModelError, InfrastructureError), "a failed reply is data"
    assert str(MissingExtra("x", "pip install x")) == "x is not installed; run: pip install x"


@pytest.mark.parametrize("status", [s for s in SessionStatus if not s.is_abnormal_inference])
def test_a_model_error_means_an_abnormal_status(status: SessionStatus) -> None:
    with pytest.raises(ValueError, match="cannot mean"):
        ModelError("x", status)
