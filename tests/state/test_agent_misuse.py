"""A `StateAgent` used wrongly: one line when it is built, never a traceback in the middle of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from perdure import StateAgent
from perdure.core.errors import ConfigError, UsageError
from perdure.models.scripted import ScriptedModel
from perdure.state import PatchRules
from perdure.state.prompt import cut_middle
from perdure.state.tools import Tool


class Notes(BaseModel):
    count: int = 0


class Odd:
    pass


def look(place: str) -> str:
    return place


def odd(x: Odd) -> None: ...


def calling(x: Callable[[int], int]) -> None: ...


def undefined(x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


async def later(x: int) -> None: ...


def build(**options: Any) -> StateAgent:
    defaults = {"model": ScriptedModel(["no"] * 9), "instructions": "x", "state": Notes, "tools": [look]}
    return StateAgent(**{**defaults, **options})


def complaint(**options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        build(**options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("tools", look, "tools: expected a list of functions, got <function look"),
        ("tools", 5, "tools: expected a list of functions, got 5"),
        ("tools", [dict], "tools: dict: its annotations cannot be read"),
        ("tools", [odd], "tools: odd: its annotations have no JSON Schema"),
        ("tools", [calling], "tools: calling: its annotations have no JSON Schema"),
        ("tools", [undefined], "tools: undefined: its annotations cannot be read: name 'Nowhere'"),
        ("tools", [later], "tools: later is async"),
        ("patches", 5, "patches: expected PatchRules, got 5"),
        ("max_observation", -1, "max_observation must be at least 1, not -1"),
        ("instructions", 5, "instructions: expected a text, got 5"),
        ("model", "gpt", "model: expected a LanguageModel, got 'gpt'"),
        ("model", ScriptedModel, "model: expected a LanguageModel, got <class"),
        ("sampling", 5, "sampling: expected Sampling, got 5"),
        ("journal", 5, "journal: expected the path of a file, got 5"),
        ("journal", "a\0b", "no file can have this name"),
        ("journal", "x" * 5_000, "journal = 'xxx"),
    ],
)
def test_a_wrong_option_is_one_line(option: str, value: Any, expected: str) -> None:
    assert expected in complaint(**{option: value})


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("mode", "x", "patch_mode = 'x'; choose one of: merge, ops, rewrite"),
        ("mode", [], "patch_mode = []; choose one of: merge, ops, rewrite"),
        ("retries", "x", "retries must be a whole number, not 'x'"),
        ("retries", 1.5, "retries must be a whole number, not 1.5"),
        ("retries", True, "retries must be a whole number, not True"),
        ("guards", 5, "guards: expected Guards, got 5"),
        ("limits", 5, "limits: expected PatchLimits, got 5"),
    ],
)
def test_a_wrong_rule_is_one_line(option: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(patches=PatchRules(**{option: value}))
    assert str(caught.value) == expected


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
def test_a_device_is_no_journal() -> None:
    assert complaint(journal="/dev/full") == "journal = '/dev/full': it is not a file"


def test_a_folder_or_a_pipe_is_no_journal(tmp_path: Path) -> None:
    assert complaint(journal=tmp_path).endswith("it is not a file")
    os.mkfifo(tmp_path / "pipe")
    assert complaint(journal=tmp_path / "pipe").endswith("it is not a file")


@pytest.mark.parametrize(
    "arguments", [{"goal": 5}, {"observation": b"x"}, {"max_steps": "x"}, {"max_steps": -1}]
)
def test_a_wrong_argument_of_a_run(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        build().run(**{"goal": "g", **arguments})


@pytest.mark.parametrize("outcomes", [[], None, "x", [None], ["text"], [1, 2], {}])
def test_a_model_that_breaks_its_contract(outcomes: Any) -> None:
    class Broken(ScriptedModel):
        def generate(self, requests: Any) -> Any:
            return outcomes

    with pytest.raises(UsageError, match=r"^Broken.generate\(\) (gave|left) "):
        build(model=Broken([])).run("g")


def test_parameters_may_have_names_that_pydantic_keeps_for_itself() -> None:
    seen: list[tuple[int, int, int, int]] = []

    def note(_x: int, model_config: int, schema: int, model_dump: int = 4) -> str:
        seen.append((_x, model_config, schema, model_dump))
        return "noted"

    arguments = {"_x": 1, "model_config": 2, "schema": 3}
    assert set(Tool(note).schema["properties"]) == {*arguments, "model_dump"}
    calls = [("note", arguments), ("finish", {})]
    replies = [
        json.dumps({"state_patch": {}, "action": {"tool": name, "arguments": given}}) for name, given in calls
    ]
    assert build(model=ScriptedModel(replies), tools=[note]).run("g").finished
    assert seen == [(1, 2, 3, 4)]


@pytest.mark.parametrize("limit", range(5))
def test_a_cut_text_is_never_longer_than_it_was(limit: int) -> None:
    text = "abc" * 100
    assert cut_middle(text, limit).count("a") <= 3
