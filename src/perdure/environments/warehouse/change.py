"""The silent change of a drift, applied to the shelves as the agent left them, and its alert."""

from __future__ import annotations

from perdure.core.randomness import keyed_random
from perdure.environments.warehouse.parameters import Drift
from perdure.environments.warehouse.script import Script
from perdure.environments.warehouse.world import World, shelf_name


def change_world(world: World, script: Script, seed: int, drift: Drift) -> str:
    """Change the world and return the text of the alert to come. Items that were lost stay lost."""
    present = [item for item in script.affected if item in world.places]
    match drift:
        case "A":
            _rotate(world, present)
            return f"audit alert, true contents: {world.listing(present) or 'nothing'}."
        case "B":
            if present:
                world.put(script.relabelled, world.take(present[0]))
            return f"label alert: {script.affected[0]} is now labelled {script.relabelled}."
        case "C" if present:
            target = world.empty_from(keyed_random(seed, "drift", "shelf").randrange(world.shelves))
            origin = world.take(present[0])
            world.put(present[0], target)
            return f"move alert: {present[0]} was moved from {shelf_name(origin)} to {shelf_name(target)}."
        case "C":
            return f"move alert: {script.affected[0]} was moved from its shelf."
        case "D":
            return f"cancellation alert: the order of {script.affected[0]} was void before it was shipped."
        case "D_prime":
            for item in script.affected:
                world.held.remove(item)
            return f"cancellation alert, held orders that are void: {', '.join(script.affected)}."
        case "none":
            raise ValueError("a task without a drift has no change")


def _rotate(world: World, items: list[str]) -> None:
    """Each item takes the shelf of the next one, so the same shelves are occupied as before."""
    shelves = [world.take(item) for item in items]
    for item, shelf in zip(items, [*shelves[1:], *shelves[:1]], strict=True):
        world.put(item, shelf)
