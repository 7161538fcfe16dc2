"""Builds a plugin from configuration: its constructor's signature is the schema of its section."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from perdure.core.errors import ConfigError, PerdureError
from perdure.core.model import LanguageModel
from perdure.core.types import JSON
from perdure.experiment.registry import resolve_path

_ELSEWHERE = {"max_interactions": "limits.max_interactions"}
"""Where a user sets what a run gives."""


def construct(
    target: Any,
    parameters: Mapping[str, JSON],
    *,
    where: str,
    base: Path,
    model_for: Callable[[str], LanguageModel] | None = None,
    offered: Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Any:
    """Call `target` with checked parameters; see `bind`. A ValueError of its own is a ConfigError too."""
    arguments = bind(
        target, parameters, where=where, base=base, model_for=model_for, offered=offered, given=given
    )
    try:
        return target(**arguments)
    except PerdureError:
        raise
    except (ValueError, OSError) as error:
        raise ConfigError(f"{where}: {' '.join(str(error).split())}") from error


def bind(
    target: Any,
    parameters: Mapping[str, JSON],
    *,
    where: str,
    base: Path,
    model_for: Callable[[str], LanguageModel] | None = None,
    offered: Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The arguments that a section's parameters make, without calling anything.

    A parameter annotated as `Path` is looked for as `resolve_path` does, one annotated as `LanguageModel`
    names a model (`model_for` makes the handle). `offered` are defaults for parameters that the constructor
    has and the user did not set; `given` are facts of the run, which the user cannot set here. Raises
    ConfigError: one line with key, value and choices.
    """
    signature = inspect.signature(target)
    try:
        hints = get_type_hints(target.__init__ if inspect.isclass(target) else target)
    except NameError as error:
        raise ConfigError(f"{where}: {error} when its annotations are read; import it at run time") from error
    accepted = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    arguments: dict[str, Any] = {}
    facts = {key: value for key, value in (given or {}).items() if key in accepted}
    for key, value in parameters.items():
        if key in facts:
            instead = f"; set {_ELSEWHERE[key]} instead" if key in _ELSEWHERE else ""
            raise ConfigError(f"{where}.{key}: the run itself gives it{instead}")
        if key not in accepted:
            choices = ", ".join(name for name in accepted if name not in facts) or "none"
            raise ConfigError(f"{where}.{key}: unknown key; choose one of: {choices}")
        arguments[key] = _convert(value, hints.get(key, Any), f"{where}.{key}", base, model_for)
    arguments.update(facts)
    for key, value in (offered or {}).items():
        if key in accepted:
            arguments.setdefault(key, value)
    for key, parameter in accepted.items():
        if parameter.default is parameter.empty and key not in arguments:
            raise ConfigError(f"{where}.{key}: missing")
    return arguments


def _convert(
    value: JSON, hint: Any, where: str, base: Path, model_for: Callable[[str], LanguageModel] | None
) -> Any:
    members = {hint, *get_args(hint)}
    if LanguageModel in members and isinstance(value, str):
        if model_for is None:
            raise ConfigError(f"{where}: a model cannot be given here")
        return model_for(value)
    if Path in members and isinstance(value, str):
        return resolve_path(value, base)
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticSchemaGenerationError

    try:
        text = json.dumps(value, allow_nan=False)
    except RecursionError:
        raise ConfigError(f"{where}: its values are nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}, got {value!r:.200}") from error
    try:
        # JSON's strict mode: a list may be a tuple, an integer a float, but "3" is no number.
        return TypeAdapter(hint).validate_json(text, strict=True)
    except PydanticSchemaGenerationError:
        return value
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{where}: {first['msg']}, got {value!r:.200}") from error
