"""Constant context needs worlds that stay bounded: what a perfect state holds, and how prompts grow by it.

Played rightly, without a model: prompts are those of the structured state with the true state in them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from perdure.core.agent import ContextView
from perdure.core.types import Trial
from perdure.core.world import World
from perdure.environments.repository import WORLD as REPOSITORY
from perdure.environments.skillexec.prompt_reading import write_reply
from perdure.environments.warehouse import WORLD as WAREHOUSE
from perdure.metrics.growth import cumulative_exponent, slope
from perdure.models.perfect_reader import count_pieces
from perdure.state.prompt import step_message, system_message
from perdure.state.runtime import StateRuntime

TASKS, HORIZON = 20, 400
OPENING = 25
"""Steps until the first results and requests are there: before them observations are shorter."""

WORLDS: dict[str, tuple[World, dict[str, Any]]] = {
    "repository": (REPOSITORY, {}),
    "repository main": (REPOSITORY, {"verbs": "main"}),
    "repository appendix": (REPOSITORY, {"verbs": "appendix"}),
    "warehouse paper": (WAREHOUSE, {"profile": "paper"}),
    "warehouse dense": (WAREHOUSE, {"profile": "dense"}),
    "warehouse growth": (WAREHOUSE, {"profile": "growth", "seed": 100}),
}
BOUNDED = [name for name in WORLDS if name != "warehouse growth"]


@dataclass
class Sizes:
    """Pieces of each step's prompt, of prompt and reply, and of the state in it, a list a task."""

    prompts: list[list[float]] = field(default_factory=list)
    tokens: list[list[float]] = field(default_factory=list)
    states: list[list[float]] = field(default_factory=list)


@cache
def played(name: str) -> Sizes:
    world, parameters = WORLDS[name]
    environment: Any = world.environment(tasks=TASKS, horizon=HORIZON, **parameters)
    assert world.oracle is not None
    assert world.state is not None
    contract = StateRuntime(world.state(environment).schema).contract
    oracle = world.oracle(environment)
    sizes = Sizes()
    for task in environment.task_ids():
        opening = environment.reset(Trial(task))
        oracle.start(Trial(task), opening)
        constant = count_pieces(system_message(environment.instructions, contract, opening.goal).text)
        view = ContextView(environment.instructions, opening.goal, (), tuple(opening.history))
        observation, prompts, tokens, states = opening.observation, [], [], []
        before = environment._play.state()
        while not observation.done:
            shown = json.dumps(before, separators=(",", ":"))
            states.append(float(count_pieces(shown)))
            prompts.append(float(constant + count_pieces(step_message(shown, observation.text).text)))
            action = str(oracle.infer(view))
            observation = environment.interact(action)
            oracle.observe(observation)
            after = environment._play.state()
            tokens.append(prompts[-1] + count_pieces(write_reply("patch", action, before, after)))
            before = after
        assert environment.complete().reward == 1.0
        sizes.prompts.append(prompts)
        sizes.tokens.append(tokens)
        sizes.states.append(states)
    return sizes


def exponent(series: Sequence[Sequence[float]], horizon: int) -> float:
    """Of the tokens of the first `horizon` steps, as the tables show it."""
    fit = cumulative_exponent([steps[:horizon] for steps in series])
    assert fit is not None
    return fit.value


@pytest.mark.parametrize("horizon", [50, 100, 200, 400])
@pytest.mark.parametrize("name", BOUNDED)
def test_tokens_grow_no_faster_than_steps(name: str, horizon: int) -> None:
    assert exponent(played(name).tokens, horizon) <= 1.05


@pytest.mark.parametrize("name", WORLDS)
def test_at_a_fixed_state_prompts_do_not_grow(name: str) -> None:
    sizes = played(name)
    rest = [
        [prompt - state for prompt, state in zip(prompts[OPENING:], states[OPENING:], strict=True)]
        for prompts, states in zip(sizes.prompts, sizes.states, strict=True)
    ]
    fit = slope(rest)
    assert fit is not None
    assert fit.contains(0), fit


def test_one_profile_is_meant_to_grow() -> None:
    sizes = played("warehouse growth")
    assert exponent(sizes.states, HORIZON) > 1.3
    assert exponent(sizes.tokens, HORIZON) > 1.05
