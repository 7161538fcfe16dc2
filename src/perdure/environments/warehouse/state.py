"""The structured state of the warehouse: what SKILL.state's Σ looks like here."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from perdure.environments.skillexec.state_names import shown_as_map

Item: TypeAlias = Annotated[str, StringConstraints(pattern="^item_[0-9]{1,6}$")]
Shelf: TypeAlias = Annotated[str, StringConstraints(pattern="^shelf_[0-9]{1,6}$")]
Customer: TypeAlias = Annotated[str, StringConstraints(pattern="^customer_[0-9]{1,6}$")]


class WarehouseState(BaseModel):
    """Occupied shelves, arrivals not stored yet, orders not shipped yet."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"inventory": {"shelf_0": "item_6"}}]}
    )

    inventory: dict[Shelf, Item] = Field(
        default_factory=dict,
        description="shelf → item, such as shelf_0 → item_6; occupied shelves only",
        json_schema_extra=shown_as_map,
    )
    inbound: list[Item] = Field(default_factory=list, description="items that arrived and are not stored")
    open_orders: list[Item] = Field(default_factory=list, description="items ordered and not shipped")


class ForesightedState(WarehouseState):
    """The same with named places for what the tiers `unforeseen`, `late` and `audit` ask to remember."""

    closed: list[Shelf] = Field(default_factory=list, description="shelves where nothing may be put")
    reserved: dict[Customer, Item] = Field(
        default_factory=dict, description="customer → item", json_schema_extra=shown_as_map
    )
    first_shelves: dict[Item, Shelf] = Field(
        default_factory=dict,
        description="item → shelf on which it first stood",
        json_schema_extra=shown_as_map,
    )
