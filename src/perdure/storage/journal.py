"""The journal of the task under way: every model call by anyone and every observation, in order.

After a crash the interrupted task runs again from its start with these calls served instead of asked, so that
strategies, votes, summaries and simulated users restore by themselves; at most the call under way is lost.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from perdure.core.errors import Divergence, ModelError
from perdure.core.model import Outcome
from perdure.core.types import (
    JSON,
    Completion,
    Observation,
    Request,
    SessionStatus,
    TokenLogprob,
    ToolCall,
    Usage,
)
from perdure.storage.files import AppendLog, parse_object

OnDivergence: TypeAlias = Literal["restart", "keep"]


@dataclass(frozen=True)
class CallEvent:
    """One answered call. `request` is None until re-execution has asked for it again."""

    caller: str
    model: str
    digest: str
    outcome: Outcome
    seconds: float
    request: Request | None = None


@dataclass(frozen=True)
class ObservationEvent:
    """One answer of the environment, normalised."""

    text: str
    accepted: bool
    status: SessionStatus


Event: TypeAlias = CallEvent | ObservationEvent


@dataclass(frozen=True)
class _Owed:
    """A recorded event that re-execution has not come to yet."""

    offset: int
    """Where its line starts."""
    at: float
    """Seconds into the task when it was written."""
    event: Event


class Journal:
    """Records one task at a time; serves a recorded one. It is the pool's `CallRecorder`."""

    def __init__(
        self,
        path: Path,
        *,
        on_divergence: OnDivergence = "restart",
        normalise: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._log = AppendLog(path)
        self._on_divergence = on_divergence
        self._normalise = normalise
        self._owed: deque[_Owed] = deque()
        self._started = time.monotonic()
        self._served_at = 0.0
        self.calls: list[CallEvent] = []
        """The calls of this task so far, served ones included."""
        self.restarts = 0
        """How often this task was taken up again after an interruption."""
        self.divergences = 0
        """How often its re-execution differed from the record."""

    @property
    def seconds(self) -> float:
        """Time spent on this task, that before an interruption included.

        During re-execution it is the time at which the recorded step was taken, so that a wall-clock limit
        is met where it was met then.
        """
        if not self._owed:
            return time.monotonic() - self._started
        following = self._owed[0]
        if isinstance(following.event, CallEvent):
            return following.at - following.event.seconds
        return self._served_at

    def begin(self, index: int, task_id: str, sample: int) -> None:
        """Open the journal for a task: take up the record that an interrupted process left, or a new one."""
        self._owed.clear()
        self.calls = []
        self._started, self._served_at = time.monotonic(), 0.0
        header = {"v": 1, "index": index, "task": task_id, "sample": sample}
        left = self._left_behind(header)
        self.restarts = left.get("restarts", 0) + 1 if left else 0
        self.divergences = left.get("divergences", 0) if left else 0
        if self._owed:
            self._tally()
            return
        self._log.truncate(0)
        self._log.append(_dumps({**header, **self._counts()}))

    def recall(self, caller: str, model: str, request: Request, digest: str) -> tuple[Outcome, float] | None:
        """The recorded outcome of this call, or None when there is no record left."""
        if not self._owed:
            return None
        event = self._owed[0].event
        if not isinstance(event, CallEvent) or (event.caller, event.digest) != (caller, digest):
            self._diverge(f"{caller!r} asked {model!r} something that was not asked then")
            return None
        self._serve()
        self.calls.append(CallEvent(caller, model, digest, event.outcome, event.seconds, request))
        return event.outcome, event.seconds

    def note(
        self, caller: str, model: str, request: Request, digest: str, outcome: Outcome, seconds: float
    ) -> None:
        """Append one answered call before anybody acts on it."""
        event = CallEvent(caller, model, digest, outcome, seconds, request)
        self._log.append(_dumps({**_call_line(event), "at": round(self.seconds, 3)}))
        self.calls.append(event)

    def observe(self, observation: Observation) -> None:
        """Append an observation, or compare it with the recorded one."""
        event = ObservationEvent(self._normalise(observation.text), observation.accepted, observation.status)
        if self._owed:
            if self._owed[0].event == event:
                self._serve()
                return
            self._diverge("the environment answered otherwise")
        line = {"observation": event.text, "accepted": event.accepted, "status": event.status}
        self._log.append(_dumps({**line, "at": round(self.seconds, 3)}))

    def settle(self) -> None:
        """The task is over; a record that went on is a divergence. Raises Divergence under `restart`."""
        if self._owed:
            self._diverge("the task ended earlier than it did then")

    def discard(self) -> None:
        """Forget the interrupted task's record, keeping how often it was tried."""
        header = next(iter(self._lines()), None)
        self._log.truncate(0)
        self._owed.clear()
        self.divergences += 1
        if header is not None:
            self._log.append(_dumps({**json.loads(header[1]), **self._counts()}))

    def end(self) -> None:
        """The task is committed: its record is no longer owed."""
        self._log.truncate(0)
        self._owed.clear()
        self.calls = []

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._log.close()

    def _left_behind(self, header: dict[str, JSON]) -> dict[str, JSON] | None:
        """The header of a record of this very task, its events queued; None when there is no such record."""
        lines = self._lines()
        offset = 0
        try:
            found = parse_object(lines[0][1]) if lines else {}
            if not header.items() <= found.items():
                return None
            _check_counts(found)
            for offset, line in lines[1:]:
                fields = parse_object(line)
                if "restarts" in fields:
                    _check_counts(fields)
                    found.update(fields)
                else:
                    self._owed.append(_Owed(offset, _number(fields["at"]), _event(fields)))
        except (ValueError, KeyError, TypeError, AttributeError):
            # A line that a crash of the machine left unreadable: what follows it is owed again.
            self._log.truncate(offset)
            return found if offset else None
        return found

    def _serve(self) -> None:
        self._served_at = self._owed.popleft().at
        if not self._owed:
            self._started = time.monotonic() - self._served_at

    def _counts(self) -> dict[str, JSON]:
        return {"restarts": self.restarts, "divergences": self.divergences}

    def _tally(self) -> None:
        """Keep the counts, which would be lost with this process; the header is written already."""
        self._log.append(_dumps(self._counts()))

    def _lines(self) -> list[tuple[int, bytes]]:
        lines, offset = [], 0
        with self._log.path.open("rb") as file:
            for line in file:
                lines.append((offset, line))
                offset += len(line)
        return lines

    def _diverge(self, what: str) -> None:
        if self._on_divergence == "restart":
            raise Divergence(f"{what}; the task starts again")
        self._log.truncate(self._owed[0].offset)
        self._owed.clear()
        self._started = time.monotonic() - self._served_at
        self.divergences += 1
        self._tally()


def encode_outcome(outcome: Outcome) -> dict[str, JSON]:
    """A completion or an error as JSON."""
    if isinstance(outcome, ModelError):
        return {"error": str(outcome), "status": outcome.status}
    usage = outcome.usage
    fields: dict[str, JSON] = {
        "text": outcome.text,
        "finish": outcome.finish_reason,
        "usage": [
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
        ],
    }
    if outcome.tool_calls:
        fields["tool_calls"] = [[call.id, call.name, call.arguments] for call in outcome.tool_calls]
    if outcome.logprobs:
        fields["logprobs"] = [[t.token, t.logprob, dict(t.alternatives)] for t in outcome.logprobs]
    return fields


def decode_outcome(fields: dict[str, JSON]) -> Outcome:
    """The inverse of `encode_outcome`."""
    if "error" in fields:
        return ModelError(fields["error"], SessionStatus(fields["status"]))
    return Completion(
        text=fields["text"],
        finish_reason=fields["finish"],
        usage=Usage(*fields.get("usage", ())),
        tool_calls=tuple(ToolCall(*call) for call in fields.get("tool_calls", ())),
        logprobs=tuple(TokenLogprob(*item) for item in fields.get("logprobs", ())),
    )


def _call_line(event: CallEvent) -> dict[str, JSON]:
    return {
        "caller": event.caller,
        "model": event.model,
        "request": event.digest,
        "outcome": encode_outcome(event.outcome),
        "seconds": round(event.seconds, 6),
    }


def _check_counts(fields: dict[str, JSON]) -> None:
    """Raise ValueError unless the counts that a line may hold are whole numbers."""
    for key in ("restarts", "divergences"):
        if not isinstance(fields.get(key, 0), int):
            raise ValueError(f"{key!r} cannot be {fields[key]!r:.80}")


def _number(value: JSON) -> float:
    if not isinstance(value, int | float):
        raise ValueError(f"{value!r:.80} is no number")
    return value


def _event(fields: dict[str, JSON]) -> Event:
    if "observation" in fields:
        return ObservationEvent(fields["observation"], fields["accepted"], SessionStatus(fields["status"]))
    return CallEvent(
        fields["caller"],
        fields["model"],
        fields["request"],
        decode_outcome(fields["outcome"]),
        _number(fields["seconds"]),
    )


def _dumps(fields: dict[str, JSON]) -> str:
    return json.dumps(fields, separators=(",", ":"))
