"""Arms between a history and a state: masked observations, a window beside the state, a history at first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.core.errors import ConfigError
from perdure.core.types import Message
from perdure.experiment.construct import construct
from perdure.strategies.hybrid import Hybrid
from perdure.strategies.observation_masking import MASK, ObservationMasking
from perdure.strategies.structured_state import StructuredState
from tests.strategies.playing import FIRST, GOAL, numbered, play, text_of


def answers(count: int) -> list[tuple[str, str]]:
    """Turns of a strategy that keeps a state of notes."""
    return [
        (json.dumps({"state_patch": {"notes": {"n": str(i)}}, "action": f"press-{i}"}), f"light-{i} is on")
        for i in range(1, count + 1)
    ]


@pytest.mark.parametrize("window", [1, 2, 5])
def test_old_observations_give_way_and_every_action_stays(window: int) -> None:
    demonstrations = (Message("user", "DEMO"), Message("agent", "press-0"))
    prompts = list(play(ObservationMasking(window=window), numbered(8), demonstrations=demonstrations))
    for played, prompt in enumerate(prompts):
        text = text_of(prompt)
        assert [m.text for m in prompt if m.role == "agent"] == [f"press-{i}" for i in range(played + 1)]
        assert prompt[1].text == "DEMO"
        assert prompt[3].text.startswith(GOAL)
        observed = [FIRST, *(f"light-{i} is on" for i in range(1, played + 1))]
        assert [one in text for one in observed] == [i > played - window for i in range(played + 1)]
        assert text.count(MASK) == max(0, played + 1 - window)


def test_only_what_leaves_the_window_changes() -> None:
    *_, before, after = play(ObservationMasking(window=2), numbered(9))
    changed = [(a.text, b.text) for a, b in zip(before, after, strict=False) if a != b]
    assert changed == [("light-7 is on", MASK)]


def test_a_window_of_observations_stands_beside_the_state() -> None:
    prompts = list(play(StructuredState(window=2), answers(6)))
    observed = [FIRST, *(f"light-{i} is on" for i in range(1, 7))]
    for played, prompt in enumerate(prompts):
        assert len(prompt) == 2
        expected = [i >= played - 2 for i in range(played + 1)]
        assert [one in prompt[1].text for one in observed[: played + 1]] == expected
        places = [prompt[1].text.index(one) for one in observed[max(0, played - 2) : played + 1]]
        assert places == sorted(places), "oldest first"
        assert prompt[1].text.endswith(f"Latest observation:\n{observed[played]}")
    assert "but the 2 observations before" in prompts[0][0].text
    assert "observations before" not in next(iter(play(StructuredState(), [])))[0].text


@pytest.mark.parametrize("steps", [0, 1, 3, 20])
def test_a_hybrid_shows_the_history_at_first_and_then_the_state_alone(steps: int) -> None:
    turns = answers(6)
    prompts = list(play(Hybrid(history_steps=steps), turns))
    plain = list(play(StructuredState(), turns))
    for played, (prompt, alone) in enumerate(zip(prompts, plain, strict=True)):
        shown = [reply in text_of(prompt) for reply, _ in turns[:played]]
        assert shown == [played < steps] * played
        assert prompt[-1] == alone[-1], "the state is kept from the first step on"
        assert prompt[0] == prompts[0][0], "the beginning is constant"
        assert len(prompt) == (2 + 2 * played if played < steps else 2)
    if steps:
        assert f"After step {steps} you keep no memory" in prompts[0][0].text


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Hybrid(history_steps=-1), "history_steps"),
        (lambda: ObservationMasking(window=0), "window"),
        (lambda: StructuredState(window=-1), "window"),
    ],
)
def test_a_bad_size_is_named(build: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        build()


def warehouse(strategy: dict[str, Any], **model: Any) -> dict[str, Any]:
    return {
        "environment": {"name": "warehouse", "tasks": 2, "horizon": 60},
        "agent": {"strategy": strategy},
        "models": {"default": {"provider": "perfect_reader", **model}},
        "execution": {"fsync": False},
    }


@pytest.mark.parametrize(
    ("strategy", "everything"),
    [
        ({"name": "hybrid", "history_steps": 10}, True),
        ({"name": "structured_state", "window": 3}, True),
        ({"name": "structured_state", "compat": "paper"}, True),
        ({"name": "stateful", "compat": "paper"}, True),
        ({"name": "full_history", "compat": "paper"}, True),
        ({"name": "observation_masking", "window": 60}, True),
        ({"name": "observation_masking", "window": 2}, False),
    ],
    ids=str,
)
def test_what_each_arm_lets_through(tmp_path: Path, strategy: dict[str, Any], everything: bool) -> None:
    run = perdure.run(warehouse(strategy), out=tmp_path)
    assert [record.reward == 1.0 for record in run.records()] == [everything] * 2


def test_a_state_that_is_patched_deeply_does_not_inflate_the_history(tmp_path: Path) -> None:
    totals = {}
    arms = {
        "full": ("full_history", {}),
        "deep": ("stateful", {}),
        "whole": ("stateful", {"compat": "paper"}),
    }
    for arm, (name, options) in arms.items():
        config = warehouse({"name": name, **options}, reasoning_tokens=200)
        run = perdure.run(config, out=tmp_path / arm)
        assert all(record.reward == 1.0 for record in run.records())
        total = run.summary().total_tokens
        totals[arm] = total.prompt + total.completion
    assert totals["full"] < totals["deep"] < 1.3 * totals["full"], "the paper's has 1.25 times the tokens"
    assert totals["deep"] < totals["whole"]


def test_a_hybrid_takes_the_options_of_a_state_and_no_paper_s_rules() -> None:
    parameters = {"history_steps": 2, "window": 1, "patch_mode": "rewrite"}
    assert isinstance(construct(Hybrid, parameters, where="agent.strategy", base=Path()), Hybrid)
    for more, told in (
        ({"compat": "paper"}, "no paper has hybrid"),
        ({"history_steps": -1}, "at least 0"),
        ({"windows": 1}, "unknown key; choose one of: .*window.*history_steps"),
    ):
        with pytest.raises(ConfigError, match=told):
            construct(Hybrid, parameters | more, where="agent.strategy", base=Path())
