"""Ends a run whose prompts grow: the claim of a constant context, as a check."""

from __future__ import annotations

from perdure.core.callback import Callback, CallbackContext
from perdure.core.errors import InfrastructureError
from perdure.core.pool import ModelPool
from perdure.core.types import JSON
from perdure.metrics.growth import slope


class PromptGrowthExceeded(InfrastructureError):
    """Prompts grow faster than was allowed. The run stops: exit 1, one line; what was finished is kept."""


class MaxPromptGrowth(Callback):
    """Fits prompt(t) = a + c·t within each task and raises when c is larger than `tokens_per_step`.

    Judged every `every` inferences and at the end of a task, by the lower end of the 95 % interval of c: a
    prompt that wavers does not end a run, one that grows ends it early. Counts all prompt tokens from one
    inference of the agent to the next, a strategy's own calls with them; replies of the cache count nothing.
    """

    name = "max_prompt_growth"
    reach = "watch"

    def __init__(self, *, tokens_per_step: float, every: int = 50, pool: ModelPool | None = None) -> None:
        if tokens_per_step < 0:
            raise ValueError(f"tokens_per_step must be at least 0, not {tokens_per_step}")
        if every < 10:
            raise ValueError(f"every must be at least 10, not {every}")
        self._limit = tokens_per_step
        self._every = every
        self._pool = pool
        self._prompts: list[float] = []
        self._seen = 0

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        """A new task: nothing was asked yet."""
        self._prompts = []
        self._seen = self._asked()

    def on_agent_inference(self, ctx: CallbackContext) -> None:
        """Add what this inference took, and judge now and then."""
        asked = self._asked()
        self._prompts.append(asked - self._seen)
        self._seen = asked
        if len(self._prompts) % self._every == 0:
            self._judge(ctx.session.task_id)

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """The end of a task, before it is committed."""
        if len(self._prompts) >= self._every:
            self._judge(ctx.session.task_id)
        return None

    def _asked(self) -> int:
        return self._pool.usage.prompt_tokens if self._pool is not None else 0

    def _judge(self, task_id: str) -> None:
        growth = slope([self._prompts])
        if growth is not None and growth.low > self._limit:
            raise PromptGrowthExceeded(
                f"prompts of task {task_id!r} grow by {growth.value:.2f} tokens a step "
                f"[{growth.low:.2f}, {growth.high:.2f}] over {len(self._prompts)} steps; "
                f"max_prompt_growth allows {self._limit:g}"
            )


CALLBACK = MaxPromptGrowth
