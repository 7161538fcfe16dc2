"""How a finished session becomes one line of `sessions.jsonl`, and back. Texts are addresses of blobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from json import dumps, loads
from typing import TypeAlias, get_args

from perdure.core.charges import Call
from perdure.core.model import Outcome
from perdure.core.outcome_json import decode_outcome, encode_outcome
from perdure.core.parts import decode_parts
from perdure.core.recording import FinishedTask
from perdure.core.request_digest import request_options
from perdure.core.session import Interaction, PastSession, SessionRecord, state_updates_of
from perdure.core.types import JSON, Draw, EvaluationOutcome, Message, Observation, Role, SessionStatus
from perdure.storage.call_lines import shared_prefix
from perdure.storage.ledger import LedgerRow

SCHEMA_VERSION = 2

Put = Callable[[str, str | None], str]
Get = Callable[[str], str]


@dataclass(frozen=True)
class RecordedCall:
    """One model call of a finished session, with its exact prompt."""

    caller: str
    number: int
    """Which of its caller's calls of this session, from 0."""
    model: str
    digest: str
    messages: tuple[Message, ...]
    options: str
    """Schema, tools, sampling: canonical JSON."""
    outcome: Outcome
    draw: Draw = Draw()  # noqa: RUF009 - frozen


def encode_session(task: FinishedTask, put: Put) -> dict[str, JSON]:
    """The committed record: deterministic, without clock times or token counts (those go to the ledger)."""
    session = task.session
    result = session.record()
    record: dict[str, JSON] = {
        "v": SCHEMA_VERSION,
        "index": session.index,
        "task": result.task_id,
        "repeat": result.repeat,
        "clock": result.clock.isoformat(),
        "status": result.status,
        "outcome": result.outcome,
        "reward": result.reward,
        "detail": dict(result.detail),
        "finish_reason": result.finish_reason,
        "turns": result.turns,
        "malformed": result.malformed,
        "fallbacks": result.fallbacks,
        "cut": result.cut,
        "tolerated": result.tolerated,
        "notes": [[after, put(text, None)] for after, text in session.notes],
        "goal": put(session.goal, None),
        "experience": [put(text, None) for text in session.experience],
        "history": _encode_messages(session.history, put),
        "interactions": [_encode_interaction(item, put) for item in session.interactions],
        "calls": list(_encode_calls(task.calls, put)),
        "trace": session.trace,
        "callbacks": dict(task.deltas),
    }
    if task.history_items is not None:
        record["history_items"] = _encode_messages(task.history_items, put)
    return record


_Kind: TypeAlias = type | tuple[type, ...]
_SESSION: Mapping[str, _Kind] = {
    "index": int,
    "task": str,
    "repeat": int,
    "clock": str,
    "status": str,
    "outcome": str,
    "reward": (int, float),
    "detail": dict,
    "finish_reason": str,
    "turns": int,
    "malformed": int,
    "fallbacks": int,
    "cut": int,
    "tolerated": int,
    "notes": list,
    "goal": str,
    "experience": list,
    "history": list,
    "interactions": list,
    "calls": list,
    "trace": object,
    "callbacks": dict,
    "blobs": int,
}
_INTERACTION: Mapping[str, _Kind] = {
    "accepted": bool,
    "done": bool,
    "reason": str,
    "reward": (int, float),
}


def check_session(record: Mapping[str, JSON]) -> None:
    """Raise ValueError for a line of `sessions.jsonl` that lacks a key or holds a value of another type."""
    _check(record, _SESSION)


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
        repeat=record["repeat"],
        clock=datetime.fromisoformat(record["clock"]),
        status=SessionStatus(record["status"]),
        outcome=EvaluationOutcome(record["outcome"]),
        reward=record["reward"],
        detail=record["detail"],
        finish_reason=record["finish_reason"],
        interactions=len(record["interactions"]),
        turns=record["turns"],
        malformed=record["malformed"],
        fallbacks=record["fallbacks"],
        cut=record["cut"],
        tolerated=record["tolerated"],
        state_updates=state_updates_of(record["trace"]),
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
    record: Mapping[str, JSON], get: Get, charges: Iterable[LedgerRow] = ()
) -> Iterator[RecordedCall]:
    """Every model call of a session, in order, with the exact prompts.

    `charges` are the rows of the ledger that count; they give each completion its usage. It stays 0 for a
    call whose row is lost.
    """
    previous: dict[str, tuple[Message, ...]] = {}
    numbers: Counter[str] = Counter()
    rows = {(row.caller, row.number): row for row in charges}
    for call in record["calls"]:
        caller = call["caller"]
        kept = previous.get(caller, ())[: call["same"]]
        messages = (*kept, *_decode_messages(call["new"], get))
        previous[caller] = messages
        outcome = dict(call["outcome"])
        if "error" not in outcome:
            if "parts" in outcome:
                outcome["parts"] = loads(get(outcome["parts"]))
            else:
                outcome["text"] = get(outcome["text"])
            row = rows.get((caller, numbers[caller]))
            usage = [row.prompt, row.completion, row.cached, row.reasoning] if row is not None else []
            outcome["usage"] = usage
        yield RecordedCall(
            caller,
            numbers[caller],
            call["model"],
            call["request"],
            messages,
            get(call["options"]),
            decode_outcome(outcome),
            Draw(*call["draw"]),
        )
        numbers[caller] += 1


def decode_history_items(record: Mapping[str, JSON], get: Get) -> tuple[Message, ...] | None:
    """What the history factory holds after this session; None where it was not edited in it."""
    items = record.get("history_items")
    return None if items is None else _decode_messages(items, get)


def _encode_messages(messages: Iterable[Message], put: Put) -> list[list[str]]:
    """Role and address of each; a third word says that what stands there are parts in JSON."""
    return [
        [message.role, put(message.content, message.digest), *(() if message.is_text else ("parts",))]
        for message in messages
    ]


def _decode_messages(items: Iterable[list[str]], get: Get) -> tuple[Message, ...]:
    roles: dict[str, Role] = {role: role for role in get_args(Role)}
    return tuple(
        Message(roles[role], decode_parts(loads(get(digest))) if parts else get(digest))
        for role, digest, *parts in items
    )


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


def _encode_calls(calls: Iterable[Call], put: Put) -> Iterator[dict[str, JSON]]:
    """Each prompt as what it shares with the same caller's previous one, and what is new: O(T) in all."""
    previous: dict[str, tuple[Message, ...]] = {}
    for call in calls:
        messages, draw = call.request.messages, call.request.draw
        same = shared_prefix(previous.get(call.caller, ()), messages)
        previous[call.caller] = messages
        outcome, draw = encode_outcome(call.outcome), call.request.draw
        outcome.pop("usage", None)
        if "parts" in outcome:
            outcome["parts"] = put(dumps(outcome["parts"], separators=(",", ":")), None)
        elif "text" in outcome:
            outcome["text"] = put(outcome["text"], None)
        yield {
            "caller": call.caller,
            "model": call.model,
            "request": call.digest,
            "same": same,
            "new": _encode_messages(messages[same:], put),
            "options": put(request_options(call.request), None),
            "draw": [draw.repeat, draw.turn, draw.draw],
            "outcome": outcome,
        }
