"""The structured state of the warehouse: what SKILL.state's Σ looks like here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class WarehouseState(BaseModel):
    """Occupied shelves, arrivals not stored yet, orders not shipped yet."""

    model_config = ConfigDict(extra="forbid")

    inventory: dict[str, str] = Field(default_factory=dict, description="shelf → item, occupied shelves only")
    inbound: list[str] = Field(default_factory=list, description="items that arrived and are not stored")
    open_orders: list[str] = Field(default_factory=list, description="items ordered and not shipped")


class ForesightedState(WarehouseState):
    """The same with named places for what the tiers `unforeseen`, `late` and `audit` ask to remember."""

    closed: list[str] = Field(default_factory=list, description="shelves where nothing may be put")
    reserved: dict[str, str] = Field(default_factory=dict, description="customer → item")
    first_shelves: dict[str, str] = Field(
        default_factory=dict, description="item → shelf on which it first stood"
    )
