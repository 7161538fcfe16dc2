"""Finds the world of an environment: what its package exports, or a file declares beside its class."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

from perdure.core.environment import Environment
from perdure.core.errors import ConfigError
from perdure.core.world import World


def world_of(name: str, target: Any, module: ModuleType) -> World:
    """The world that a plugin names, directly or by its environment class.

    A class's world is the `World` of its module whose `environment` it is, whatever that object is called:
    two environments of one file have one each. A class without one inherits that of its nearest base class,
    with itself as the environment. Raises ConfigError.
    """
    if isinstance(target, World):
        return target
    if not (isinstance(target, type) and issubclass(target, Environment)):
        raise ConfigError(
            f"environment {name!r} is {target!r:.80}, neither a World nor a subclass of Environment"
        )
    for base in target.__mro__:
        # Of a base class, what its own module says: what a file says of it is another world.
        places = [module] if base is target else []
        declared = _declared(name, base, [*places, *_modules_around(base.__module__)])
        if declared is not None:
            return declared if base is target else replace(declared, environment=target)
    raise ConfigError(
        f"environment {name!r}: nothing says what belongs to {target.__name__}; declare "
        f"WORLD = World(environment={target.__name__}, …) beside it"
    )


def _declared(name: str, target: type, places: Iterable[ModuleType]) -> World | None:
    """The one world of a class in the first of these modules that has one."""
    for place in places:
        worlds = [value for value in vars(place).values() if isinstance(value, World)]
        found = [world for world in worlds if world.environment is target]
        if len(found) > 1 and any(world != found[0] for world in found):
            raise ConfigError(
                f"environment {name!r}: {place.__name__} has several worlds of {target.__name__}; "
                "name one of them instead of the class"
            )
        if found:
            return found[0]
    return None


def _modules_around(module: str) -> Iterator[ModuleType]:
    """A module and the packages around it, from the inside."""
    while module:
        if module in sys.modules:
            yield sys.modules[module]
        module = module.rpartition(".")[0]
