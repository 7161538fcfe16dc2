"""Harness CPU and memory a step of `structured_state`, and the slope of its prompt, without a model.

Prints one line a figure: what, figure, target, ratio to the target.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from statistics import linear_regression, median
from typing import Any

from perdure.core.agent import ContextView
from perdure.core.environment import Opening
from perdure.core.history import HistoryFactory
from perdure.core.types import Completion, Observation
from perdure.models.token_estimate import estimate_messages
from perdure.strategies.structured_state import StructuredState

SCHEMA = {
    "type": "object",
    "properties": {
        "inventory": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
        "inbound": {"type": "array", "items": {"type": "string"}, "default": []},
        "open_orders": {"type": "array", "items": {"type": "string"}, "default": []},
        "step": {"type": "integer", "default": 1000},
    },
    "additionalProperties": False,
}
VIEW = ContextView("Keep the warehouse. " * 40, "Serve every order.", (), ())


def model_class() -> Any:
    """The same schema as a pydantic model."""
    from pydantic import BaseModel

    class Warehouse(BaseModel):
        inventory: dict[str, str] = {}
        inbound: list[str] = []
        open_orders: list[str] = []
        step: int = 1000

    return Warehouse


def reply(step: int, patch: Any) -> str:
    """A reply as a model writes it, with its reasoning."""
    thoughts = "The shipment must go to the lowest free shelf, so I look through the inventory. " * 3
    body = json.dumps({"state_patch": patch, "action": f"Move item_{step} shelf_{step % 50} shelf_9"})
    return f"{thoughts}\n```json\n{body}\n```"


def play(schema: Any, mode: str, shelves: int, steps: int) -> tuple[list[float], list[int], list[int]]:
    """CPU seconds, prompt tokens and traced bytes of each step, at a state of constant size."""
    strategy = StructuredState(state_schema=schema, patch_mode=mode)  # type: ignore[arg-type]
    first = Observation("event 000000")
    strategy.start(Opening("g", first, HistoryFactory().construct("g", first)), "")
    filled = {f"shelf_{i}": f"item_{i:03}" for i in range(shelves)}
    patch: Any = (
        {"inventory": filled}
        if mode == "merge"
        else [{"op": "merge", "path": "", "value": {"inventory": filled}}]
    )
    strategy.absorb(Completion(reply(0, patch)))
    strategy.observe(first)
    seconds, tokens, memory = [], [], []
    for step in range(1, steps + 1):
        place = f"shelf_{step % shelves}"
        text = reply(
            step,
            {"inventory": {place: f"item_{step % 999:03}"}, "step": 1000 + step % 9000}
            if mode == "merge"
            else [{"op": "set", "path": f"/inventory/{place}", "value": f"item_{step % 999:03}"}],
        )
        started = time.process_time()
        prompt = strategy.render(VIEW)
        absorbed = strategy.absorb(Completion(text))
        strategy.observe(Observation(f"event {step:06}"))
        seconds.append(time.process_time() - started)
        assert absorbed.action is not None, absorbed.error
        tokens.append(estimate_messages(prompt).tokens)
        memory.append(tracemalloc.get_traced_memory()[0])
    return seconds, tokens, memory


def line(what: str, figure: float, target: float, unit: str) -> None:
    print(f"{what}: {figure:.3f} {unit}, target <= {target:g} {unit}, ratio {figure / target:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    steps = parser.parse_args().steps
    for kind, schema in (("JSON Schema", SCHEMA), ("pydantic", model_class())):
        for mode in ("merge", "ops"):
            for shelves in (30, 500):
                seconds, tokens, _ = play(schema, mode, shelves, steps)
                name = f"{kind}, {mode}, {shelves} shelves"
                line(f"CPU per step, {name}", median(seconds) * 1e3, 1.0, "ms")
                growth = median(seconds[-100:]) / median(seconds[:100])
                line(f"last 100 steps to the first 100, {name}", growth, 1.2, "x")
    slope = linear_regression(range(len(tokens)), tokens).slope
    print(f"prompt tokens per step at fixed state size: {slope:.6f}, target 0, largest {max(tokens)}")
    tracemalloc.start()
    _, _, memory = play(SCHEMA, "merge", 30, steps)
    tracemalloc.stop()
    quarter = steps // 4
    line(
        "memory added by the last quarter of steps to the first",
        (memory[-1] - memory[-quarter]) / (memory[quarter] - memory[0]),
        1.2,
        "x",
    )
    print(f"memory per step (the journal): {(memory[-1] - memory[0]) / steps:.0f} bytes")


if __name__ == "__main__":
    main()
