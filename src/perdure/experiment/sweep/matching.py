"""`budget_tokens = "match"`: an arm gets what another arm's prompts took on average."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from statistics import mean

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.experiment.runs import Run
from perdure.experiment.sweep.file import SweepRun
from perdure.metrics.growth import step_series

MATCH = "match"
_DEFAULT = "full_history"
ROUNDED_TO = 50
"""Tokens: a budget is the mean, rounded up to a multiple of this."""


@dataclass(frozen=True)
class Matched:
    """A run whose budget waits for another one."""

    run: SweepRun
    reference: SweepRun


def matched_runs(runs: Sequence[SweepRun], named: str) -> list[Matched]:
    """The runs with `budget_tokens = "match"`, each with the arm that `named` means for it.

    That is the one run which differs in its strategy alone and whose strategy has this name, or is told so in
    tables (`sliding_window turns=3`).
    Raises ConfigError where there is none, or several.
    """
    return [Matched(run, _reference(run, runs, named)) for run in runs if _waits(run)]


def with_budget(matched: Matched, tokens: int) -> SweepRun:
    """The run with its budget in place of the word: what its identity holds."""
    config = deepcopy(dict(matched.run.config))
    config["agent"]["strategy"]["budget_tokens"] = tokens
    return replace(matched.run, config=config)


def measured_budget(run: Run) -> int:
    """Mean prompt of the agent's calls in a run, rounded up to 50 tokens. Raises ConfigError."""
    prompts = [tokens for line in run.reader.ledger() for tokens in step_series(line).prompts]
    if not any(prompts):
        raise ConfigError(f"budget_tokens = 'match': no prompt of {str(run.folder)!r} was counted")
    return -(-int(-(-mean(prompts) // 1)) // ROUNDED_TO) * ROUNDED_TO


def _waits(run: SweepRun) -> bool:
    return _strategy(run).get("budget_tokens") == MATCH


def _strategy(run: SweepRun) -> Mapping[str, JSON]:
    agent = run.config.get("agent", {})
    strategy = agent.get("strategy", {}) if isinstance(agent, Mapping) else {}
    return strategy if isinstance(strategy, Mapping) else {}


def _reference(run: SweepRun, runs: Sequence[SweepRun], named: str) -> SweepRun:
    arms = [other for other in runs if not _waits(other) and _but_strategy(other) == _but_strategy(run)]
    exact = [arm for arm in arms if named in (_told(arm), arm.label, arm.config.get("label"))]
    found = exact or [arm for arm in arms if _strategy(arm).get("name", _DEFAULT) == named]
    if len(found) == 1:
        return found[0]
    choices = ", ".join(repr(_told(arm)) for arm in (found or arms)) or "none"
    problem = "several arms are" if found else "no arm is"
    raise ConfigError(
        f"run {run.label!r}: budget_tokens = 'match': {problem} {named!r}; "
        f"name one with the key match, one of: {choices}"
    )


def _told(run: SweepRun) -> str:
    """Its strategy by name and parameters, as labels say it."""
    strategy = {"name": _DEFAULT, **_strategy(run)}
    others = " ".join(f"{key}={value}" for key, value in strategy.items() if key != "name")
    return f"{strategy['name']} {others}".strip()


def _but_strategy(run: SweepRun) -> str:
    config = {key: value for key, value in run.config.items() if key not in ("name", "label")}
    config = deepcopy(config)
    if isinstance(config.get("agent"), dict):
        config["agent"].pop("strategy", None)
    return json.dumps(config, sort_keys=True)
