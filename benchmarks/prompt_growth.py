"""How prompts grow with the steps of a task, what a shared budget leaves, and whether the harness stays flat.

The perfect reader plays, so what is measured is the strategy and the world. Prints one line a figure: figure,
target, ratio. Exponents are those of total tokens ∝ T^b over the second half of the steps, with 95 %
intervals over tasks: of T = 50 to 800 for every world, of T = 1000 for the strategies.
"""

from __future__ import annotations

import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import perdure
from perdure.core.agent import ContextStrategy, ContextView
from perdure.core.model import Outcome, all_outcomes
from perdure.core.pool import ModelHandle
from perdure.core.types import Completion, Message, Request, Trial
from perdure.core.usage import TokenCount
from perdure.environments.warehouse import WORLD, WarehouseEnvironment
from perdure.environments.warehouse.state import WarehouseState
from perdure.metrics.growth import Fit, cumulative_exponent, slope, step_series
from perdure.models.perfect_reader import PerfectReaderModel, count_pieces
from perdure.strategies.capped_summary import CappedSummary
from perdure.strategies.full_history import FullHistory
from perdure.strategies.memory import Memory
from perdure.strategies.prompt_compression import PromptCompression
from perdure.strategies.sliding_window import SlidingWindow
from perdure.strategies.stateful import Stateful
from perdure.strategies.structured_state import StructuredState

STEPS = 1000
MODEL = {"provider": "perfect_reader", "tokenizer": "pieces"}


WORLDS: dict[str, dict[str, Any]] = {
    "repository, union": {"name": "repository"},
    "repository, main": {"name": "repository", "verbs": "main"},
    "repository, appendix": {"name": "repository", "verbs": "appendix"},
    "warehouse, paper": {"name": "warehouse", "profile": "paper"},
    "warehouse, dense": {"name": "warehouse", "profile": "dense"},
    "warehouse, growth": {"name": "warehouse", "profile": "growth"},
}
GROWS = "warehouse, growth"
"""The one world whose true state is meant to grow."""
TARGETS = {50: 1.05, 100: 1.05, 200: 1.05, 400: 1.05, 800: 1.08}
OPENING = 25
"""Steps until the first results and requests are there: before them observations are shorter."""


def play(
    strategy: dict[str, Any],
    *,
    tasks: int,
    horizon: int = STEPS,
    profile: str = "paper",
    world: dict[str, Any] | None = None,
) -> perdure.Run:
    chosen = world or {"name": "warehouse", "profile": profile}
    return perdure.run(
        {
            "environment": {**chosen, "tasks": tasks, "horizon": horizon},
            "agent": {"strategy": strategy},
            "models": {"default": MODEL},
        },
        out=tempfile.mkdtemp(prefix="perdure-bench-"),
    )


def interval(fit: Fit | None, digits: int) -> str:
    if fit is None:
        return "no fit"
    return f"{fit.value:.{digits}f} [{fit.low:.{digits}f}, {fit.high:.{digits}f}]"


def state_sizes(run: perdure.Run, index: int) -> list[float]:
    """Entries of the state that each prompt of a session showed."""
    sizes = []
    for call in run.reader.calls(index):
        shown = call.messages[-1].text.partition("```json\n")[2].partition("\n```")[0]
        sizes.append(float(sum(len(value) for value in json.loads(shown).values())))
    return sizes


def shown_states(run: perdure.Run, index: int) -> list[float]:
    """Tokens of the state that each prompt of a session showed."""
    shown = (call.messages[-1].text.partition("```json\n")[2] for call in run.reader.calls(index))
    return [float(count_pieces(text.partition("\n```")[0])) for text in shown]


def growth_of_worlds() -> None:
    """A perfect state's exponents by T, and the slope of its prompts at a fixed size of the state."""
    for name, world in WORLDS.items():
        run = play({"name": "structured_state"}, tasks=20, horizon=max(TARGETS), world=world)
        series = [step_series(line) for line in run.reader.ledger()]
        states = [shown_states(run, index) for index in range(len(series))]
        for horizon, target in TARGETS.items():
            fit = cumulative_exponent([session.tokens[:horizon] for session in series])
            told = f"{name}, T={horizon}: exponent {interval(fit, 3)}"
            if name == GROWS:
                true = cumulative_exponent([sizes[:horizon] for sizes in states])
                print(f"{told}, that of its true state {interval(true, 3)}, no target: it is meant to grow")
            else:
                ratio = 0.0 if fit is None else fit.value / target
                print(f"{told}, target <= {target}, ratio {ratio:.2f}")
        rest = [
            [prompt - size for prompt, size in zip(session.prompts[OPENING:], sizes[OPENING:], strict=True)]
            for session, sizes in zip(series, states, strict=True)
        ]
        fit = slope(rest)
        print(
            f"{name}: {interval(fit, 5)} prompt tokens a step at a fixed state, "
            f"0 inside: {fit is not None and fit.contains(0)}; score {score(run):.2f}"
        )


def growth_of_prompts() -> None:
    run = play({"name": "structured_state"}, tasks=8)
    series = [step_series(line) for line in run.reader.ledger()]
    sizes = [state_sizes(run, i) for i in range(len(series))]
    fit = slope([session.prompts for session in series], sizes)
    inside = fit is not None and fit.contains(0)
    print(
        f"structured_state: {interval(fit, 4)} prompt tokens a step at a fixed state size, 0 inside: {inside}"
    )
    seconds = slope([session.seconds for session in series])
    scaled = None if seconds is None else Fit(seconds.value * 1e6, seconds.low * 1e6, seconds.high * 1e6)
    print(f"structured_state: {interval(scaled, 3)} microseconds of latency more each step, target about 0")
    for strategy, target in (("structured_state", 1.0), ("full_history", 2.0)):
        played = run if strategy == "structured_state" else play({"name": strategy}, tasks=4)
        tokens = [step_series(line).tokens for line in played.reader.ledger()]
        exponent = cumulative_exponent(tokens)
        ratio = 0.0 if exponent is None else exponent.value / target
        print(f"{strategy}: exponent {interval(exponent, 3)}, target {target:g}, ratio {ratio:.2f}")


def collapse() -> None:
    """Every bounded strategy at what structured_state needs on average, rounded up to 50."""
    for profile in ("paper", "growth", "dense"):
        state = play({"name": "structured_state"}, tasks=3, horizon=100, profile=profile)
        prompts = [tokens for line in state.reader.ledger() for tokens in step_series(line).prompts]
        budget = -(-sum(prompts) // len(prompts) // 50) * 50
        scores = [f"structured_state {score(state):.2f}"]
        for name in ("sliding_window", "capped_summary", "prompt_compression"):
            played = play({"name": name, "budget_tokens": budget}, tasks=3, horizon=100, profile=profile)
            scores.append(f"{name} {score(played):.2f}")
        told = ", ".join(scores)
        print(f"{profile}, T=100, {budget} tokens a prompt: {told}; the paper 0.94, 0.18, 0.52, 0.22")


def score(run: perdure.Run) -> float:
    rewards = [record.reward for record in run.records()]
    return sum(rewards) / len(rewards)


@dataclass
class Clocked(ModelHandle):
    """A model whose time is known, so that it can be left out."""

    reader: PerfectReaderModel = field(default_factory=lambda: PerfectReaderModel(WORLD))
    seconds: float = 0.0

    def generate(self, requests: Sequence[Request]) -> list[Outcome]:
        started = time.perf_counter()
        outcomes = all_outcomes(self.reader, requests)
        self.seconds += time.perf_counter() - started
        return outcomes

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        return self.reader.count_tokens(messages)


def step_seconds(
    strategy: ContextStrategy, model: Clocked, watch: Callable[[int], None] = lambda step: None
) -> list[float]:
    """Seconds that render, absorb and observe took in each step, without those of the model."""
    environment = WarehouseEnvironment(horizon=STEPS)
    opening = environment.reset(Trial(environment.task_ids()[0]))
    strategy.start(opening, environment.instructions)
    history: tuple[Message, ...] = tuple(opening.history)
    taken = []
    for step in range(1, STEPS + 1):
        watch(step)
        view = ContextView(
            environment.instructions,
            opening.goal,
            (),
            history,
            reply_form=WORLD.reply_form(environment),
            turn=step,
        )
        before, started = model.seconds, time.perf_counter()
        prompt = tuple(strategy.render(view))
        seconds = time.perf_counter() - started
        (outcome,) = all_outcomes(model.reader, [Request(prompt)])
        reply = outcome.text if isinstance(outcome, Completion) else ""
        started = time.perf_counter()
        action = strategy.absorb(Completion(reply)).action or ""
        seconds += time.perf_counter() - started
        observation = environment.interact(action)
        started = time.perf_counter()
        strategy.observe(observation)
        seconds += time.perf_counter() - started
        taken.append(seconds - (model.seconds - before))
        history = (*history, Message("agent", reply), Message("user", observation.text))
    return taken


def kept_bytes(strategy: ContextStrategy, model: Clocked) -> tuple[int, int]:
    """Memory that a strategy's own code holds at step 100 and at step 1000."""
    kept = {}
    code = [tracemalloc.Filter(True, f"*/perdure/{package}/*") for package in ("strategies", "state")]

    def watch(step: int) -> None:
        if step in (100, STEPS):
            held = tracemalloc.take_snapshot().filter_traces(code)
            kept[step] = sum(trace.size for trace in held.traces)

    tracemalloc.start()
    step_seconds(strategy, model, watch)
    tracemalloc.stop()
    return kept[100], kept[STEPS]


def harness() -> None:
    model = Clocked()
    bounded: Iterable[tuple[str, ContextStrategy]] = (
        ("structured_state", StructuredState(state_schema=WarehouseState)),
        ("sliding_window", SlidingWindow(budget_tokens=800, model=model)),
        ("capped_summary", CappedSummary(budget_tokens=800, model=model)),
        ("memory", Memory(model=model)),
    )
    for name, strategy in bounded:
        taken = step_seconds(strategy, model)
        early, late = median(taken[50:150]), median(taken[-100:])
        print(
            f"{name}: {late * 1e3:.3f} ms of harness at step 1000, target <= 1 ms, ratio {late * 1e3:.2f}; "
            f"{late / early:.2f} x step 100, target about 1"
        )
        before, after = kept_bytes(strategy, model)
        print(
            f"{name}: {after / 1024:.0f} KiB held at step 1000, {before / 1024:.0f} at step 100, "
            f"ratio {after / before:.2f}"
        )
    growing: Iterable[tuple[str, ContextStrategy]] = (
        ("full_history", FullHistory()),
        ("stateful", Stateful(state_schema=WarehouseState)),
        ("prompt_compression", PromptCompression(budget_tokens=800, model=model)),
    )
    for name, strategy in growing:
        fit = slope([[seconds * 1e6 for seconds in step_seconds(strategy, model)]])
        print(f"{name}: {interval(fit, 3)} microseconds of harness more each step, no target")


def main() -> None:
    growth_of_worlds()
    growth_of_prompts()
    collapse()
    harness()


if __name__ == "__main__":
    main()
