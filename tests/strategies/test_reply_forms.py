"""P says what the world is; each strategy adds its own form, and nothing follows the form's one example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from perdure.core.agent import ContextView, ModelAgent
from perdure.core.session import Rejected
from perdure.core.types import Completion, Trial
from perdure.core.usage import Usage
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.strategies.reply_example import split_example
from tests.callbacks.matrix_parts import ENVIRONMENTS, STRATEGIES
from tests.sandboxes.availability import need_bubblewrap

LESSON = "LESSON-7e: look twice."
STATE = ("structured_state", "hybrid")


@contextmanager
def opened(
    environment: str, strategy: str, **options: Any
) -> Iterator[tuple[Experiment, ModelAgent, ContextView]]:
    """An agent at the beginning of the first task, and what there is to see."""
    if environment == "operating_system":
        need_bubblewrap()
    section = {"name": strategy, **STRATEGIES[strategy], **options}
    config = load_config(
        {
            "environment": {"name": environment, **ENVIRONMENTS[environment]},
            "agent": {"strategy": section},
            "models": {"default": {"provider": "scripted", "replies": ["x"]}},
        }
    )
    with Experiment(config) as experiment:
        agent = experiment.agent()
        assert isinstance(agent, ModelAgent)
        world = experiment.environment
        trial = Trial(world.task_ids()[0])
        opening = world.reset(trial)
        agent.start(trial, opening)
        form = experiment.world.reply_form(world)
        view = ContextView(world.instructions, opening.goal, (LESSON,), tuple(opening.history), (), form)
        yield experiment, agent, view


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_form_stands_between_the_world_and_the_lessons_and_ends_with_its_example(
    environment: str, strategy: str
) -> None:
    with opened(environment, strategy) as (experiment, agent, view):
        system = agent.strategy.render(view)[0].text
        world = experiment.environment
        assert system.startswith(f"{view.instructions}\n\n")
        form, found, _ = system.removeprefix(view.instructions).strip().partition(f"\n\n{LESSON}")
        assert found, "lessons follow the form"
        rules, example = split_example(view.reply_form)
        assert example, "the world's form ends with an example"
        assert form.lower().count("example:") == 1
        if strategy not in STATE:
            assert form.endswith(f"\n{example}")
            assert rules.removesuffix(".") in form
            return
        block = re.search(r"^(`{3,})json\n([^\n]*)\n\1\Z", form, re.M)
        assert block is not None, "an answer in a fence is the end"
        answer = json.loads(block[2])
        assert list(answer) == ["reasoning", "state_patch", "action"]
        if world.read_action(example) is not None:  # placeholders are no actions
            assert world.read_action(answer["action"]) is not None
            assert agent.absorb(Completion(json.dumps(answer))).action == answer["action"]


ACTIONS = {
    "warehouse": [
        "Store item_6 shelf_0",
        "store item_6 shelf_0",
        "Action: Store item_6 shelf_0",
        "Store item_6",
    ],
    "repository": ["Wait", "Action: Wait", "wait", "Dance"],
    "counter": ["Action: add 3", "action: add 3", "add", "Action: add 300"],
}


@pytest.mark.parametrize("environment", ACTIONS)
@pytest.mark.parametrize("strategy", STATE)
def test_an_action_in_an_answer_is_what_the_environment_reads_anywhere_else(
    environment: str, strategy: str
) -> None:
    with opened(environment, strategy) as (experiment, agent, _):
        readings = [experiment.environment.read_action(text) for text in ACTIONS[environment]]
        assert None in readings
        assert readings[0] is not None
        for text, reading in zip(ACTIONS[environment], readings, strict=True):
            answer = Completion(json.dumps({"state_patch": {}, "action": text}))
            assert (agent.absorb(answer).action is None) is (reading is None), text
        counts = agent.trace()["counts"]
        assert counts["semantic"] == readings.count(None)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_correction_ends_with_the_form(strategy: str) -> None:
    broken = 'hm ```json\n{"state_patch": {}, "action": "jump"}\n```'
    with opened("counter", strategy) as (_, agent, view):
        absorbed = agent.absorb(Completion(broken))
        assert absorbed.error is not None
        rejected = (Rejected("earlier", "EARLIER"), Rejected(broken, absorbed.error))
        seen = ContextView(view.instructions, view.goal, (), view.history, rejected, view.reply_form)
        last = agent.strategy.render(seen)[-1].text
        assert absorbed.error in last
        if strategy in STATE:
            assert "It was:\n```\n" in last
            assert last.endswith('```json\n{"reasoning": "...", "state_patch": {...}, "action": "..."}\n```')
        else:
            assert last == f"{absorbed.error}\n\n{view.reply_form}"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("tokens", "told"), [(512, "cut after 512 tokens"), (0, "was cut, before")])
def test_a_cut_reply_is_told_so(strategy: str, tokens: int, told: str) -> None:
    with opened("counter", strategy) as (_, agent, _):
        error = agent.absorb(Completion("I think that", "length", Usage(9, tokens))).error
        assert error is not None
        assert told in error
        whole = agent.absorb(Completion("I think that", "stop", Usage(9, tokens))).error
        assert whole is not None
        assert "cut" not in whole


def test_what_is_quoted_stands_between_longer_fences() -> None:
    reply = 'well\n```json\n{"state_patch": "```", "action": 1}\n```'
    with opened("counter", "structured_state") as (_, agent, view):
        error = agent.absorb(Completion(reply)).error
        assert error is not None
        seen = ContextView(view.instructions, view.goal, (), view.history, (Rejected(reply, error),))
        text = agent.strategy.render(seen)[-1].text
        assert '````\n{"state_patch": "```", "action": 1}\n````' in text


def test_thoughts_inside_an_answer_are_dropped_and_have_no_place_without_constraint() -> None:
    answer = Completion('{"reasoning": "CANARY", "state_patch": {}, "action": "Action: read"}')
    with opened("counter", "structured_state") as (_, agent, view):
        schema = agent.strategy.schema
        assert schema is not None
        assert next(iter(schema["properties"])) == "reasoning"
        assert agent.absorb(answer).action == "Action: read"
        assert "CANARY" not in json.dumps(agent.trace())
    with opened("counter", "structured_state", constrained=False) as (_, agent, view):
        assert agent.strategy.schema is None
        assert "exactly the keys" in (agent.absorb(answer).error or "")
        assert '"reasoning"' not in agent.strategy.render(view)[0].text


@pytest.mark.parametrize(
    ("form", "rules", "example"),
    [
        ("Write. For example:\nAction: go", "Write.", "Action: go"),
        (
            "End with one line, for example:\nAction: go\n```\nx\n```",
            "End with one line.",
            "Action: go\n```\nx\n```",
        ),
        ("Example:\nAction: go", "", "Action: go"),
        ("No instance is given.", "No instance is given.", ""),
        ("For example:", "For example:", ""),
    ],
)
def test_the_example_is_told_from_the_rules(form: str, rules: str, example: str) -> None:
    assert split_example(form) == (rules, example)
