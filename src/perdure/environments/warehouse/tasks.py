"""A task is a generator seed, and all have one goal."""

from __future__ import annotations

from perdure.environments.warehouse.parameters import PAGES, Parameters
from perdure.environments.warehouse.prompts import GOAL


def goal(parameters: Parameters) -> str:
    """What every task of one configuration asks for."""
    return GOAL.format(events=parameters.horizon + (PAGES if parameters.preloaded else 0))
