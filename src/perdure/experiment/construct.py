"""Builds a plugin from configuration: its constructor's signature is the schema of its section."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from perdure.core.errors import ConfigError, PerdureError
from perdure.core.model import LanguageModel
from perdure.core.parameters import FromFile
from perdure.core.plain_json import error_line
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON
from perdure.experiment.plugin_files import PluginFiles
from perdure.experiment.registry import referenced_file, resolve_path

_ELSEWHERE = {"max_interactions": "limits.max_interactions"}
"""Where a user sets what a run gives."""


def construct(
    target: Any,
    parameters: Mapping[str, JSON],
    *,
    where: str,
    base: Path,
    files: PluginFiles | None = None,
    model_for: Callable[[str], ModelHandle] | None = None,
    offered: Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Any:
    """Call `target` with checked parameters; see `bind`. A ValueError of its own is a ConfigError too."""
    arguments = bind(
        target,
        parameters,
        where=where,
        base=base,
        files=files,
        model_for=model_for,
        offered=offered,
        given=given,
    )
    try:
        return target(**arguments)
    except PerdureError:
        raise
    except (ValueError, OSError) as error:
        raise ConfigError(f"{where}: {error_line(error)}") from error


def bind(
    target: Any,
    parameters: Mapping[str, JSON],
    *,
    where: str,
    base: Path,
    files: PluginFiles | None = None,
    model_for: Callable[[str], ModelHandle] | None = None,
    offered: Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The arguments that a section's parameters make; nothing is called.

    A parameter annotated as `Path` is looked for as `resolve_path` does, one annotated as `ModelHandle`
    names a model (`model_for` makes the handle), one marked `FromFile` names code, which `files` loads.
    `offered` are defaults for parameters that the constructor has and the user did not set; `given` are facts
    of the run, which the user cannot set here. Raises ConfigError: one line with key, value and choices.
    """
    accepted, hints = _accepted(target), declared_types(target, where)
    configured = _Given(base, files or PluginFiles(), model_for)
    arguments: dict[str, Any] = {}
    facts = {key: value for key, value in (given or {}).items() if key in accepted}
    for key, value in parameters.items():
        if key in facts:
            instead = f"; set {_ELSEWHERE[key]} instead" if key in _ELSEWHERE else ""
            raise ConfigError(f"{where}.{key}: the run itself gives it{instead}")
        if key not in accepted:
            choices = ", ".join(name for name in accepted if name not in facts) or "none"
            raise ConfigError(f"{where}.{key}: unknown key; choose one of: {choices}")
        arguments[key] = configured.convert(value, hints.get(key, Any), f"{where}.{key}")
    arguments.update(facts)
    for key, value in (offered or {}).items():
        if key in accepted:
            arguments.setdefault(key, value)
    for key, parameter in accepted.items():
        if parameter.default is parameter.empty and key not in arguments:
            raise ConfigError(f"{where}.{key}: missing")
    return arguments


@lru_cache(maxsize=128)
def _accepted(target: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters that can be named, read once: every lane is built with them."""
    return {
        name: parameter
        for constructor in _constructors(target)
        for name, parameter in inspect.signature(constructor).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY or parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }


@lru_cache(maxsize=128)
def _type_hints(target: Any) -> Mapping[str, Any]:
    hints: dict[str, Any] = {}
    for constructor in _constructors(target):
        function = constructor.__init__ if inspect.isclass(constructor) else constructor
        hints |= get_type_hints(function, include_extras=True)
    return hints


def _constructors(target: Any) -> list[Any]:
    """The target, before it the bases that it hands `**options` on to: the most derived one stands last."""
    found = [target]
    while inspect.isclass(found[0]) and _hands_on(found[0]) and found[0].__base__ not in (None, object):
        owner = next(each for each in found[0].__mro__ if "__init__" in vars(each))
        if owner.__base__ in (None, object):
            break
        found.insert(0, owner.__base__)
    return found


def _hands_on(target: Any) -> bool:
    kinds = {parameter.kind for parameter in inspect.signature(target).parameters.values()}
    return inspect.Parameter.VAR_KEYWORD in kinds


def declared_types(target: Any, where: str) -> Mapping[str, Any]:
    """Annotations of a constructor's parameters, markers included. Raises ConfigError."""
    try:
        return _type_hints(target)
    except NameError as error:
        raise ConfigError(f"{where}: {error} when its annotations are read; import it at run time") from error


def is_marked(hint: Any, marker: type) -> bool:
    """Whether an annotation is `Annotated[…, marker]`."""
    return get_origin(hint) is Annotated and marker in hint.__metadata__


def without_markers(hint: Any) -> Any:
    """`Annotated[T, …]` → `T`."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def takes(hint: Any, kind: type) -> bool:
    """Whether an annotation is of this kind, or a union with it."""
    plain = without_markers(hint)
    return kind in {plain, *get_args(plain)}


@dataclass(frozen=True)
class _Given:
    """Where the values of a configuration come from, and what they may stand for."""

    base: Path
    files: PluginFiles
    model_for: Callable[[str], ModelHandle] | None

    def convert(self, value: JSON, hint: Any, where: str) -> Any:
        """A value as its parameter wants it. Raises ConfigError."""
        if takes(hint, LanguageModel):
            raise ConfigError(f"{where}: annotate a parameter that a model is given to as ModelHandle")
        if isinstance(value, str):
            if takes(hint, ModelHandle):
                if self.model_for is None:
                    raise ConfigError(f"{where}: a model cannot be given here")
                return self.model_for(value)
            if is_marked(hint, FromFile):
                return self._code(value, where)
            if takes(hint, Path):
                return resolve_path(value, self.base)
        if isinstance(value, list) and any(is_marked(item, FromFile) for item in get_args(hint)):
            return [self._code(item, f"{where}.{i}") for i, item in enumerate(value)]
        return _checked(value, without_markers(hint), where)

    def _code(self, value: JSON, where: str) -> Any:
        path = referenced_file(value, self.base) if isinstance(value, str) else None
        if path is None:
            raise ConfigError(f"{where}: give 'file.py:name', got {value!r:.200}")
        return self.files.load_name(value, path, f"{where} = {value!r:.200}")


def _checked(value: JSON, hint: Any, where: str) -> Any:
    """A value that its annotation allows; a list may have become a tuple. Raises ConfigError."""
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
