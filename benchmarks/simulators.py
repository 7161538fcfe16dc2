"""Speed of the SkillExecBench simulators without a model, measured through `interact`.

Prints one line a figure: what, figure, target, ratio to the target (above 1 is better than asked). The best
of some repeats, because a busy machine only ever makes a simulator slower.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from perdure.core.agent import Agent, ContextView
from perdure.core.environment import Environment
from perdure.core.types import Trial
from perdure.environments.repository import RepositoryEnvironment
from perdure.environments.repository.oracle import oracle as repository_oracle
from perdure.environments.warehouse import WarehouseEnvironment
from perdure.environments.warehouse.oracle import oracle as warehouse_oracle

HORIZON = 1000
QUIET, NOISY = 20_000, 3_000


def right_actions(environment: Environment, oracle: Agent) -> list[str]:
    """What the oracle does in the first task."""
    task = environment.task_ids()[0]
    opening = environment.reset(Trial(task))
    oracle.start(Trial(task), opening)
    view = ContextView(environment.instructions, opening.goal, (), tuple(opening.history))
    actions, observation = [], opening.observation
    while not observation.done:
        actions.append(str(oracle.infer(view)))
        observation = environment.interact(actions[-1])
        oracle.observe(observation)
    environment.complete()
    return actions


def steps_per_second(environment: Environment, actions: list[str], repeats: int) -> tuple[float, float]:
    """Steps a second through `interact`, and milliseconds of a `reset`; the best of `repeats`."""
    task = environment.task_ids()[0]
    best_play = best_reset = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        environment.reset(Trial(task))
        ready = time.perf_counter()
        for action in actions:
            environment.interact(action)
        best_play = min(best_play, time.perf_counter() - ready)
        best_reset = min(best_reset, ready - start)
        environment.complete()
    return len(actions) / best_play, best_reset * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    worlds: list[tuple[str, Callable[[int], Environment], Callable[[Any], Agent]]] = [
        (
            f"warehouse, {profile}",
            lambda noise, profile=profile: WarehouseEnvironment(  # type: ignore[misc]
                tasks=1, horizon=HORIZON, profile=profile, noise=noise
            ),
            warehouse_oracle,
        )
        for profile in ("paper", "growth", "dense")
    ]
    worlds.append(
        (
            "repository, union",
            lambda noise: RepositoryEnvironment(tasks=1, horizon=HORIZON, noise=noise),
            repository_oracle,
        )
    )
    for name, build, oracle in worlds:
        for noise, target in ((0, QUIET), (50, NOISY)):
            environment = build(noise)
            figure, reset = steps_per_second(
                environment, right_actions(environment, oracle(environment)), repeats
            )
            print(
                f"{name}, {noise} noise lines: {figure:,.0f} steps/s, target >= {target:,} steps/s, "
                f"ratio {figure / target:.2f} (reset {reset:.1f} ms)"
            )


if __name__ == "__main__":
    main()
