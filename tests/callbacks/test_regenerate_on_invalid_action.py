from __future__ import annotations

from pathlib import Path

import pytest

import perdure
from perdure.callbacks.regenerate_on_invalid_action import CALLBACK, RegenerateOnInvalidAction
from perdure.core.controller import Limits
from perdure.core.errors import ConfigError
from perdure.core.types import Message, SessionStatus
from tests.core.playing import DONE, play


def regenerate(attempts: int = 2) -> RegenerateOnInvalidAction:
    return RegenerateOnInvalidAction(attempts=attempts, error="Again!")


def test_an_invalid_reply_is_asked_for_again_and_costs_a_turn_but_no_interaction(tmp_path: Path) -> None:
    past = play(tmp_path, ["Hm.", DONE], [regenerate()], tasks=1)
    record = past[0].record
    assert (record.turns, record.interactions) == (2, 1)
    assert [i.action for i in past[0].interactions] == [DONE]
    assert Message("agent", "Hm.") not in past[0].history


def test_the_model_sees_its_reply_and_the_error_until_the_next_observation(tmp_path: Path) -> None:
    past = play(tmp_path, ["Hm.", "Hmm.", "Action: read", DONE], [regenerate()], tasks=1)
    prompts = [[(m.role, m.text) for m in call.messages] for call in past.calls(0)]
    first = prompts[0]
    assert prompts[1] == [*first, ("agent", "Hm."), ("user", "Again!")]
    assert prompts[2] == [*prompts[1], ("agent", "Hmm."), ("user", "Again!")]
    assert prompts[3][: len(first)] == first
    assert prompts[3][len(first)] == ("agent", "Action: read")
    assert len(prompts[3]) == len(first) + 2


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_the_environment_gets_the_reply_when_the_attempts_are_used(tmp_path: Path, attempts: int) -> None:
    past = play(tmp_path, [*["Hm."] * (attempts + 1), DONE], [regenerate(attempts)], tasks=1)
    bad, good = past[0].interactions
    assert (bad.action, bad.observation.accepted) == ("Hm.", False)
    assert good.action == DONE
    assert past[0].record.turns == attempts + 2


def test_attempts_are_counted_anew_after_every_observation(tmp_path: Path) -> None:
    past = play(
        tmp_path, ["Hm.", "Action: read", "Hm.", "Action: read", "Hm.", DONE], [regenerate(1)], tasks=1
    )
    assert all(i.observation.accepted for i in past[0].interactions)
    assert past[0].record.interactions == 3


def test_an_endless_talker_ends_at_a_limit(tmp_path: Path) -> None:
    limits = Limits(max_interactions=3, max_turns=32)
    past = play(tmp_path, lambda request: "Hm.", [regenerate(2)], tasks=1, limits=limits)
    record = past[0].record
    assert record.status is SessionStatus.TASK_LIMIT_REACHED
    assert (record.interactions, record.turns) == (3, 9)


def test_it_needs_no_parameters_in_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        f"def reply(request):\n"
        f"    return {DONE!r} if 'Answer again' in request.messages[-1].text else 'Hm.'\n"
    )
    run = perdure.run(
        {
            "environment": {"name": "counter", "tasks": 1},
            "models": {"default": {"provider": "scripted", "replies": f"{tmp_path}/model.py:reply"}},
            "callbacks": [{"name": "regenerate_on_invalid_action"}],
        },
        out=tmp_path / "run",
    )
    (record,) = run.records()
    assert (record.turns, record.interactions) == (2, 1)


def test_wrong_parameters_are_refused(tmp_path: Path) -> None:
    assert CALLBACK is RegenerateOnInvalidAction
    with pytest.raises(ValueError, match="at least 1, not 0"):
        regenerate(0)
    with pytest.raises(ConfigError, match=r"callbacks\.0: attempts must be at least 1, not 0"):
        perdure.run(
            {
                "environment": {"name": "counter"},
                "agent": {"kind": "oracle"},
                "callbacks": [{"name": "regenerate_on_invalid_action", "attempts": 0}],
            },
            out=tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()
