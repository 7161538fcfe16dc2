"""How many lanes a run has: what is asked for, and what its world, models and callbacks allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perdure.core.environment import Environment
from perdure.core.errors import ConfigError
from perdure.core.model import LanguageModel, is_pure, max_concurrency
from perdure.core.world import World


@dataclass(frozen=True)
class Parallelism:
    """The number of lanes, and a line for the user where that is not what was asked for, or bold."""

    lanes: int
    warning: str = ""


def parallelism(
    wanted: int | str,
    *,
    world: World,
    environment: Environment,
    models: Mapping[str, LanguageModel],
    streams: Iterable[str] = (),
    block: int | None = None,
) -> Parallelism:
    """Lanes of a run. `models` are those asked in a session, `streams` the callbacks that reach over it.

    `wanted` is a number or "auto": the smallest `max_concurrency` of the models (without a model what the
    world says it bears, else 1), where everything is made for it, else 1. Raises ConfigError for a number
    that would change results.
    """
    bearable = world.max_parallel(environment) if world.max_parallel is not None else None
    obstacle = _obstacle(world, environment, models)
    reaching = list(streams)
    most = (block or 1) if reaching else None
    if not isinstance(wanted, int):
        if obstacle:
            return Parallelism(1)
        asked = min((max_concurrency(model) for model in models.values()), default=bearable or 1)
        return Parallelism(max(1, min(n for n in (asked, bearable, most) if n is not None)))
    if wanted > 1 and obstacle:
        raise ConfigError(f"execution.max_parallel: cannot be {wanted}, for {obstacle}; choose 1 or 'auto'")
    lanes = wanted if most is None else min(wanted, most)
    if bearable is not None and lanes > bearable:
        told = f"{lanes} lanes: {environment.name!r} is said to bear {bearable} on this machine"
        return Parallelism(lanes, told)
    if lanes < wanted and block is None:
        return Parallelism(lanes, f"one lane: {reaching[0]!r} remembers earlier sessions; see memory_block")
    return Parallelism(lanes)


def _obstacle(world: World, environment: Environment, models: Mapping[str, LanguageModel]) -> str:
    if not world.side_by_side:
        return f"the world {environment.name!r} is not side_by_side"
    impure = [name for name, model in models.items() if not is_pure(model)]
    return f"the model {impure[0]!r} is not pure" if impure else ""
