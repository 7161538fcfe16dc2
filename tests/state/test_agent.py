from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import perdure
from perdure import Refusal, StateAgent
from perdure.core.errors import ConfigError, ModelError
from perdure.core.types import Message, Request
from perdure.models.scripted import Given, ScriptedModel
from perdure.state import PatchRules
from perdure.state.tools import Tool, ToolCalls
from tests.state.desk import TARGET, Count, make_agent

ROOT = Path(__file__).parents[2]


class Notes(BaseModel):
    notes: dict[str, str] = {}
    count: int = 0


def call(tool: str, patch: Any = None, **arguments: Any) -> str:
    return json.dumps({"state_patch": patch or {}, "action": {"tool": tool, "arguments": arguments}})


def look(place: str) -> str:
    """Look at a place.

    Not part of the prompt.
    """
    if place == "wall":
        raise Refusal("there is nothing to look at")
    if place == "fire":
        raise KeyError("the tool is broken")
    return f"{place} is empty"


def pair(left: int, right: float = 0.5, *, names: list[str] | None = None) -> dict[str, Any]:
    """Give structured data."""
    return {"left": left, "right": right, "names": names}


class Asked:
    """A scripted model that keeps what it was asked."""

    def __init__(self, replies: Sequence[Given]) -> None:
        self._model = ScriptedModel(replies)
        self.count_tokens = self._model.count_tokens
        self.requests: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> Any:
        self.requests += requests
        return self._model.generate(requests)

    def prompt(self, number: int) -> tuple[Message, ...]:
        return self.requests[number].messages


def make(*replies: Given, **options: Any) -> tuple[StateAgent, Asked]:
    model = Asked(replies)
    options = {"instructions": "BE GOOD", "state": Notes, "tools": [look, pair], **options}
    return StateAgent(model=model, **options), model


def test_a_run_calls_tools_commits_and_ends_with_an_answer() -> None:
    agent, model = make(
        call("look", {"count": 1}, place="door"),
        call("pair", {"count": 2}, left=3, names=["x"]),
        call("finish", {"count": 3}, answer="all done"),
    )
    result = agent.run("look around")
    assert (result.finished, result.answer, result.steps) == (True, "all done", 3)
    assert result.state == Notes(count=3)
    assert [message.role for message in model.prompt(1)] == ["system", "user"]
    assert model.prompt(1)[1].text.endswith("Latest observation:\ndoor is empty")
    assert model.prompt(2)[1].text.endswith('{"left":3,"right":0.5,"names":["x"]}')
    assert model.prompt(0)[0] == model.prompt(2)[0]
    system = model.prompt(0)[0].text
    assert system.startswith("BE GOOD")
    assert "- look(place: string): Look at a place." in system
    assert "- pair(left: integer, right?: number, names?: list of string or null)" in system
    assert "Not part of the prompt" not in system
    assert system.endswith("# Your goal\nlook around")
    assert agent.usage.prompt_tokens > 0


def test_a_tool_that_refuses_is_seen_and_its_patch_is_not_committed() -> None:
    agent, model = make(call("look", {"count": 9}, place="wall"), call("finish", answer=""))
    agent.run("g")
    assert agent.state.count == 0
    assert "look refused the call: there is nothing to look at" in model.prompt(1)[1].text
    assert agent.trace()["counts"]["semantic"] == 1


def test_a_tool_that_breaks_reaches_the_caller_and_leaves_the_state() -> None:
    agent, _ = make(
        call("look", {"count": 9}, place="fire"), call("look", {"notes": {"a": "b"}}, place="door")
    )
    with pytest.raises(KeyError, match="the tool is broken"):
        agent.step("go")
    assert agent.step("go on").accepted
    assert agent.state == Notes(notes={"a": "b"})


def test_bad_replies_are_asked_for_again_with_the_error() -> None:
    agent, model = make(
        "hm",
        call("fly", place="sky"),
        call("look", {"count": "1"}, place="door"),
        call("finish", answer="ok"),
    )
    step = agent.step("start")
    assert [failure.kind.value for failure in step.failures] == ["syntax", "semantic"]
    assert "There is no tool 'fly'; choose one of: look, pair, finish." in model.prompt(2)[1].text
    assert "start\n\nYour last answer was not used" in model.prompt(2)[1].text
    assert agent.state.count == 1
    assert "not used" not in model.prompt(2)[0].text


@pytest.mark.parametrize(
    "action",
    [
        "look",
        {"tool": "look"},
        {"tool": 1, "arguments": {}},
        {"tool": "look", "arguments": []},
        {"tool": "look", "arguments": {}},
        {"tool": "look", "arguments": {"place": 3}},
        {"tool": "look", "arguments": {"place": "a", "more": 1}},
        {"tool": "pair", "arguments": {"left": "x"}},
        {"tool": "finish", "arguments": {"answer": 4}},
    ],
)
def test_a_call_that_cannot_be_made_never_reaches_a_tool(action: Any) -> None:
    agent, _ = make(
        json.dumps({"state_patch": {"count": 1}, "action": action}), patches=PatchRules(retries=0)
    )
    step = agent.step("go")
    assert step.action is None
    assert len(step.failures) == 1
    assert agent.state.count == 0


def test_a_hopeless_model_uses_up_the_steps_and_its_prompt_stays_small() -> None:
    agent, model = make(*["hm"] * 30, patches=PatchRules(retries=2))
    result = agent.run("g", max_steps=10)
    assert (result.finished, result.steps) == (False, 10)
    assert model.prompt(3) == model.prompt(27)
    assert "No action was taken" in model.prompt(3)[1].text


def test_an_unfinished_run_goes_on_with_the_same_goal_and_another_goal_begins_anew() -> None:
    looks = [call("look", place="door")] * 4
    agent, model = make(*looks, call("finish", answer="end"))
    assert agent.run("g", max_steps=2).steps == 2
    assert agent.run("g", max_steps=1).steps == 3
    assert "door is empty" in model.prompt(2)[1].text
    assert agent.run("h", max_steps=1).steps == 1
    assert "The work begins now." in model.prompt(3)[1].text
    assert agent.run("h").finished


def test_a_model_that_cannot_answer_is_an_error_of_the_caller() -> None:
    agent, _ = make(ModelError("no"))
    with pytest.raises(ModelError):
        agent.step("go")


def test_without_tools_the_caller_acts() -> None:
    def answer(count: int, action: str) -> str:
        return json.dumps({"state_patch": {"count": count}, "action": action})

    agent, _ = make(answer(1, "left"), answer(2, "right"), answer(3, "up"), tools=())
    assert agent.step("a fork").action == "left"
    assert agent.state.count == 0, "not before it is known that the action was carried out"
    assert agent.step("the way is blocked", accepted=False).action == "right"
    assert agent.state.count == 0
    assert agent.step("you went on").action == "up"
    assert agent.state.count == 2
    with pytest.raises(ConfigError, match="needs tools"):
        agent.run("g")


def test_the_state_lives_on_from_run_to_run() -> None:
    agent, model = make(call("finish", {"count": 5}, answer="a"), call("finish", {}, answer="b"))
    agent.run("goal-one")
    assert agent.run("goal-two").state.count == 5
    assert "goal-one" not in model.prompt(1)[0].text


def test_the_prompt_does_not_grow() -> None:
    replies = [call("look", {"count": 100 + step}, place="door") for step in range(200)]
    agent, model = make(*replies)
    agent.run("g", max_steps=200)
    sizes = {len(message.text) for request in model.requests[2:] for message in request.messages[1:]}
    assert len(sizes) == 1


def test_long_results_are_cut_in_the_middle() -> None:
    def flood() -> str:
        return "a" * 50_000 + "b"

    agent, _ = make(call("flood"), tools=[flood], max_observation=1000)
    result = agent.step("go").result
    assert result is not None
    assert len(result) < 1100
    assert "characters left out" in result
    assert result.endswith("b")


def test_the_reply_schema_is_sent_and_can_be_left_out() -> None:
    agent, model = make(call("finish", answer=""))
    agent.run("g")
    schema = model.requests[0].schema
    assert schema is not None
    assert len(schema["properties"]["action"]["anyOf"]) == 3
    agent, model = make(call("finish", answer=""), patches=PatchRules(constrained=False))
    agent.run("g")
    assert model.requests[0].schema is None


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Box(BaseModel):
    title: str
    colour: Colour = Colour.RED


def test_tools_get_real_python_values() -> None:
    got: list[Any] = []

    def pack(box: Box, spare: Box | None = None) -> str:
        got.extend([box, spare])
        return "packed"

    agent, _ = make(call("pack", box={"title": "t", "colour": "blue"}), tools=[pack])
    agent.step("go")
    assert got == [Box(title="t", colour=Colour.BLUE), None]
    text = json.dumps(ToolCalls([pack]).schema)
    assert "$ref" not in text
    assert '"title": {' in text, "a field may be called title"


def test_a_function_that_cannot_be_a_tool_says_why() -> None:
    def untyped(a):  # type: ignore[no-untyped-def]
        return a

    def starred(*a: int) -> int:
        return len(a)

    for function in (untyped, starred, lambda: 1):
        with pytest.raises(ConfigError, match="tools"):
            Tool(function)
    with pytest.raises(ConfigError, match="same name"):
        ToolCalls([look, look])


def test_an_agent_goes_on_from_its_journal(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    first, _ = make(
        call("look", {"count": 1}, place="door"), "hm", journal=journal, patches=PatchRules(retries=0)
    )
    first.run("g", max_steps=2)
    first.close()
    second, model = make(call("finish", {"count": 2}, answer="end"), journal=journal)
    assert second.state.count == 1
    result = second.run("g")
    assert (result.finished, result.state.count) == (True, 2)
    assert "door is empty" in model.prompt(0)[1].text
    second.close()
    third, _ = make(journal=journal)
    assert third.state.count == 2
    assert third.trace()["counts"]["syntax"] == 1
    assert [entry.step for entry in third.journal.entries] == [1, 3]
    assert third.journal.entries[0].observation == "The work begins now."


def test_a_journal_of_another_schema_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    agent, _ = make(call("look", place="door"), journal=journal)
    with pytest.raises(ModelError):
        agent.run("g")
    agent.close()
    with pytest.raises(ConfigError, match="does not fit the state schema"):
        make(journal=journal, state=Count)
    journal.write_text("no json\n", "utf-8")
    with pytest.raises(ConfigError, match="it is not the journal of an agent"):
        make(journal=journal)


@pytest.mark.parametrize("cut", random.Random(7).sample(range(1, 4000), 12))
def test_a_journal_that_ends_anywhere_is_taken_up(tmp_path: Path, cut: int) -> None:
    whole = make_agent(tmp_path)
    whole.run(f"count to {TARGET}")
    whole.close()
    file = tmp_path / "agent.jsonl"
    data = file.read_bytes()
    head = data.index(b"\n") + 1
    file.write_bytes(data[: head + cut % (len(data) - head)])
    again = make_agent(tmp_path)
    assert again.run(f"count to {TARGET}").state.believed >= TARGET


@pytest.mark.parametrize(("number", "when"), [(1, "before"), (1, "after"), (7, "before"), (7, "after")])
def test_a_killed_agent_goes_on_and_learns_that_a_call_is_unsure(
    tmp_path: Path, number: int, when: str
) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.state.desk", str(tmp_path), str(number), when]
    killed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=60)
    assert killed.returncode == -9, killed.stderr
    agent = make_agent(tmp_path)
    assert agent.state.believed == max(0, number - 2), "the patch of the killed call was not committed"
    result = agent.run(f"count to {TARGET}")
    assert result.answer == str(TARGET)
    assert result.state == Count(believed=TARGET, unsure=1)
    assert (tmp_path / "world.txt").read_text() == str(TARGET), "no call was made twice"


def test_the_package_offers_it_without_loading_pydantic() -> None:
    check = "import sys, perdure; assert 'pydantic' not in sys.modules; assert perdure.StateAgent"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", check], env=environment, check=True, timeout=60)
    assert set(perdure.__all__) >= {"StateAgent"}
    with pytest.raises(AttributeError):
        _ = perdure.NoSuchThing


def test_the_example_runs(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(ROOT / "examples" / "parcel_desk.py"), "--events", "120"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert "finished: True" in done.stdout
    assert "state is right: True" in done.stdout
    sizes = next(line for line in done.stdout.splitlines() if line.startswith("prompt tokens"))
    first, last, largest = (int(word.strip(",")) for word in sizes.split() if word.strip(",").isdecimal())
    assert largest < first + 60
    assert abs(last - first) < 60
