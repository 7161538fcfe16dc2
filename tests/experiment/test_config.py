from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import ConfigError, UsageError
from perdure.core.types import EPOCH
from perdure.experiment.config import apply_set, flatten, load_config

COUNTER: dict[str, Any] = {"environment": {"name": "counter"}}


def complaint(config: Any, *sets: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(config, sets)
    message = str(caught.value)
    assert "\n" not in message
    assert isinstance(caught.value, UsageError)
    return message


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"enviroment": {}},
            "enviroment: unknown key; choose one of: name, seed, clock, environment, agent, models",
        ),
        ({"agent": {"knid": "oracle"}}, "agent.knid: unknown key; choose one of: kind, model, strategy"),
        (
            {"agent": {"sampling": {"temp": 1}}},
            "agent.sampling.temp: unknown key; choose one of: temperature",
        ),
        ({"limits": {"steps": 3}}, "limits.steps: unknown key; choose one of: max_interactions, max_turns"),
        (
            {
                "models": {
                    "m": {"provider": "scripted", "price": {"prompt": 1.0, "completion": 2.0, "total": 3.0}}
                }
            },
            "models.m.price.total: unknown key; choose one of: prompt, completion, cached",
        ),
        ({"agent": {"kind": "human"}}, "'model', 'oracle', 'do_nothing' or 'fixed_response', got 'human'"),
        ({"seed": "3"}, "seed: Input should be a valid integer, got '3'"),
        ({"seed": 1.5}, "seed: Input should be a valid integer, got 1.5"),
        ({"seed": True}, "seed: Input should be a valid integer, got True"),
        ({"name": "a/b"}, "got 'a/b'"),
        ({"clock": "noon"}, "expected an instant such as 2026-01-01T12:00:00Z, or 'wall', got 'noon'"),
        ({"clock": "2026-05-04T12:00:00.5Z"}, "clock: Value error, expected whole seconds, such as"),
        ({"clock": "2026-05-04T12:00:00"}, "clock: Value error, expected an offset from UTC too"),
        ({"clock": 3}, "clock: Input should be a valid string, got 3"),
        ({"name": ""}, "name: "),
        ({"environment": "counter"}, "environment: Input should be a valid dictionary"),
        ({"environment": {}}, "environment.name: missing"),
        ({"environment": {"name": ""}}, "environment.name: String should have at least 1 character, got ''"),
        ({"models": {"m": {}}}, "models.m.provider: missing"),
        ({"callbacks": [{"name": "a"}, {}]}, "callbacks.1.name: missing"),
        ({"tasks": []}, "tasks: List should have at least 1 item"),
        ({"tasks": [1]}, "tasks.0: Input should be a valid string, got 1"),
        (
            {"limits": {"max_interactions": 0}},
            "limits.max_interactions: Input should be greater than or equal",
        ),
        ({"limits": {"max_seconds": 0}}, "limits.max_seconds: Input should be greater than 0, got 0"),
        ({"agent": {"sampling": {"top_p": 1.1}}}, "agent.sampling.top_p: Input should be less than or equal"),
        ({"execution": {"on_divergence": "ask"}}, "Input should be 'restart' or 'keep', got 'ask'"),
        ({"agent": {"sampling": {"temperature": float("inf")}}}, "finite number, got inf"),
        ({"environment": {"name": "counter", "x": [{"y": float("nan")}]}}, "environment.x.0.y: expected a f"),
        ({"environment": {"name": "counter", "x": 10**5000}}, "environment.x: a whole number of 16610 bits"),
        ({"execution": {"out": "a\0b"}}, "execution.out: "),
        ({"probes": {"checkpoints": 10**12}}, "probes.checkpoints: "),
        ({"execution": {"repeat": 0}}, "execution.repeat: Input should be greater than or equal to 1, got 0"),
    ],
)
def test_wrong_configurations_get_one_line_with_key_value_and_choices(
    changes: dict[str, Any], expected: str
) -> None:
    assert expected in complaint({**COUNTER, **changes})


def test_without_an_environment_there_is_no_run() -> None:
    assert complaint({}) == "configuration: environment: missing"


@pytest.mark.parametrize("value", [print, object, Path("x"), {1, 2}, b"bytes"])
def test_a_mapping_holds_what_toml_holds(value: object) -> None:
    config = {**COUNTER, "callbacks": [{"name": "x", "deep": {"list": [1, value]}}]}
    message = complaint(config)
    assert message.startswith("callbacks.0.deep.list.1: expected a string, a number")
    assert message.endswith(f"got {value!r}")


def test_a_file_is_read_and_named_in_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('name = "é"\n[environment]\nname = "counter"\n')
    assert complaint(path).startswith(f"{path}: name: ")
    path.write_text('seed = 4\n[environment]\nname = "counter"\ntasks = 3\n')
    config = load_config(str(path))
    assert (config.seed, config.environment.parameters) == (4, {"tasks": 3})
    path.write_text("seed = \n")
    assert complaint(path).startswith(f"{str(path)!r} is not valid TOML: Invalid value (at line 1")
    path.write_bytes(b"name = '\xff'\n")
    assert complaint(path).startswith(f"cannot read {str(path)!r}: ")
    assert complaint(tmp_path / "no.toml") == f"there is no configuration file {str(tmp_path / 'no.toml')!r}"
    assert complaint(tmp_path).startswith(f"cannot read {str(tmp_path)!r}: ")


HUGE = {
    "an integer of 5,000 digits": f"seed = {'7' * 5_000}",
    "the same as hexadecimal": f"seed = 0x{'7' * 5_000}",
    "lists 3,000 deep": f"x = {'[' * 3_000}{']' * 3_000}",
    "tables 3,000 deep": f"x{'.x' * 3_000} = 1",
    "a date": "x = 2020-01-01",
    "no number": "x = nan",
}


@pytest.mark.parametrize("case", HUGE)
def test_toml_that_python_cannot_hold_gets_one_line(tmp_path: Path, case: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(f'{HUGE[case]}\n[environment]\nname = "counter"\n')
    assert len(complaint(path)) < 300
    assert len(complaint(COUNTER, HUGE[case])) < 300


def test_a_mapping_without_end_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["x"] = endless
    assert "at most 64 levels" in complaint({**COUNTER, "models": endless})


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("seed=3", 3),
        ("seed = 3 ", 3),
        ("name=plain", "plain"),
        ('name="quoted"', "quoted"),
        ("agent.sampling.temperature=0.5", 0.5),
        ("limits.ask_beyond_limit=true", True),
        ('tasks=["1", "2"]', ["1", "2"]),
        ("environment.tasks=7", 7),
        ("callbacks.0.name=other", "other"),
        ("callbacks.0.deep.key=1", 1),
        ("name=a=b", "a=b"),
        ("name=", ""),
        ("name=2 3", "2 3"),
    ],
)
def test_set_changes_one_value(assignment: str, value: object) -> None:
    data: dict[str, Any] = {**COUNTER, "callbacks": [{"name": "x"}]}
    apply_set(data, assignment)
    found: Any = data
    for key in assignment.partition("=")[0].strip().split("."):
        found = found[int(key) if isinstance(found, list) else key]
    assert found == value


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("seed", "--set 'seed': expected key.path=value"),
        ("=3", "--set '=3': expected key.path=value"),
        ("a..b=3", "--set 'a..b=3': expected key.path=value"),
        ("seed.x=3", "--set 'seed.x=3': 'x' is not inside a table"),
        ("seed.x.y=3", "--set 'seed.x.y=3': 'x' is not inside a table"),
        ("callbacks.1.name=x", "--set 'callbacks.1.name=x': '1' is not an index below 1"),
        ("callbacks.last=x", "--set 'callbacks.last=x': 'last' is not an index below 1"),
        ("callbacks.-1=x", "--set 'callbacks.-1=x': '-1' is not an index below 1"),
        ("seeed=3", "configuration: seeed: unknown key; choose one of: name, seed"),
        ("seed=three", "configuration: seed: Input should be a valid integer, got 'three'"),
    ],
)
def test_a_wrong_set_gets_one_line(assignment: str, expected: str) -> None:
    assert expected in complaint({**COUNTER, "seed": 1, "callbacks": [{"name": "x"}]}, assignment)


def test_sets_are_carried_out_in_order_and_leave_the_source_alone() -> None:
    source = {"environment": {"name": "counter"}, "tasks": ("1",)}
    config = load_config(source, ["environment.tasks=1", "environment.tasks=2"])
    assert config.environment.parameters == {"tasks": 2}
    assert config.tasks == ["1"]
    assert source == {"environment": {"name": "counter"}, "tasks": ("1",)}


def test_flatten() -> None:
    assert flatten({"a": {"b": 1, "c": {}}, "d": [1], "e": [{"f": 2}]}) == {
        "a.b": 1,
        "d": [1],
        "e.0.f": 2,
    }


plain = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**53), 2**53), st.text(st.characters(codec="utf-8"))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text("abc", min_size=1), plain, max_size=3))
def test_parameters_of_a_plugin_are_kept_as_they_are(parameters: dict[str, Any]) -> None:
    parameters.pop("name", None)
    config = load_config({"environment": {"name": "x", **parameters}})
    assert dict(config.environment.parameters) == parameters


@given(st.text(), st.text())
def test_no_set_is_a_crash(path: str, value: str) -> None:
    data: dict[str, Any] = {"a": {"b": [1, {"c": 2}]}}
    with suppress(ConfigError):
        apply_set(data, f"{path}={value}")
    assert set(data) >= {"a"}


@pytest.mark.parametrize(
    "text", ['"2026-05-04T12:00:00Z"', "2026-05-04T12:00:00Z", "2026-05-04T14:00:00+02:00"]
)
def test_a_clock_has_one_spelling(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.toml").write_text(f'clock = {text}\n[environment]\nname = "counter"\n')
    config = load_config(tmp_path / "run.toml")
    assert config.instant == datetime(2026, 5, 4, 12, tzinfo=UTC)
    same = load_config({"environment": {"name": "counter"}}, [f"clock={text}"])
    assert same.clock == config.clock == "2026-05-04T12:00:00+00:00"
    default = load_config({"environment": {"name": "counter"}})
    assert default.instant == EPOCH
