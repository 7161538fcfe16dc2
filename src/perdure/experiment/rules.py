"""What an agent is allowed when a reply cannot be used: alike for all strategies, or as a paper had it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perdure.experiment.config import RunConfig
from perdure.strategies.published import PublishedRules

RETRIES = 2
"""How often an unusable reply is asked for again within a step, where nothing else was said."""


@dataclass(frozen=True)
class Rules:
    """What is in force in a run."""

    retries: int
    takes_no_op: bool
    """After the last retry the world's no-op is taken, where there is one."""
    compat: tuple[str, ...] = ()
    """Parts that are as published: `strategy`, `environment`."""
    differences: str = ""
    """What that changes about the strategy, in a few words."""

    @property
    def told(self) -> str:
        """One line for reports."""
        again = {0: "no retries", 1: "1 retry a step"}.get(self.retries, f"{self.retries} retries a step")
        parts = "; ".join(
            f"{part} as published" + (f" ({self.differences})" if part == "strategy" else "")
            for part in self.compat
        )
        return f"{again}; {parts}" if parts else f"{again}, alike for all strategies"


def rules_of(config: RunConfig, strategy: Any) -> Rules:
    """The rules for a strategy, or for its class.

    `[agent] retries` where it is given; else those of its paper where the strategy follows it; else none
    where the environment does, else two.
    """
    section = config.agent
    paper = section.strategy.parameters.get("compat") == "paper"
    world_paper = config.environment.parameters.get("compat") == "paper"
    published = getattr(strategy, "published", PublishedRules())
    usual = published.retries if paper else 0 if world_paper else RETRIES
    named = (("strategy", paper), ("environment", world_paper))
    return Rules(
        usual if section.retries is None else section.retries,
        published.takes_no_op if paper else True,
        tuple(part for part, follows in named if follows),
        published.differences if paper else "",
    )
