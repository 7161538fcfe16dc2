"""How a finished session becomes one line of `sessions.jsonl`, and back. Texts are addresses of blobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, get_args

from perdure.core.errors import ModelError
from perdure.core.model import CallCharge, Outcome, request_options
from perdure.core.session import Interaction, PastSession, Session, SessionRecord
from perdure.core.types import JSON, EvaluationOutcome, Message, Observation, Role, SessionStatus
from perdure.storage.journal import CallEvent, decode_outcome, encode_outcome

SCHEMA_VERSION = 1

Put = Callable[[str, str | None], str]
Get = Callable[[str], str]


@dataclass(frozen=True)
class RecordedCall:
    """One model call of a finished session, with its exact prompt."""

    caller: str
    model: str
    digest: str
    messages: tuple[Message, ...]
    options: str
    """Schema, tools, sampling: canonical JSON."""
    outcome: Outcome


def encode_session(
    session: Session, calls: Iterable[CallEvent], deltas: Mapping[str, JSON], put: Put
) -> dict[str, JSON]:
    """The committed record: deterministic, without clock times or token counts (those go to the ledger)."""
    result = session.record()
    return {
        "v": SCHEMA_VERSION,
        "index": session.index,
        "task": result.task_id,
        "sample": result.sample,
        "status": result.status,
        "outcome": result.outcome,
        "reward": result.reward,
        "detail": dict(result.detail),
        "finish_reason": result.finish_reason,
        "turns": result.turns,
        "goal": put(session.goal, None),
        "experience": [put(text, None) for text in session.experience],
        "history": _encode_messages(session.history, put),
        "interactions": [_encode_interaction(item, put) for item in session.interactions],
        "calls": list(_encode_calls(calls, put)),
        "trace": session.trace,
        "callbacks": dict(deltas),
    }


_Kind: TypeAlias = type | tuple[type, ...]
_SESSION: Mapping[str, _Kind] = {
    "index": int,
    "task": str,
    "sample": int,
    "status": str,
    "outcome": str,
    "reward": (int, float),
    "detail": dict,
    "finish_reason": str,
    "turns": int,
    "goal": str,
    "experience": list,
    "history": list,
    "interactions": list,
    "calls": list,
    "trace": object,
    "callbacks": dict,
}
_LEDGER: Mapping[str, _Kind] = {
    "index": int,
    "seconds": (int, float),
    "restarts": int,
    "divergences": int,
    "calls": list,
}
_INTERACTION: Mapping[str, _Kind] = {
    "accepted": bool,
    "done": bool,
    "reason": str,
    "reward": (int, float),
}
_CHARGE: tuple[_Kind, ...] = (str, str, str, int, int, int, int, (int, float))


def check_session(record: Mapping[str, JSON]) -> None:
    """Raise ValueError for a line of `sessions.jsonl` that lacks a key or holds a value of another type."""
    _check(record, _SESSION)


def check_ledger(line: Mapping[str, JSON]) -> None:
    """Raise ValueError for a line of `ledger.jsonl` that lacks a key or holds a value of another type."""
    _check(line, _LEDGER)
    for row in line["calls"]:
        if not (isinstance(row, list) and len(row) == len(_CHARGE)):
            raise ValueError(f"a row of 'calls' is {row!r:.80}")
        if not all(isinstance(value, kind) for value, kind in zip(row, _CHARGE, strict=True)):
            raise ValueError(f"a row of 'calls' is {row!r:.80}")


def _check(fields: Mapping[str, JSON], kinds: Mapping[str, _Kind]) -> None:
    for key, kind in kinds.items():
        if key not in fields:
            raise ValueError(f"it has no key {key!r}")
        if not isinstance(fields[key], kind):
            raise ValueError(f"{key!r} cannot be {fields[key]!r:.80}")


def decode_slim(record: Mapping[str, JSON]) -> SessionRecord:
    """What metrics see: no text is read."""
    return SessionRecord(
        task_id=record["task"],
        sample=record["sample"],
        status=SessionStatus(record["status"]),
        outcome=EvaluationOutcome(record["outcome"]),
        reward=record["reward"],
        detail=record["detail"],
        finish_reason=record["finish_reason"],
        interactions=len(record["interactions"]),
        turns=record["turns"],
    )


def decode_past(record: Mapping[str, JSON], get: Get) -> PastSession:
    """A finished session with its texts."""
    return PastSession(
        record=decode_slim(record),
        goal=get(record["goal"]),
        history=_decode_messages(record["history"], get),
        interactions=tuple(_decode_interaction(item, get) for item in record["interactions"]),
        experience=tuple(get(digest) for digest in record["experience"]),
        trace=record["trace"],
    )


def decode_calls(
    record: Mapping[str, JSON], get: Get, charges: Sequence[Sequence[JSON]] = ()
) -> Iterator[RecordedCall]:
    """Every model call of a session, in order, with the exact prompts.

    `charges` are the session's ledger rows; they give each completion its usage. A task that started again
    has rows of calls that it did not keep: then usage stays 0.
    """
    previous: dict[str, tuple[Message, ...]] = {}
    asked = [(call["caller"], call["model"]) for call in record["calls"]]
    aligned = [(row[0], row[1]) for row in charges] == asked
    for number, call in enumerate(record["calls"]):
        kept = previous.get(call["caller"], ())[: call["same"]]
        messages = (*kept, *_decode_messages(call["new"], get))
        previous[call["caller"]] = messages
        outcome = dict(call["outcome"])
        if "text" in outcome:
            outcome["text"] = get(outcome["text"])
            outcome["usage"] = list(charges[number][3:7]) if aligned else []
        yield RecordedCall(
            call["caller"],
            call["model"],
            call["request"],
            messages,
            get(call["options"]),
            decode_outcome(outcome),
        )


def encode_ledger(
    session: Session, charges: Iterable[CallCharge], *, seconds: float, restarts: int, divergences: int
) -> dict[str, JSON]:
    """Tokens and seconds of one task: what differs between two runs of the same thing."""
    return {
        "v": SCHEMA_VERSION,
        "index": session.index,
        "task": session.task_id,
        "sample": session.sample,
        "seconds": round(seconds, 4),
        "restarts": restarts,
        "divergences": divergences,
        "calls": [
            [
                charge.caller,
                charge.model,
                charge.source,
                charge.usage.prompt_tokens,
                charge.usage.completion_tokens,
                charge.usage.cached_tokens,
                charge.usage.reasoning_tokens,
                round(charge.seconds, 4),
            ]
            for charge in charges
        ],
    }


def _encode_messages(messages: Iterable[Message], put: Put) -> list[list[str]]:
    return [[message.role, put(message.text, message.digest)] for message in messages]


def _decode_messages(items: Iterable[list[str]], get: Get) -> tuple[Message, ...]:
    roles: dict[str, Role] = {role: role for role in get_args(Role)}
    return tuple(Message(roles[role], get(digest)) for role, digest in items)


def _encode_interaction(item: Interaction, put: Put) -> dict[str, JSON]:
    observation = item.observation
    return {
        "action": put(item.action, None),
        "observation": put(observation.text, None),
        "accepted": observation.accepted,
        "done": observation.done,
        "status": observation.status,
        "reason": observation.reason,
        "reward": observation.reward,
    }


def _decode_interaction(item: Mapping[str, JSON], get: Get) -> Interaction:
    _check(item, _INTERACTION)
    return Interaction(
        get(item["action"]),
        Observation(
            text=get(item["observation"]),
            accepted=item["accepted"],
            done=item["done"],
            status=SessionStatus(item["status"]),
            reason=item["reason"],
            reward=item["reward"],
        ),
    )


def _encode_calls(calls: Iterable[CallEvent], put: Put) -> Iterator[dict[str, JSON]]:
    """Each prompt as what it shares with the same caller's previous one, and what is new: O(T) in all."""
    previous: dict[str, tuple[Message, ...]] = {}
    for call in calls:
        if call.request is None:
            raise ValueError(f"a call of {call.caller!r} was committed without its request")
        messages = call.request.messages
        same = _shared_prefix(previous.get(call.caller, ()), messages)
        previous[call.caller] = messages
        outcome = encode_outcome(call.outcome)
        outcome.pop("usage", None)
        if not isinstance(call.outcome, ModelError):
            outcome["text"] = put(call.outcome.text, None)
        yield {
            "caller": call.caller,
            "model": call.model,
            "request": call.digest,
            "same": same,
            "new": _encode_messages(messages[same:], put),
            "options": put(request_options(call.request), None),
            "outcome": outcome,
        }


def _shared_prefix(old: tuple[Message, ...], new: tuple[Message, ...]) -> int:
    for i, (a, b) in enumerate(zip(old, new, strict=False)):
        if a is not b and a != b:
            return i
    return min(len(old), len(new))
