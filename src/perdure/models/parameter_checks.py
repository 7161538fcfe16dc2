"""Checks of constructor parameters, which are the keys of a configuration file."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.core.errors import ConfigError


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise ConfigError unless the value is one of the choices."""
    if value not in choices:
        raise ConfigError(f"{name} = {value!r}; choose one of: {', '.join(choices)}")


def check_at_least(name: str, value: float, least: float) -> None:
    """Raise ConfigError for a number that is too small (or not a number)."""
    if not value >= least:
        raise ConfigError(f"{name} = {value!r} must be at least {least:g}")
