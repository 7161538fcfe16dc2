"""A constructor's signature is the schema of its section: every mistake gets one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from perdure.core.errors import ConfigError, MissingExtra
from perdure.core.model import ModelSpec
from perdure.core.pool import ModelHandle, ModelPool
from perdure.experiment.construct import bind, construct
from perdure.models.scripted import ScriptedModel


class Plugin:
    def __init__(
        self,
        size: int,
        *,
        rate: float = 0.5,
        mode: Literal["fast", "slow"] = "fast",
        names: tuple[str, ...] = (),
        table: Mapping[str, int] | None = None,
        file: Path | None = None,
        model: ModelHandle | None = None,
        form: Callable[[str], str] | None = None,
        **rest: int,
    ) -> None:
        if size < 0:
            raise ValueError(f"size must not be\nnegative: {size}")
        if size == 13:
            raise MissingExtra("luck", "pip install luck")
        if size == 404:
            raise FileNotFoundError(2, "No such file", "data.json")
        self.given = (size, rate, mode, names, table, file, model, form)


def built(parameters: dict[str, Any], **options: Any) -> Any:
    return construct(Plugin, parameters, where="callbacks.0", base=Path("/base"), **options).given


def complaint(parameters: dict[str, Any], **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        built(parameters, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_values_are_checked_against_annotations_and_converted() -> None:
    given = built({"size": 3, "rate": 2, "mode": "slow", "names": ["a"], "table": {"x": 1}})
    assert given[:5] == (3, 2.0, "slow", ("a",), {"x": 1})
    assert isinstance(given[1], float)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, "callbacks.0.size: missing"),
        ({"size": "3"}, "callbacks.0.size: Input should be a valid integer, got '3'"),
        ({"size": 3.5}, "callbacks.0.size: Input should be a valid integer"),
        ({"size": None}, "callbacks.0.size: Input should be a valid integer, got None"),
        ({"size": 1, "mode": "odd"}, "callbacks.0.mode: Input should be 'fast' or 'slow', got 'odd'"),
        ({"size": 1, "names": "abc"}, "callbacks.0.names: Input should be a valid array, got 'abc'"),
        ({"size": 1, "table": {"x": "y"}}, "callbacks.0.table: Input should be a valid integer"),
        (
            {"size": 1, "sise": 2},
            "callbacks.0.sise: unknown key; choose one of: size, rate, mode, names, table, file, model, form",
        ),
        ({"size": 1, "rest": 2}, "callbacks.0.rest: unknown key; choose one of: size"),
        ({"size": -1}, "callbacks.0: size must not be negative: -1"),
        ({"size": 404}, "callbacks.0: [Errno 2] No such file: 'data.json'"),
        ({"size": 1, "rate": object}, "callbacks.0.rate: Object of type type is not JSON serializable"),
    ],
)
def test_mistakes(parameters: dict[str, Any], expected: str) -> None:
    assert expected in complaint(parameters)


def test_errors_of_the_package_pass_unchanged() -> None:
    with pytest.raises(MissingExtra, match="luck is not installed; run: pip install luck"):
        built({"size": 13})


def test_a_path_is_looked_for_beside_the_configuration_and_then_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, here = tmp_path / "base", tmp_path / "here"
    for folder in (base, here):
        folder.mkdir()
        (folder / "both").touch()
    (here / "mine").touch()
    monkeypatch.chdir(here)

    def path(value: str) -> Any:
        return construct(Plugin, {"size": 1, "file": value}, where="x", base=base).given[5]

    assert path("both") == base / "both"
    assert path("mine") == here / "mine"
    assert path("none") == base / "none"
    assert path(str(here / "mine")) == here / "mine"


def test_a_model_is_given_by_name() -> None:
    model = ModelPool({"m": ModelSpec("scripted")}, lambda _: ScriptedModel(["x"])).caller("me", "m")
    given = built({"size": 1, "model": "m"}, model_for={"m": model}.__getitem__)
    assert given[6] is model
    assert "callbacks.0.model: a model cannot be given here" in complaint({"size": 1, "model": "m"})


def test_what_is_offered_is_taken_where_it_is_wanted_and_not_set() -> None:
    form = str.upper
    given = built({"rate": 0.1}, offered={"size": 5, "rate": 0.9, "form": form, "nobody": "wants this"})
    assert given[0] == 5
    assert given[1] == 0.1
    assert given[7] is form


def test_what_the_run_gives_cannot_be_set() -> None:
    def world(*, tasks: int = 3, max_interactions: int = 8) -> int:
        return max_interactions

    def make(**parameters: int) -> int:
        facts = {"max_interactions": 5, "pool": None}
        made: int = construct(world, parameters, where="environment", base=Path(), given=facts)
        return made

    assert make() == make(tasks=1) == 5
    with pytest.raises(
        ConfigError,
        match=r"environment\.max_interactions: the run itself gives it; set limits\.max_interactions instead",
    ):
        make(max_interactions=5)
    with pytest.raises(ConfigError, match=r"environment\.pool: unknown key; choose one of: tasks$"):
        make(pool=1)


def test_a_class_without_a_constructor_takes_nothing() -> None:
    class Plain:
        pass

    assert isinstance(construct(Plain, {}, where="x", base=Path()), Plain)
    with pytest.raises(ConfigError, match=r"x\.a: unknown key; choose one of: none"):
        construct(Plain, {"a": 1}, where="x", base=Path())


def test_binding_calls_nothing() -> None:
    assert bind(Plugin, {"size": -1}, where="x", base=Path()) == {"size": -1}


def test_annotations_that_cannot_be_read_are_named() -> None:
    def made_elsewhere(value: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
        raise AssertionError(value)

    with pytest.raises(ConfigError, match="x: name 'Nowhere' is not defined when its annotations are read"):
        construct(made_elsewhere, {"value": 1}, where="x", base=Path())


class Narrower(Plugin):
    """Hands what it does not know on to its base."""

    def __init__(self, *, depth: Path, rate: float = 0.25, **options: Any) -> None:
        super().__init__(rate=rate, **options)
        self.depth = depth


def test_a_class_that_hands_options_on_takes_those_of_its_base(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    made = construct(
        Narrower, {"size": 3, "depth": "here", "names": ["a"]}, where="callbacks.0", base=tmp_path
    )
    assert made.depth == tmp_path / "here"
    assert made.given[:4] == (3, 0.25, "fast", ("a",))
    for parameters, expected in (
        ({"size": 3, "depth": "here", "mode": "odd"}, "mode"),
        ({"size": 3, "depth": "here", "wrong": 1}, "choose one of: size, rate, mode, names, table, file, "),
        ({"depth": "here"}, "size: missing"),
        ({"size": 1}, "depth: missing"),
    ):
        with pytest.raises(ConfigError, match=expected):
            construct(Narrower, parameters, where="callbacks.0", base=tmp_path)
