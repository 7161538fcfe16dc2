"""Shows how far a run is: a live bar on a terminal, plain lines elsewhere. Always on stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

from perdure.core.callback import Callback, CallbackContext
from perdure.core.pool import ModelPool
from perdure.core.types import JSON
from perdure.metrics.success import wilson_interval

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress(Callback):
    """Tasks done, success so far with its interval, tokens, and the time that is left.

    `every` is how many seconds pass between two plain lines where stderr is no terminal; the first line comes
    before anything is asked of a model.
    """

    name = "progress"
    reach = "watch"

    def __init__(
        self, *, total: int, every: float = 10.0, pool: ModelPool | None = None, stream: TextIO | None = None
    ) -> None:
        self._total = total
        self._every = every
        self._pool = pool
        self._stream = stream or sys.stderr
        self._bar: Bar | None = None
        self._started = self._printed = 0.0
        self._before = self._done = self._correct = self._ignored = 0

    def on_session_create(self, ctx: CallbackContext) -> None:
        """Begin with what an earlier process finished."""
        if not self._started:
            self._started = self._printed = time.monotonic()
            self._before = self._done = len(ctx.past_sessions)
            past = list(ctx.past_sessions.records())
            self._correct = sum(record.correct for record in past)
            self._ignored = sum(record.ignored for record in past)
            if self._stream.isatty():
                self._bar = self._live_bar()
                self._bar.start()
            else:
                self._print(f"{self._task()}, step 0 …")
        self._show(ctx)

    def on_environment_interact(self, ctx: CallbackContext) -> None:
        """A long task shows its steps."""
        self._show(ctx)

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """Count the outcome, that of a task given up without a reset too."""
        self._done += 1
        record = ctx.session.record()
        self._correct += record.correct
        self._ignored += record.ignored
        self._show(ctx, last=self._done == self._total)

    def close(self) -> None:
        """Give the terminal back."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, ctx: CallbackContext, *, last: bool = False) -> None:
        step = len(ctx.session.interactions)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done, facts=self._facts(step))
        elif last or time.monotonic() - self._printed >= self._every:
            self._printed = time.monotonic()
            self._print(f"{self._done}/{self._total} tasks · {self._facts(step)} · {self._remaining()}")

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)

    def _task(self) -> str:
        return f"task {self._done + 1} of {self._total}"

    def _facts(self, step: int) -> str:
        counted = self._done - self._ignored
        if counted:
            low, high = wilson_interval(self._correct, counted)
            facts = f"success {self._correct / counted:.1%} [{low:.0%}, {high:.0%}] · step {step}"
        else:
            facts = f"{self._task()}, step {step} …"
        if self._pool is not None and (tokens := self._pool.usage).prompt_tokens:
            facts += f" · {tokens.prompt_tokens:,} prompt + {tokens.completion_tokens:,} completion tokens"
        return facts

    def _remaining(self) -> str:
        fresh = self._done - self._before
        if not fresh:
            return "time left unknown"
        seconds = (time.monotonic() - self._started) / fresh * (self._total - self._done)
        return f"about {seconds:.0f} s left"

    def _live_bar(self) -> Bar:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        bar = Bar(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
        )
        bar.add_task("", total=self._total, completed=self._done, facts="")
        return bar


CALLBACK = Progress
