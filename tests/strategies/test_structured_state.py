from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.conformance.strategies import check_strategy
from perdure.core.agent import ContextView
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError
from perdure.core.history import HistoryFactory
from perdure.core.session import Rejected
from perdure.core.types import Completion, Message, Observation, SessionStatus
from perdure.models.token_estimate import estimate_messages
from perdure.state import PatchJournal
from perdure.strategies.hybrid import Hybrid
from perdure.strategies.structured_state import STRATEGY, StructuredState
from tests.strategies.counter_player import CANARY

PLAYER = Path(__file__).with_name("counter_player.py")

SHELVES = {
    "type": "object",
    "properties": {
        "inventory": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
        "step": {"type": "integer", "default": 100},
    },
    "additionalProperties": False,
}


def answer(patch: Any, action: str, reasoning: str = "") -> str:
    body = json.dumps({"state_patch": patch, "action": action})
    return f"{reasoning}\n```json\n{body}\n```"


def started(observation: str = "o", **options: Any) -> StructuredState:
    strategy = StructuredState(**{"state_schema": SHELVES, **options})
    first = Observation(observation)
    strategy.start(Opening("g", first, HistoryFactory().construct("g", first)), "")
    return strategy


def view(*rejected: Rejected, history: Sequence[Message] = ()) -> ContextView:
    return ContextView("INSTRUCTIONS", "GOAL", ("LESSON",), tuple(history), rejected)


def state_of(strategy: StructuredState) -> Any:
    return json.loads(strategy.render(view())[1].text.split("```")[1].removeprefix("json"))


def run(folder: Path, player: str = "play", **strategy: Any) -> perdure.Run:
    return perdure.run(
        {
            "environment": {"name": "counter", "tasks": 6},
            "agent": {"strategy": {"name": "structured_state", **strategy}},
            "models": {"default": {"provider": "scripted", "replies": f"{PLAYER}:{player}"}},
        },
        out=folder,
    )


def test_it_passes_the_suite_with_replies_of_its_own_format() -> None:
    def valid(step: int) -> str:
        return answer({"step": step}, f"press {step}")

    variants: list[dict[str, Any]] = [{}, {"commit": "paper"}, {"constrained": False}, {"window": 2}]
    variants += [{"compat": "paper"}, {"history_steps": 2}, {"history_steps": 2, "window": 1}]
    for options in variants:
        kind = Hybrid if "history_steps" in options else StructuredState
        results = list(check_strategy(partial(kind, state_schema=SHELVES, **options), valid))
        assert [result for result in results if not result.passed] == []
    assert STRATEGY is StructuredState


def test_a_competent_model_solves_the_counter_with_its_prompt_alone(tmp_path: Path) -> None:
    finished = run(tmp_path)
    assert finished.metrics["overall.success_rate"] == 1.0
    for past in finished.sessions:
        assert past.trace["counts"] == {"overwrite": 0, "schema": 0, "syntax": 0, "semantic": 0}
        journal = PatchJournal.from_trace(past.trace)
        assert journal.last_state()["value"] == journal.last_state()["target"]


def test_the_prompt_has_three_parts_and_no_history(tmp_path: Path) -> None:
    finished = run(tmp_path)
    for index, past in enumerate(finished.sessions):
        prompts = [call.messages for call in finished.reader.calls(index)]
        observations = [past.history[0].text.split("\n")[-1]]
        observations += [interaction.observation.text for interaction in past.interactions]
        for number, (system, user) in enumerate(prompts):
            assert (system.role, user.role) == ("system", "user")
            assert system == prompts[0][0], "the beginning of the prompt is constant: a server can cache it"
            assert past.goal in system.text
            assert user.text.endswith(f"Latest observation:\n{observations[number]}")
            assert CANARY not in user.text
            if number and observations[number] != observations[number - 1]:
                assert observations[number - 1] not in user.text


def test_the_same_run_twice_is_the_same_bytes(tmp_path: Path) -> None:
    run(tmp_path / "a")
    run(tmp_path / "b")
    assert (tmp_path / "a/sessions.jsonl").read_bytes() == (tmp_path / "b/sessions.jsonl").read_bytes()


def test_a_slip_costs_a_turn_and_no_interaction(tmp_path: Path) -> None:
    finished = run(tmp_path, "play_after_a_slip")
    assert finished.metrics["overall.success_rate"] == 1.0
    for past in finished.sessions:
        slips = past.trace["counts"]["syntax"]
        assert slips == past.record.interactions
        assert past.record.turns == past.record.interactions + slips


@pytest.mark.parametrize("experience", [(), ("LESSON-1", "LESSON-2")])
def test_experience_is_part_of_the_instructions(experience: tuple[str, ...]) -> None:
    shown = started().render(ContextView("P", "G", experience, ()))[0].text
    assert shown.startswith("P\n\n# Your state")
    assert shown.endswith("\n```\n\n" + "\n\n".join([*experience, "# Your goal\nG"]))


def test_canaries_of_reasoning_and_of_earlier_observations_never_come_back() -> None:
    strategy = started("CANARY-O0")
    assert "CANARY-O0" in strategy.render(view())[1].text
    history: list[Message] = []
    for step in range(1, 6):
        reply = answer({"step": 100 + step}, f"act {step}", f"CANARY-R{step}")
        assert strategy.absorb(Completion(reply)).action == f"act {step}"
        strategy.observe(Observation(f"CANARY-O{step}"))
        history += [Message("agent", reply), Message("user", f"CANARY-O{step}")]
        text = "".join(message.text for message in strategy.render(view(history=history)))
        assert f"CANARY-O{step}" in text
        assert "CANARY-R" not in text
        assert text.count("CANARY") == 1


def test_prompt_tokens_do_not_grow_with_the_step() -> None:
    strategy = started("event 0000")
    sizes = []
    for step in range(1, 301):
        sizes.append(estimate_messages(strategy.render(view())).tokens)
        patch = {"step": 100 + step, "inventory": {f"s{step % 7}": f"i{step % 10}"}}
        assert strategy.absorb(Completion(answer(patch, "go", "thought " * step))).action == "go"
        strategy.observe(Observation(f"event {step:04}"))
    assert len(set(sizes[20:])) == 1, "same state size, same prompt size: the slope is exactly zero"


def test_a_refused_store_differs_between_the_commit_modes() -> None:
    held = {}
    for commit in ("on_accept", "paper"):
        strategy = started(commit=commit)
        strategy.absorb(Completion(answer({"inventory": {"shelf_1": "bolt"}}, "Store bolt shelf_1")))
        strategy.observe(Observation("shelf_1 is taken", accepted=False))
        held[commit] = state_of(strategy)["inventory"]
        assert strategy.trace()["counts"]["semantic"] == 1
    assert held == {"on_accept": {}, "paper": {"shelf_1": "bolt"}}


def test_nothing_is_committed_before_the_environment_answers() -> None:
    strategy = started()
    before = strategy.render(view())
    strategy.absorb(Completion(answer({"step": 7}, "go")))
    assert strategy.render(view()) == before
    strategy.observe(Observation("ok"))
    assert state_of(strategy)["step"] == 7


def test_a_retry_shows_the_observation_one_error_and_the_answer_it_corrects() -> None:
    strategy = started("SHIPMENT")
    first, second = (
        ("thought-1 " + answer({"step": "few"}, "go")),
        ("thought-2 " + answer({"step": "lots"}, "go")),
    )
    rejected = []
    for reply in (first, second):
        absorbed = strategy.absorb(Completion(reply))
        assert absorbed.error is not None
        rejected.append(Rejected(reply, absorbed.error))
    prompt = strategy.render(view(*rejected))
    assert len(prompt) == 2
    assert "Latest observation:\nSHIPMENT\n\nYour last answer" in prompt[1].text
    assert prompt[1].text.count("Error:") == 1
    assert '"lots"' in prompt[1].text
    assert "thought" not in prompt[1].text
    assert "few" not in prompt[1].text


def test_a_quoted_answer_is_cut_to_a_bound() -> None:
    strategy = started()
    huge = "x" * 500_000
    absorbed = strategy.absorb(Completion(huge))
    assert absorbed.error is not None
    assert len(strategy.render(view(Rejected(huge, absorbed.error)))[1].text) < 5_000


def test_a_reply_that_cannot_be_used_proposes_nothing() -> None:
    strategy = started()
    before = state_of(strategy)
    for _ in range(3):
        assert strategy.absorb(Completion("nonsense")).action is None
        assert strategy.read(Completion("nonsense")) is None
    strategy.observe(Observation("the hour passed"))
    assert state_of(strategy) == before
    trace = strategy.trace()
    assert trace["patches"] == []
    assert trace["counts"]["syntax"] == 3


def test_the_action_is_read_whatever_becomes_of_the_patch() -> None:
    strategy = started()
    reply = Completion(answer({"no such field": 1}, "go"))
    assert strategy.read(reply) == "go"
    assert strategy.absorb(reply).error is not None


def test_a_failed_reply_after_a_good_one_does_not_commit_the_good_one() -> None:
    strategy = started()
    before = state_of(strategy)
    strategy.absorb(Completion(answer({"step": 1}, "go")))
    strategy.absorb(Completion("nonsense"))
    strategy.observe(Observation("ok"))
    assert state_of(strategy) == before


def test_a_hopeless_model_ends_at_the_limit_with_the_no_op_of_the_environment(tmp_path: Path) -> None:
    finished = perdure.run(
        {
            "environment": {"name": "counter", "tasks": 2},
            "agent": {"strategy": {"name": "structured_state"}},
            "models": {"default": {"provider": "scripted", "replies": ["no idea"], "cycle": True}},
        },
        out=tmp_path,
    )
    for past in finished.sessions:
        assert past.record.status is SessionStatus.TASK_LIMIT_REACHED
        assert {interaction.action for interaction in past.interactions} == {"Action: read"}
        assert past.trace["counts"]["syntax"] == past.record.turns


def test_the_environment_offers_schema_actions_and_no_op(tmp_path: Path) -> None:
    finished = run(tmp_path)
    options = json.loads(next(iter(finished.reader.calls(0))).options)
    assert options["schema"]["properties"]["action"]["pattern"] == "^(?:Action: (add -?[0-9]|read|done))$"
    assert set(options["schema"]["properties"]["state_patch"]["properties"]) == {"value", "target"}
    off = run(tmp_path / "off", constrained=False)
    assert json.loads(next(iter(off.reader.calls(0))).options)["schema"] is None


def test_a_schema_of_ones_own_comes_from_a_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "shape.py").write_text(
        "from pydantic import BaseModel\n"
        "class Mine(BaseModel):\n"
        "    value: int | None = None\n    target: int | None = None\n    extra: str = 'MINE'\n",
        "utf-8",
    )
    config = tmp_path / "c.toml"
    config.write_text(
        "[environment]\nname = 'counter'\ntasks = 1\n"
        "[agent.strategy]\nname = 'structured_state'\nstate_schema = 'shape.py:Mine'\n"
        f"[models.default]\nprovider = 'scripted'\nreplies = '{PLAYER}:play'\n",
        "utf-8",
    )
    finished = perdure.run(config, out=tmp_path / "run")
    assert finished.metrics["overall.success_rate"] == 1.0
    assert finished.sessions[0].trace["initial"]["extra"] == "MINE"


@pytest.mark.parametrize(
    "options",
    [
        {"patch_mode": "diff"},
        {"commit": "never"},
        {"state_schema": "nowhere.py:Thing"},
        {"action_pattern": "("},
        {"state_schema": {"type": "string"}},
    ],
)
def test_a_bad_option_is_one_line(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        run(tmp_path, **options)
    assert "\n" not in str(caught.value)
    assert next(iter(options)) in str(caught.value)


def test_without_a_schema_there_are_notes() -> None:
    strategy = started(state_schema=None)
    strategy.absorb(Completion(answer({"notes": {"door": "locked"}}, "go")))
    strategy.observe(Observation("ok"))
    assert state_of(strategy) == {"notes": {"door": "locked"}}


@pytest.mark.parametrize("mode", ["ops", "rewrite"])
def test_the_other_patch_modes(mode: str) -> None:
    strategy = started(patch_mode=mode)
    patch = [{"op": "incr", "path": "/step"}] if mode == "ops" else {"inventory": {}, "step": 101}
    assert strategy.absorb(Completion(answer(patch, "go"))).action == "go"
    strategy.observe(Observation("ok"))
    assert state_of(strategy)["step"] == 101
