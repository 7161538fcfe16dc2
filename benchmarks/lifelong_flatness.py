"""Whether a long stream with learning callbacks stays as fast and as small as it was half-way.

2,000 tasks of the counter with experience replay and group self-consistency; late is the last tenth, early
the one before the middle. Until then stores and caches fill (`similar` comes to read every shown session from
disk); what grows with the length of the stream would double from there. Memory grows by addresses of texts
(each prompt is a new one), and for `similar` by the index of goals. Prints one line a figure: what, figure,
target, ratio to the target.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import perdure
from perdure.core.callback import Callback, CallbackContext
from perdure.experiment.registry import load_plugin

HERE = Path(__file__)


def step_to_goal(request: perdure.Request) -> str:
    """A competent player that costs nothing."""
    last = next(m.text for m in reversed(request.messages) if "counter is at" in m.text)
    goal = next(m.text for m in request.messages if m.text.startswith("Bring"))
    gap = int(goal.split("counter to ")[1].split(",")[0]) - int(last.split("counter is at ")[1].split(".")[0])
    return "Action: done" if gap == 0 else f"Action: add {max(-9, min(9, gap))}"


class Gauge(Callback):
    """Processor time and traced memory at the creation of each session."""

    reach = "watch"
    marks: list[float] = []  # noqa: RUF012 - the benchmark reads it after the run
    sizes: list[int] = []  # noqa: RUF012

    def on_session_create(self, ctx: CallbackContext) -> None:
        self.marks.append(time.process_time())
        if tracemalloc.is_tracing():
            self.sizes.append(tracemalloc.get_traced_memory()[0])


def play(tasks: int, select: str, *, traced: bool) -> tuple[list[float], list[int]]:
    """Processor seconds of each task but the last (others may be busy), and bytes at the start of each."""
    gauge = load_plugin("callback", f"{HERE}:Gauge").target
    gauge.marks.clear()
    gauge.sizes.clear()
    callbacks: list[dict[str, Any]] = []
    if select:
        callbacks.append({"name": "experience_replay", "k": 16, "select": select})
        callbacks.append({"name": "group_self_consistency", "groups": 2, "group_size": 4})
    config = {
        "environment": {"name": "counter", "tasks": tasks},
        "models": {"default": {"provider": "scripted", "replies": f"{HERE}:step_to_goal"}},
        "callbacks": [*callbacks, {"name": f"{HERE}:Gauge"}],
        "execution": {"fsync": False},
    }
    if traced:
        tracemalloc.start()
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as folder:
        perdure.run(config, out=folder)
    tracemalloc.stop()
    return [after - before for before, after in pairwise(gauge.marks)], list(gauge.sizes)


def growth(sizes: list[int], tenth: int) -> float:
    """KiB a task, from early to late."""
    return (median(sizes[-tenth:]) - median(sizes[4 * tenth : 5 * tenth])) / (5 * tenth) / 1024


def line(what: str, figure: float, target: float) -> None:
    print(f"{what}: {figure:.3f}, target <= {target:g}, ratio {figure / target:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    tasks: int = parser.parse_args().tasks
    tenth = tasks // 10
    alone = growth(play(tasks, "", traced=True)[1], tenth)
    line("no callback: memory growth in KiB a task", alone, 2.0)
    for select, target in (("recent", 2.0), ("similar", 5.0)):
        seconds, _ = play(tasks, select, traced=False)
        late = median(seconds[-tenth:]) / median(seconds[4 * tenth : 5 * tenth])
        line(f"{select}: time of a late task / early task", late, 1.3)
        more = growth(play(tasks, select, traced=True)[1], tenth) - alone
        line(f"{select}: further memory growth in KiB a task", more, target)


if __name__ == "__main__":
    main()
