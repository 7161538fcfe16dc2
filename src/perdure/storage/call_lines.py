"""The lines of a call log, and what a log says when its lines are read: for resuming, and for watching.

`log`        first line: which trial of which run
`resume`     another process took the task up
`asked`      a call got its number, *by caller*, with its prompt: from here on it is perhaps paid
`answered`   what became of it
`opened`     how the task opened; `observed`: an answer of the environment
`keep`       a difference was kept: of the attempt so far only what was served still counts
`restart`    a fresh start: what stands before it is charged, never served
`failed`     a plug-in raised
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from perdure.core.charges import Answered, Charge, Times
from perdure.core.environment import Opening
from perdure.core.history import InteractionHistory
from perdure.core.model import NumberedCall, Outcome
from perdure.core.outcome_json import decode_outcome, encode_outcome
from perdure.core.parts import decode_parts, encode_parts
from perdure.core.request_digest import request_options
from perdure.core.types import JSON, Completion, Message, Observation, Role, SessionStatus
from perdure.core.usage import Usage
from perdure.storage.files import lines_from, unseal

LOG_VERSION = 1
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError)
_ROLES: Mapping[str, Role] = {role: role for role in get_args(Role)}


@dataclass
class LoggedCall:
    """A call that was asked. It has no outcome while nobody answered it."""

    attempt: int
    caller: str
    number: int
    model: str
    digest: str
    answered: Answered
    at: float
    """Seconds into the task when it was asked."""
    started: float
    """The same on the clock: seconds since 1970 (UTC)."""
    after: int = 0
    """Observations that stood before it."""
    prompt: tuple[Message, ...] = ()
    outcome: Outcome | None = None
    seconds: float = 0.0

    @property
    def charge(self) -> Charge:
        """Its row of the ledger."""
        usage = self.outcome.usage if isinstance(self.outcome, Completion) else Usage()
        answered: Answered = self.answered if self.outcome is not None else "unanswered"
        return Charge(
            self.attempt,
            self.caller,
            self.number,
            self.model,
            answered,
            usage,
            round(self.seconds, 4),
            self.started,
        )


@dataclass(frozen=True)
class LoggedObservation:
    """The opening of a task, or an answer of its environment, with the second of the task when it came."""

    at: float
    observation: Observation
    opening: Opening | None = None

    def facts(self, normalise: Callable[[str], str]) -> list[JSON]:
        """What must be the same when the task is re-executed."""
        seen, opening = self.observation, self.opening
        facts = [
            normalise(seen.text),
            normalise(seen.reason),
            seen.accepted,
            seen.done,
            seen.status,
            seen.reward,
            opening is not None,
        ]
        if opening is not None:
            history = [Message(message.role, normalise(message.text)) for message in opening.history]
            facts += [normalise(opening.goal), history]
        return facts


@dataclass
class LogContent:
    """What a log says: the attempt that counts, and the charges of all."""

    header: dict[str, JSON] = field(default_factory=dict)
    attempt: int = 0
    resumes: int = 0
    divergences: int = 0
    damaged: int = 0
    """Lines that are not as they were written."""
    asked: list[LoggedCall] = field(default_factory=list)
    """Every call of every attempt, in the order of the file."""
    calls: dict[tuple[str, int], LoggedCall] = field(default_factory=dict)
    """Calls of the attempt that counts, in the order in which they were first asked."""
    observations: list[LoggedObservation] = field(default_factory=list)
    """The opening and the answers of the environment in the attempt that counts."""
    failed_after: int | None = None
    """How many events stood in the attempt that counts when a plug-in last raised."""
    restarted: bool = False
    """A fresh start was taken, and nothing happened since."""
    lost: bool = False
    """A damaged line stands before the end: what follows it is charged, and not served."""

    @property
    def events(self) -> int:
        """Answered calls and observations of the attempt that counts."""
        return len(self.observations) + sum(call.outcome is not None for call in self.calls.values())

    @property
    def charges(self) -> tuple[Charge, ...]:
        """A row for every call, also of attempts that were given up."""
        return tuple(
            call.charge for call in self.asked if call.outcome is not None or call.answered == "asked"
        )

    @property
    def times(self) -> Times:
        """When it was played."""
        started = self.header.get("started", 0.0)
        last = [item.at for item in self.observations] + [
            call.at + call.seconds for call in self.calls.values()
        ]
        return Times(
            started if isinstance(started, int | float) else 0.0,
            max(last, default=0.0),
            self.resumes,
            self.attempt,
            self.divergences,
            self.damaged,
        )

    @property
    def counts(self) -> dict[str, int]:
        """Caller → how many of its calls count."""
        counts: dict[str, int] = {}
        for caller, number in self.calls:
            counts[caller] = max(counts.get(caller, 0), number + 1)
        return counts

    def ask(self, call: NumberedCall, answered: Answered, at: float, after: int) -> dict[str, JSON]:
        """Take in a call that is asked now, `at` seconds into the task; the line that says so."""
        earlier = self.calls.get((call.caller, call.number - 1))
        logged = LoggedCall(
            self.attempt,
            call.caller,
            call.number,
            call.model,
            call.digest,
            answered,
            at,
            round(time.time(), 3),
            after,
            call.request.messages,
        )
        self.asked.append(logged)
        self.calls[call.caller, call.number] = logged
        known = earlier.prompt if earlier is not None else ()
        return asked_line(logged, known, request_options(call.request))

    def take(self, line: bytes) -> None:
        """Read one more line."""
        fields = unseal(line)
        try:
            if fields is None:
                raise ValueError("it is not what was written")
            self.apply(fields)
        except _UNREADABLE:
            self.damaged += 1
            self.lost = True

    def apply(self, fields: dict[str, JSON]) -> None:
        """Take in what a line says. Raises ValueError and its like for one that says nothing known."""
        self.restarted = fields["is"] == "restart"
        match fields["is"]:
            case "log" if not self.header:
                self.header = fields
            case "resume":
                self.resumes += 1
            case "asked":
                self._ask(fields)
            case "answered":
                self._answer(fields)
            case "opened" | "observed" if not self.lost:
                self._observe(fields)
            case "opened" | "observed":
                pass
            case "keep":
                self._keep(fields["calls"], fields["observations"])
                self.divergences += fields["diverged"]
            case "restart":
                self._keep({}, 0)
                self.attempt += 1
                self.divergences += fields["diverged"]
            case "failed":
                self.failed_after = fields["events"]
            case _:
                raise ValueError("a line of an unknown kind")

    def _ask(self, fields: Mapping[str, JSON]) -> None:
        key = (fields["caller"], fields["number"])
        earlier = self.calls.get((key[0], key[1] - 1))
        kept = earlier.prompt[: fields["same"]] if earlier is not None else ()
        call = LoggedCall(
            fields["attempt"],
            *key,
            fields["model"],
            fields["request"],
            fields["source"],
            fields["at"],
            fields["time"],
            fields["after"],
            (*kept, *decode_messages(fields["new"])),
        )
        self.asked.append(call)
        if not self.lost:
            self.calls[key] = call

    def _answer(self, fields: Mapping[str, JSON]) -> None:
        key = (fields["caller"], fields["number"])
        outcome = decode_outcome(fields["outcome"])
        waiting = (c for c in reversed(self.asked) if c.outcome is None and c.attempt == fields["attempt"])
        call = next((c for c in waiting if (c.caller, c.number) == key), None)
        if call is None:  # the line that asked it is damaged: it is charged all the same
            call = LoggedCall(
                fields["attempt"], *key, fields["model"], "", fields["source"], fields["at"], fields["time"]
            )
            self.asked.append(call)
        call.outcome, call.seconds = outcome, fields["seconds"]
        if self.lost:
            self.calls.pop(key, None)

    def _observe(self, fields: Mapping[str, JSON]) -> None:
        observation = decode_observation(fields["observation"])
        opening = None
        if fields["is"] == "opened":
            history = InteractionHistory(decode_messages(fields["history"]))
            opening = Opening(fields["goal"], observation, history)
        self.observations.append(LoggedObservation(fields["at"], observation, opening))

    def _keep(self, calls: Mapping[str, int], observations: int) -> None:
        self.calls = {key: call for key, call in self.calls.items() if key[1] < calls.get(key[0], 0)}
        del self.observations[observations:]
        self.failed_after = None
        self.lost = False


def read_log(path: Path) -> LogContent:
    """What a log says so far; a torn last line is none. Raises RunFolderError where it cannot be read."""
    content = LogContent()
    for line in lines_from(path):
        content.take(line)
    return content


def asked_line(call: LoggedCall, earlier: Sequence[Message], options: str) -> dict[str, JSON]:
    """A prompt as what it shares with the same caller's previous one, and what is new: O(T) in all."""
    same = shared_prefix(earlier, call.prompt)
    return {
        "is": "asked",
        "attempt": call.attempt,
        "caller": call.caller,
        "number": call.number,
        "model": call.model,
        "source": call.answered,
        "request": call.digest,
        "same": same,
        "new": encode_messages(call.prompt[same:]),
        "options": options,
        "after": call.after,
        "at": round(call.at, 3),
        "time": call.started,
    }


def answered_line(call: LoggedCall) -> dict[str, JSON]:
    """It says enough to be charged where the line that asked it is damaged."""
    assert call.outcome is not None
    return {
        "is": "answered",
        "attempt": call.attempt,
        "caller": call.caller,
        "number": call.number,
        "model": call.model,
        "source": call.answered,
        "outcome": encode_outcome(call.outcome),
        "seconds": round(call.seconds, 6),
        "at": round(call.at, 3),
        "time": call.started,
    }


def keep_line(calls: Mapping[str, int], observations: int, *, diverged: bool) -> dict[str, JSON]:
    """Of the attempt so far, so many calls of each caller and so many observations still count."""
    return {"is": "keep", "calls": dict(calls), "observations": observations, "diverged": diverged}


def observed_line(item: LoggedObservation) -> dict[str, JSON]:
    """An observation or an opening, raw: the recorded text is what re-execution is answered with."""
    line: dict[str, JSON] = {
        "is": "observed",
        "observation": encode_observation(item.observation),
        "at": round(item.at, 3),
    }
    if item.opening is not None:
        line |= {
            "is": "opened",
            "goal": item.opening.goal,
            "history": encode_messages(item.opening.history),
        }
    return line


def encode_messages(messages: Iterable[Message]) -> list[list[JSON]]:
    """Role and text of each, or role and parts."""
    return [[m.role, m.text if m.is_text else encode_parts(m.parts)] for m in messages]


def decode_messages(items: Iterable[Sequence[JSON]]) -> tuple[Message, ...]:
    """The inverse of `encode_messages`."""
    return tuple(
        Message(_ROLES[role], content if isinstance(content, str) else decode_parts(content))
        for role, content in items
    )


def shared_prefix(old: Sequence[Message], new: Sequence[Message]) -> int:
    """How many messages two prompts have in common at their beginning."""
    if tuple(new[: len(old)]) == tuple(old):  # the usual case, at the speed of tuples
        return len(old)
    for i, (a, b) in enumerate(zip(old, new, strict=False)):
        if a is not b and a != b:
            return i
    return min(len(old), len(new))


def encode_observation(observation: Observation) -> dict[str, JSON]:
    """Every field as JSON."""
    return {**vars(observation)}


def decode_observation(fields: Mapping[str, JSON]) -> Observation:
    """The inverse of `encode_observation`."""
    return Observation(**{**fields, "status": SessionStatus(fields["status"])})
