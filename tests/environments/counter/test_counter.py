from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.core.environment import Environment
from perdure.core.types import Evaluation, EvaluationOutcome, Observation, Trial
from perdure.environments.counter import WORLD, CounterEnvironment
from perdure.environments.counter.actions import CounterAction, parse_action
from perdure.environments.counter.tasks import CounterTasks

CONTRACT = {
    "name",
    "version",
    "instructions",
    "history_factory",
    "task_ids",
    "reset",
    "interact",
    "read_action",
    "complete",
    "calculate_metric",
    "release",
}


read_action = CounterEnvironment().read_action


def value_of(observation: Observation) -> int:
    found = re.search(r"-?\d+", observation.text)
    assert found is not None
    return int(found[0])


def test_exactly_the_members_of_the_contract_are_public() -> None:
    assert {name for name in dir(CounterEnvironment()) if not name.startswith("_")} == CONTRACT
    assert {*vars(Environment), *Environment.__annotations__} - {
        name for name in vars(Environment) if name.startswith("_")
    } == CONTRACT


def test_the_package_offers_what_every_environment_offers() -> None:
    assert WORLD.environment is CounterEnvironment
    assert WORLD.max_interactions == 8
    assert WORLD.normalise("x 3") == "x 3"


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Action: read", CounterAction("read")),
        ("Action: done", CounterAction("done")),
        ("action:add 3", CounterAction("add", 3)),
        ("Action: add -9", CounterAction("add", -9)),
        ("Action: add +9", CounterAction("add", 9)),
        ("  ACTION:   add    0  ", CounterAction("add", 0)),
        ("Action: add 1\nAction: read", CounterAction("read")),
        ("I think so.\nAction: add 2\nThat is it.", CounterAction("add", 2)),
    ],
)
def test_valid_replies(reply: str, action: CounterAction) -> None:
    assert parse_action(reply) == action
    assert read_action(reply) == str(action)


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("", "No action found"),
        ("read", "No action found"),
        ("The action: read", "No action found"),
        ("Action: add", "one integer"),
        ("Action: add ten", "one integer"),
        ("Action: add 10", "one integer"),
        ("Action: add 1 2", "one integer"),
        ("Action: add --1", "one integer"),
        ("Action: add -+1", "one integer"),
        ("Action: add ²", "one integer"),
        ("Action: add ३", "one integer"),
        ("Action: read now", "Unknown command"),
        ("Action: Read", "Unknown command"),
        ("Action:", "Unknown command"),
        ("Action: read\nAction: fly", "Unknown command"),
    ],
)
def test_invalid_replies_are_observations(reply: str, complaint: str) -> None:
    assert complaint in str(parse_action(reply))
    assert read_action(reply) is None
    world = CounterEnvironment(tasks=1)
    start = value_of(world.reset(Trial("0")).observation)
    observation = world.interact(reply)
    assert not observation.accepted
    assert not observation.done
    assert complaint in observation.text
    assert value_of(world.interact("Action: read")) == start, "a bad action changes nothing"


@given(st.text())
def test_no_reply_is_an_exception(reply: str) -> None:
    parsed = parse_action(reply)
    assert isinstance(parsed, str | CounterAction)
    assert (read_action(reply) is None) == isinstance(parsed, str)


@given(st.integers(-9, 9), st.text(alphabet=st.characters(exclude_characters=":")))
def test_a_key_is_its_own_key(amount: int, prose: str) -> None:
    form = read_action(f"{prose}\nAction: add {amount:+d}")
    assert form == f"add {amount}"
    assert read_action(f"Action: {form}") == form


@given(st.integers(1, 40), st.integers())
def test_tasks_come_from_the_seed_and_are_solvable_within_the_limit(count: int, seed: int) -> None:
    tasks = CounterTasks(count, seed)
    assert tasks == CounterTasks(count, seed)
    assert list(tasks) == [str(i) for i in range(count)]
    for task in tasks.values():
        assert 1 <= abs(task.target - task.start) <= 30
        assert task.skills == (("increase",) if task.target > task.start else ("decrease",))
    assert dict(CounterTasks(count + 1, seed)) | dict(tasks) == CounterTasks(count + 1, seed), (
        "more tasks keep the first"
    )


def test_another_seed_gives_other_tasks() -> None:
    assert CounterTasks(5, 0) != CounterTasks(5, 1)
    assert CounterEnvironment(seed=0).version != CounterEnvironment(seed=1).version


def test_a_task_is_graded_by_where_the_counter_stands_and_put_back() -> None:
    world = CounterEnvironment(tasks=1)
    opening = world.reset(Trial("0"))
    start, target = value_of(opening.observation), int(re.findall(r"-?\d+", opening.goal)[0])
    assert opening.history[-1].text == f"{opening.goal}\n{opening.observation.text}"
    while (gap := target - start) != 0:
        start = value_of(world.interact(f"Action: add {max(-9, min(9, gap))}"))
    ended = world.interact("Action: done")
    assert ended.done
    assert ended.text == ""
    assert world.complete() == Evaluation(EvaluationOutcome.CORRECT, 1.0, {"distance": 0})
    assert world.reset(Trial("0")) == opening


def test_a_reset_abandons_the_open_task() -> None:
    world = CounterEnvironment(tasks=2)
    first = world.reset(Trial("0"))
    world.interact("Action: add 5")
    world.reset(Trial("1"))
    assert world.reset(Trial("0")).observation == first.observation


def test_misuse_is_an_error() -> None:
    world = CounterEnvironment(tasks=1)
    with pytest.raises(KeyError):
        world.reset(Trial("nine"))
    with pytest.raises(RuntimeError, match="without reset"):
        world.complete()
    with pytest.raises(ValueError, match="at least 1"):
        CounterEnvironment(tasks=0)
    world.release()
    world.release()


def floor_or_ceiling(kind: str, folder: Path) -> perdure.Run:
    return perdure.run({"environment": {"name": "counter", "tasks": 30}, "agent": {"kind": kind}}, out=folder)


def test_the_oracle_scores_one_and_doing_nothing_scores_zero(tmp_path: Path) -> None:
    ceiling, floor = (
        floor_or_ceiling("oracle", tmp_path / "a"),
        floor_or_ceiling("do_nothing", tmp_path / "b"),
    )
    assert ceiling.metrics["overall.success_rate"] == 1.0
    assert ceiling.metrics["overall.cumulative_reward"] == 30.0
    assert floor.metrics["overall.success_rate"] == 0.0
    assert all(record.interactions == 1 for record in floor.records())
    assert {key for key in ceiling.metrics if key.startswith("skill.")} == {
        f"skill.{skill}.{measure}"
        for skill in ("increase", "decrease")
        for measure in ("count", "correct_count", "correct_rate")
    }
