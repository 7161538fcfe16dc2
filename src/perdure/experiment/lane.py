"""One lane: an environment, an agent and callbacks that play one trial after the other, in one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from perdure.core.agent import Agent
from perdure.core.callback import CallbackList
from perdure.core.controller import Controller, Limits
from perdure.core.environment import Environment
from perdure.core.errors import Divergence, InfrastructureError, RunFolderError
from perdure.core.pool import ModelPool
from perdure.core.recording import FinishedTask
from perdure.core.session import PastSessions
from perdure.core.types import Message, Trial
from perdure.storage.call_log import CallLog


class Lane:
    """Plays trials. `pool` is the lane's own view of the models (`ModelPool.lane`).

    `close` frees what was built for this lane alone.
    """

    def __init__(
        self,
        *,
        environment: Environment,
        agent: Agent,
        callbacks: CallbackList,
        limits: Limits,
        pool: ModelPool,
        reply_form: str = "",
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.callbacks = callbacks
        self.close = close
        self._environment = environment
        self._pool = pool
        self._controller = Controller(
            environment=environment,
            agent=agent,
            callbacks=callbacks,
            limits=limits,
            reply_form=reply_form,
        )

    @property
    def history_items(self) -> tuple[Message, ...]:
        """What the history factory of its environment holds."""
        return self._environment.history_factory.items()

    def set_history_items(self, items: tuple[Message, ...]) -> None:
        """Let the history factory hold these from here on."""
        self._environment.history_factory.assign(items)

    def play(self, index: int, trial: Trial, log: CallLog, past: PastSessions) -> FinishedTask:
        """Play the trial at one place of the schedule, recorded in `log`; `past` is what callbacks see.

        Raises Divergence when its re-execution differs from what was recorded: the lane is then of no use.
        """
        with _ending_well(log):
            self._pool.recorder = log
            return self._controller.play(index, trial, log, past)

    def play_frozen(
        self, index: int, trial: Trial, log: CallLog, past: PastSessions, items: tuple[Message, ...]
    ) -> FinishedTask:
        """As `play`, meeting a history factory that holds `items`, and leaving no edit of it."""
        self.set_history_items(items)
        finished = self.play(index, trial, log, past)
        self.set_history_items(items)
        return replace(finished, history_items=None)


@contextmanager
def _ending_well(log: CallLog) -> Iterator[None]:
    """What stops a task leaves a log from which it can go on.

    A plug-in that raised may be mended, or the world may be back: the next process serves the log. Where that
    only leads to the same failure, the record is at fault, and the task starts again.
    """
    try:
        yield
    except Divergence:
        log.restart(diverged=True)
        raise
    except (InfrastructureError, RunFolderError):
        raise
    except Exception as error:
        if log.failed_here:
            log.restart()
            raise Divergence("what was recorded leads to the same failure; the task starts again") from error
        log.fail(error)
        error.add_note(
            "answers so far are kept: run the same command again, or with --restart-task to ask anew"
        )
        raise
