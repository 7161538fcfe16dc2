"""What a `StateAgent` is given, checked when it is built: one line, no traceback in the middle of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError, ModelError, UsageError
from perdure.core.types import Completion, Sampling
from perdure.state.guards import Guards
from perdure.state.patch import PatchLimits


def check_options(
    *,
    model: Any,
    instructions: Any,
    tools: Any,
    retries: Any,
    guards: Any,
    limits: Any,
    refusals: Any,
    max_observation: Any,
    sampling: Any,
    journal: Any,
) -> None:
    """Raise ConfigError for the first option that is of the wrong type or out of range."""
    if isinstance(model, type) or not callable(getattr(model, "generate", None)):
        raise ConfigError(f"model: expected a LanguageModel, got {model!r:.80}")
    check_text("instructions", instructions)
    if tools is not None and (isinstance(tools, str) or not isinstance(tools, Sequence)):
        raise ConfigError(f"tools: expected a list of functions, got {tools!r:.80}")
    check_whole("retries", retries, least=0)
    check_whole("max_observation", max_observation, least=1)
    _check_instance("guards", guards, Guards)
    _check_instance("limits", limits, PatchLimits)
    _check_instance("sampling", sampling, Sampling)
    if not isinstance(refusals, tuple) or not all(
        isinstance(kind, type) and issubclass(kind, Exception) for kind in refusals
    ):
        raise ConfigError(f"refusals: expected a tuple of exception classes, got {refusals!r:.80}")
    if journal is not None and not isinstance(journal, str | Path):
        raise ConfigError(f"journal: expected the path of a file, got {journal!r:.80}")


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


def only_outcome(outcomes: Any, model: Any) -> Completion | ModelError:
    """The one outcome of one request. Raises UsageError when the model does not keep to its contract."""
    if (
        isinstance(outcomes, str)
        or not isinstance(outcomes, Sequence)
        or len(outcomes) != 1
        or not isinstance(outcomes[0], Completion | ModelError)
    ):
        raise UsageError(
            f"{type(model).__name__}.generate() returned {outcomes!r:.80} for one request; it must return a "
            "list with one Completion or ModelError for each"
        )
    outcome: Completion | ModelError = outcomes[0]
    return outcome


def _check_instance(name: str, value: Any, wanted: type) -> None:
    if value is not None and not isinstance(value, wanted):
        raise ConfigError(f"{name}: expected {wanted.__name__}, got {value!r:.80}")
