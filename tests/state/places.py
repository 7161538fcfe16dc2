"""Schemas and small helpers that the tests of the state runtime share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from perdure.state import Failure, Proposal, StateRuntime

PARSER_CASES = Path(__file__).parents[2].parent / "shared" / "data" / "parsers"


class Order(BaseModel):
    id: int
    item: str
    open: bool = True


class Warehouse(BaseModel):
    model_config = ConfigDict(extra="forbid")

    inventory: dict[str, str] = Field(default={}, description="occupied shelves")
    inbound: list[str] = Field(default=[], json_schema_extra={"merge": "union"})
    log: list[str] = Field(default=[], json_schema_extra={"merge": "append"})
    orders: list[Order] = []
    stock: int = 0
    note: str | None = None


def reply(patch: Any, action: Any = "Wait", *, before: str = "") -> str:
    body = json.dumps({"state_patch": patch, "action": action})
    return f"{before}\n```json\n{body}\n```"


def runtime(state: dict[str, Any] | None = None, **options: Any) -> StateRuntime:
    return StateRuntime(Warehouse(**(state or {})), **options)


def propose(world: StateRuntime, text: str, observation: str = "", step: int = 1) -> Proposal | Failure:
    return world.propose(text, step=step, observation=observation)


def after(world: StateRuntime, patch: Any, observation: str = "", action: str = "Wait", step: int = 1) -> Any:
    """The state after one accepted step; the patch must be valid."""
    proposal = propose(world, reply(patch, action), observation, step)
    assert isinstance(proposal, Proposal), proposal
    world.settle(step=step, accepted=True)
    return json.loads(world.state_text)


def refused(world: StateRuntime, text: str, observation: str = "") -> Failure:
    """The failure of a reply, which must have left the state byte-identical."""
    before = world.state_text, world.hash
    failure = propose(world, text, observation)
    assert isinstance(failure, Failure), failure
    assert (world.state_text, world.hash) == before
    assert world.settle(step=1, accepted=True) is None
    assert (world.state_text, world.hash) == before
    assert "\n" not in failure.message
    return failure
