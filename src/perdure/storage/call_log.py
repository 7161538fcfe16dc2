"""The call log of one task under way: every model call by anyone, every observation, and what was paid.

After a crash the interrupted task runs again from its start with these calls served instead of asked, so that
strategies, votes, summaries and simulated users restore by themselves; at most the calls in flight are asked
again. The log is only appended to: a fresh start is a line, and what stands before it stays charged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import RLock
from typing import Literal, TypeAlias

from perdure.core.charges import Answered, Call, Charge, Times
from perdure.core.environment import Opening
from perdure.core.errors import Divergence
from perdure.core.model import NumberedCall, Outcome
from perdure.core.plain_json import error_line
from perdure.core.types import JSON, Observation, Request
from perdure.storage.call_file import CallFile
from perdure.storage.call_lines import (
    LOG_VERSION,
    LoggedCall,
    LoggedObservation,
    answered_line,
    keep_line,
    observed_line,
)

OnDivergence: TypeAlias = Literal["restart", "keep"]

Key: TypeAlias = tuple[str, int]
"""A caller, and which of its calls."""


class CallLog:
    """Records one task and serves what an interrupted process recorded of it. Threads may share it.

    `header` names the trial and the run. A file that names another is set aside: it stays charged.
    """

    def __init__(
        self,
        path: Path,
        header: Mapping[str, JSON],
        *,
        on_divergence: OnDivergence = "restart",
        normalise: Callable[[str], str] = lambda text: text,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        header = {"v": LOG_VERSION, **header}
        self._on_divergence = on_divergence
        self._normalise = normalise
        self._check = check
        self._lock = RLock()
        self._file = CallFile(path)
        self._complete = False
        self._content = self._file.left_behind(header)
        if self._content.header:
            self._take_up()
        else:
            self._content.header = {"started": round(time.time(), 3), **header}
            self._file.append({"is": "log", **self._content.header}, wait=True)
        self._rewind()

    # -- the pool's side

    @property
    def repeat(self) -> int:
        """Which repeat of its task is under way."""
        repeat: int = self._content.header.get("repeat", 0)
        return repeat

    def wait(self, seconds: float) -> None:
        """So long the task waited for a connection: that does not count as time spent on it."""
        with self._lock:
            self._started += seconds

    def number(self, caller: str, model: str, request: Request, digest: str) -> NumberedCall:
        """Give a call its number, and its recorded answer where there is one. Raises Divergence."""
        self.proceed()
        with self._lock:
            key = (caller, self._numbers.get(caller, 0))
            known = self._content.calls.get(key)
            if self._owed and not self._is_recorded(known, digest):
                self._diverge(f"{caller!r} asked {model!r} something that was not asked then")
            self._numbers[caller] = key[1] + 1
            self._asked[key] = request
            recorded = self._owed_calls.pop(key, None)
            if recorded is None:
                return NumberedCall(caller, key[1], model, digest, request)
            recorded.prompt = request.messages  # the very objects: comparing prompts stays cheap
            self._serve(recorded.at + recorded.seconds)
            return NumberedCall(
                caller, key[1], model, digest, request, recorded.outcome, recorded.answered == "cache"
            )

    def ask(self, call: NumberedCall) -> None:
        """Log a call before its model is asked: from here on it is perhaps paid."""
        with self._lock:
            self._file.append(self._ask(call, "asked"))

    def answer(
        self, call: NumberedCall, outcome: Outcome, seconds: float, *, from_cache: bool = False
    ) -> None:
        """Log what became of a call, before anybody acts on it; in any order."""
        with self._lock:
            lines = [self._ask(call, "cache")] if from_cache else []
            logged = self._content.calls[call.caller, call.number]
            logged.outcome, logged.seconds = outcome, seconds
            self._file.append(*lines, answered_line(logged))

    # -- the controller's side

    @property
    def seconds(self) -> float:
        """Time spent on this task, that before an interruption included.

        During re-execution it is the time at which the recorded step was taken, so that a wall-clock limit
        is met where it was met then.
        """
        with self._lock:
            if not self._owed:
                return time.monotonic() - self._started
            following = next(iter(self._owed_calls.values()), None)
            if following is None or following.after > self._observed:
                return self._served_at
            return following.at

    def proceed(self) -> None:
        """Called before each call and action: may raise to stop the task here, resumable."""
        self._check()

    def open(self, opening: Opening) -> Opening:
        """Keep how the task opened, or give the recorded opening that this one equals. Raises Divergence."""
        with self._lock:
            item = self._note(LoggedObservation(self.seconds, opening.observation, opening))
            return item.opening or opening

    def observe(self, observation: Observation) -> Observation:
        """Keep an observation, or give the recorded one that this one equals. Raises Divergence."""
        with self._lock:
            return self._note(LoggedObservation(self.seconds, observation)).observation

    def check_complete(self) -> None:
        """The task has ended. Raises Divergence where its record goes on."""
        with self._lock:
            if self._owed:
                self._diverge("the task ended earlier than it did then")
            self._complete = True

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of this task so far, in the order in which they were asked."""
        with self._lock:
            made = [(key, request, self._content.calls.get(key)) for key, request in self._asked.items()]
            return tuple(
                Call(*key, logged.model, logged.digest, request, logged.outcome)
                for key, request, logged in made
                if logged is not None and logged.outcome is not None
            )

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What was asked for this task so far, in every attempt."""
        with self._lock:
            return self._content.charges

    @property
    def times(self) -> Times:
        """When it was played so far."""
        with self._lock:
            content = self._content
            return Times(
                content.header["started"],
                round(self.seconds, 4),
                content.resumes,
                content.attempt,
                content.divergences,
                content.damaged,
            )

    # -- the side of whoever plays the task

    @property
    def failed_here(self) -> bool:
        """A plug-in raised in the process before, and nothing has been recorded since."""
        return self._content.failed_after == self._content.events

    def fail(self, error: BaseException) -> None:
        """A plug-in raised: the next process may go on from here, or find that it raises again."""
        with self._lock:
            self._content.failed_after = self._content.events
            told = f"{type(error).__name__}: {error_line(error)}"[:500]
            self._file.append({"is": "failed", "error": told, "events": self._content.events})

    def restart(self, *, diverged: bool = False) -> None:
        """Take a fresh start: what was recorded stays charged and is not served again."""
        with self._lock:
            line = {"is": "restart", "diverged": diverged}
            self._file.append(line)
            self._file.sync()
            self._content.apply(line)
            self._rewind()

    def close(self) -> None:
        """Close the file. What waits is written, unless the task is complete. Idempotent."""
        with self._lock:
            if not self._complete:
                self._file.flush()
            self._file.close()

    # --

    @property
    def _owed(self) -> bool:
        """Whether something is recorded that re-execution has not come to yet."""
        return bool(self._owed_calls) or self._observed < self._recorded_observations

    def _is_recorded(self, known: LoggedCall | None, digest: str) -> bool:
        return known is not None and (known.digest, known.after) == (digest, self._observed)

    def _take_up(self) -> None:
        content = self._content
        lines: list[dict[str, JSON]] = []
        if not content.restarted:
            content.resumes += 1
            lines.append({"is": "resume", "time": round(time.time(), 3)})
        if content.lost:
            keep = keep_line(content.counts, len(content.observations), diverged=False)
            content.apply(keep)
            lines.append(keep)
        self._file.append(*lines)

    def _rewind(self) -> None:
        """The task begins: everything recorded of this attempt is owed."""
        self.turn = 0
        """Inferences so far, kept up by the controller."""
        self._numbers: dict[str, int] = {}
        self._asked: dict[Key, Request] = {}
        self._observed = 0
        self._forget_served()
        self._started, self._served_at = time.monotonic(), 0.0

    def _forget_served(self) -> None:
        self._owed_calls = {
            key: call
            for key, call in self._content.calls.items()
            if call.outcome is not None and key not in self._asked
        }
        self._recorded_observations = len(self._content.observations)

    def _serve(self, at: float) -> None:
        self._served_at = max(self._served_at, at)
        if not self._owed:
            self._started = time.monotonic() - self._served_at

    def _note(self, item: LoggedObservation) -> LoggedObservation:
        if self._owed:
            recorded = self._following_observation()
            if recorded is not None and recorded.facts(self._normalise) == item.facts(self._normalise):
                self._observed += 1
                self._serve(recorded.at)
                return recorded
            self._diverge("the environment answered otherwise")
        self._content.observations.append(item)
        self._observed += 1
        self._recorded_observations = self._observed
        self._file.append(observed_line(item), wait=True)
        return item

    def _following_observation(self) -> LoggedObservation | None:
        """The next recorded one, unless a recorded call comes before it."""
        call = next(iter(self._owed_calls.values()), None)
        if call is not None and call.after <= self._observed:
            return None
        rest = self._content.observations[self._observed :]
        return rest[0] if rest else None

    def _ask(self, call: NumberedCall, answered: Answered) -> dict[str, JSON]:
        return self._content.ask(call, answered, self.seconds, self._observed)

    def _diverge(self, what: str) -> None:
        if self._on_divergence == "restart":
            raise Divergence(f"{what}; the task starts again")
        line = keep_line(self._numbers, self._observed, diverged=True)
        self._file.append(line)
        self._content.apply(line)
        self._forget_served()
        self._started = time.monotonic() - self._served_at
