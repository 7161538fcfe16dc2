"""What a run's calls cost, where its models have prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure.core.types import JSON
from perdure.experiment.config import RunConfig
from perdure.metrics.tokens import Price, TokenTotals, add_ledger_line


def run_cost(config: RunConfig, ledger: Iterable[Mapping[str, JSON]]) -> float | None:
    """US dollars; None when no model was asked or one that was asked has no price."""
    if all(section.price is None for section in config.models.values()):
        return None
    totals: dict[str, TokenTotals] = {}
    for line in ledger:
        add_ledger_line(totals, line, by="model")
    prices = {name: price_of(config, name) for name in totals}
    if not prices or None in prices.values():
        return None
    return sum(totals[name].cost(price) for name, price in prices.items() if price is not None)


def price_of(config: RunConfig, model: str) -> Price | None:
    """The price of a model of this configuration, if it has one."""
    section = config.models.get(model)
    if section is None or section.price is None:
        return None
    return Price(section.price.prompt, section.price.completion, section.price.cached)
