"""Letters and differences of the runs in a report."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.core.types import JSON
from perdure.experiment.config import load_config
from perdure.reports.legend import differences, legend_lines, letters


@given(st.integers(0, 800))
def test_letters_are_unique_and_short(count: int) -> None:
    names = letters(count)
    assert len(set(names)) == len(names) == count
    assert all(len(name) <= 2 for name in names[:702])


def test_what_only_one_kind_of_agent_has_is_no_difference() -> None:
    world = {"environment": {"name": "counter", "tasks": 3}}
    oracle = load_config({**world, "agent": {"kind": "oracle"}, "name": "a"})
    model = load_config({**world, "agent": {"kind": "model"}, "name": "b"})
    assert differences([oracle, model]) == [{"agent.kind": "oracle"}, {"agent.kind": "model"}]


def test_keys_that_one_configuration_lacks_are_shown_where_they_are() -> None:
    plain = load_config({"environment": {"name": "counter"}, "agent": {"kind": "oracle"}})
    other = load_config(
        {
            "environment": {"name": "counter", "tasks": 3},
            "agent": {"kind": "oracle"},
            "callbacks": [{"name": "progress", "every": 2.0}],
        }
    )
    assert differences([plain, other])[1] == {
        "environment.tasks": 3,
        "callbacks.0.name": "progress",
        "callbacks.0.every": 2.0,
    }
    assert differences([other, other]) == [{}, {}]


@given(st.integers(20, 120), st.integers(1, 100), st.integers(1, 60))
def test_a_path_stays_on_one_line(width: int, path: int, value: int) -> None:
    facts: list[dict[str, JSON]] = [
        {"run": "A", "folder": "f" * path, "differs": {"seed": "v" * value}},
        {"run": "B", "folder": "g", "differs": {}},
    ]
    lines = legend_lines(facts, width)
    assert any("f" * path in line for line in lines)
    assert lines[-1] == "B  g"
    assert all(line == line.rstrip() for line in lines)
