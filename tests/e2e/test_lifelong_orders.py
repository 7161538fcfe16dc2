from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.core.errors import ConfigError
from perdure.environments import counter, database
from perdure.experiment.orders import ORDERS, Order, arrange, needs_skills, skill_blocks

SKILLS = st.dictionaries(
    st.integers(0, 99).map(str), st.lists(st.sampled_from("abcd"), max_size=3).map(tuple), max_size=20
)


@given(SKILLS, st.sampled_from(ORDERS), st.integers(0, 5))
def test_every_order_holds_the_same_tasks_and_is_the_same_again(
    skills: dict[str, tuple[str, ...]], order: Order, seed: int
) -> None:
    tasks = list(skills)
    made = arrange(tasks, order, skills=skills, seed=seed)
    assert sorted(made) == sorted(tasks)
    assert made == arrange(tasks, order, skills=skills, seed=seed)


@given(SKILLS, st.integers(0, 5))
def test_blocks_stand_together_and_interleaving_takes_turns(
    skills: dict[str, tuple[str, ...]], seed: int
) -> None:
    tasks = list(skills)
    blocks = skill_blocks(tasks, skills, seed)
    leading = {task: name for name, members in blocks.items() for task in members}
    by_skill = [leading[task] for task in arrange(tasks, "by_skill", skills=skills, seed=seed)]
    assert [name for name, _ in groupby(by_skill)] == list(blocks)
    mixed = arrange(tasks, "interleaved", skills=skills, seed=seed)
    depth = [blocks[leading[task]].index(task) for task in mixed]
    assert depth == sorted(depth)
    for members in blocks.values():
        assert members == [task for task in tasks if task in members]
        assert members == [task for task in mixed if task in members]


@given(SKILLS)
def test_easy_tasks_need_fewer_skills(skills: dict[str, tuple[str, ...]]) -> None:
    made = arrange(list(skills), "easy_to_hard", skills=skills)
    needed = [len(set(skills[task])) for task in made]
    assert needed == sorted(needed)


def test_a_task_leads_with_its_rarest_skill() -> None:
    skills = {"1": ("select", "where"), "2": ("select",), "3": ("select", "group"), "4": ("group", "where")}
    assert skill_blocks(["1", "2", "3", "4"], skills)["where"] == ["1"] or skill_blocks(
        ["1", "2", "3", "4"], skills
    )["group"] == ["3", "4"]


def test_seeds_shuffle_otherwise() -> None:
    tasks = [str(i) for i in range(30)]
    orders = {tuple(arrange(tasks, "shuffled", seed=seed)) for seed in range(5)}
    assert len(orders) == 5
    assert tuple(tasks) not in orders
    assert arrange(tasks, "given", seed=3) == tasks


@pytest.mark.parametrize("order", [order for order in ORDERS if needs_skills(order)])
@pytest.mark.parametrize("name", ["counter", "database"])
def test_environments_say_which_skills_their_tasks_need(tmp_path: Path, order: Order, name: str) -> None:
    config = {"environment": {"name": name}, "agent": {"kind": "do_nothing"}, "order": order, "seed": 2}
    world = {"counter": counter.WORLD, "database": database.WORLD}[name]
    assert world.skills is not None
    skills = world.skills(world.environment(**({"seed": 2} if name == "counter" else {})))
    run = perdure.run(config, out=tmp_path)
    ids = list(skills)
    assert [record.task_id for record in run.records()] == arrange(ids, order, skills=skills, seed=2)
    rates = {key for key in run.metrics if key.startswith("skill.") and key.endswith(".count")}
    assert rates == {f"skill.{skill}.count" for names in skills.values() for skill in names}


def test_a_longer_run_continues_a_shorter_one(tmp_path: Path) -> None:
    config = {"environment": {"name": "counter"}, "agent": {"kind": "oracle"}, "order": "shuffled"}
    perdure.run(config, sets=["execution.limit=5"], out=tmp_path / "run")
    longer = perdure.run(config, sets=["execution.limit=12"], out=tmp_path / "run")
    whole = perdure.run(config, out=tmp_path / "whole")
    ids = [record.task_id for record in whole.records()]
    assert [record.task_id for record in longer.records()] == ids[:12]


def test_an_unknown_order_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"order: Input should be 'given', .*got 'sorted'"):
        perdure.run({"environment": {"name": "counter"}, "order": "sorted"}, out=tmp_path)


def test_an_environment_without_skills_is_one_line(tmp_path: Path) -> None:
    from tests.core import worlds

    world = {"name": f"{worlds.__file__}:Breakable", "knobs": str(tmp_path / "knobs.json")}
    (tmp_path / "knobs.json").write_text("{}")
    config = {"environment": world, "agent": {"kind": "do_nothing"}, "order": "by_skill"}
    with pytest.raises(
        ConfigError, match=r"order = 'by_skill': environment .* does not say which skills its tasks need"
    ):
        perdure.run(config, out=tmp_path / "run")
