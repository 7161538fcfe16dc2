"""What a `StateAgent` is given, checked when it is built: one line, no traceback in the middle of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError
from perdure.core.types import Sampling
from perdure.state.guards import Guards
from perdure.state.patch import PatchLimits, PatchMode


@dataclass(frozen=True)
class PatchRules:
    """How a model changes the state. Raises ConfigError."""

    mode: PatchMode = "merge"
    """Form of a patch: `merge`, `ops` or `rewrite`."""
    retries: int = 2
    """How often an unusable reply is asked for again within a step."""
    constrained: bool = True
    """Send the JSON Schema of a reply to models that can be held to one."""
    guards: Guards = field(default_factory=Guards)
    """What one patch may lose."""
    limits: PatchLimits = field(default_factory=PatchLimits)
    """Sizes."""

    def __post_init__(self) -> None:
        check_whole("retries", self.retries, least=0)
        check_instance("guards", self.guards, Guards)
        check_instance("limits", self.limits, PatchLimits)


def check_options(
    *,
    model: Any,
    instructions: Any,
    tools: Any,
    journal: Any,
    patches: Any,
    sampling: Any,
    max_observation: Any,
) -> None:
    """Raise ConfigError for the first option that is of the wrong type or out of range."""
    if isinstance(model, type) or not callable(getattr(model, "generate", None)):
        raise ConfigError(f"model: expected a LanguageModel, got {model!r:.80}")
    check_text("instructions", instructions)
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise ConfigError(f"tools: expected a list of functions, got {tools!r:.80}")
    if journal is not None and not isinstance(journal, str | Path):
        raise ConfigError(f"journal: expected the path of a file, got {journal!r:.80}")
    check_instance("patches", patches, PatchRules)
    check_instance("sampling", sampling, Sampling)
    check_whole("max_observation", max_observation, least=1)


def check_text(name: str, value: Any) -> None:
    """Raise ConfigError for anything but a text."""
    if not isinstance(value, str):
        raise ConfigError(f"{name}: expected a text, got {value!r:.80}")


def check_whole(name: str, value: Any, *, least: int) -> None:
    """Raise ConfigError for anything but a whole number that is large enough."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"{name} must be a whole number, not {value!r:.80}")
    if value < least:
        raise ConfigError(f"{name} must be at least {least}, not {value}")


def check_instance(name: str, value: Any, wanted: type) -> None:
    """Raise ConfigError for anything but an instance of a class."""
    if not isinstance(value, wanted):
        raise ConfigError(f"{name}: expected {wanted.__name__}, got {value!r:.80}")
