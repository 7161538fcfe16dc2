"""What a loaded environment plugin offers beside its class, in the form that the conformance suite wants."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perdure.conformance.environment_play import Companions
from perdure.core.agent import Agent
from perdure.core.types import JSON
from perdure.experiment.construct import construct
from perdure.experiment.registry import Plugin


def companions_of(
    plugin: Plugin, parameters: Mapping[str, JSON] | None = None, *, base: Path | None = None
) -> Companions:
    """The companions of a loaded plugin; the oracle gets the parameters that it names.

    Raises ConfigError when a required one (`DO_NOTHING`, `MAX_INTERACTIONS`, `normalise`) is missing.
    """
    oracle = getattr(plugin.module, "build_oracle", None)

    def build_oracle() -> Agent:
        agent: Agent = construct(
            oracle, parameters or {}, where="environment", base=base or Path.cwd(), ignore_unknown=True
        )
        return agent

    return Companions(
        do_nothing=plugin.companion("DO_NOTHING"),
        max_interactions=plugin.companion("MAX_INTERACTIONS"),
        build_oracle=build_oracle if oracle is not None else None,
        normal_form=getattr(plugin.module, "normal_form", None),
        normalise=plugin.companion("normalise"),
    )
