"""From a reply to a proposed state and an action, step by step; the state itself is never touched.

The order (it decides which failure is the first): parse, envelope, depth, size and keys, patch applied to a
copy, schema, guards, action grammar.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from perdure.core.types import JSON
from perdure.state.action import ActionGrammar
from perdure.state.changes import Change, diff, dropped_keys
from perdure.state.coerce import Coercer
from perdure.state.extract import ENVELOPE, REASONING, extract
from perdure.state.guards import Guards
from perdure.state.keys import check_keys
from perdure.state.merge import REPLACE, merge
from perdure.state.ops import Operations
from perdure.state.paths import Path, pointer
from perdure.state.schema import StateSchema
from perdure.state.taxonomy import FailureClass, PatchRejected

PatchMode: TypeAlias = Literal["merge", "ops", "rewrite"]


@dataclass(frozen=True)
class PatchLimits:
    """Sizes in characters of JSON text, and levels of nesting."""

    max_reply_chars: int = 2_000_000
    max_state_chars: int = 200_000
    max_depth: int = 32


@dataclass(frozen=True)
class Proposal:
    """A valid reply: what it would make of the state, and the action it asks for."""

    patch: JSON
    action: JSON
    state: dict[str, JSON]
    state_text: str
    """The state as compact JSON."""
    changes: tuple[Change, ...]
    coercions: tuple[str, ...] = ()
    tolerances: tuple[str, ...] = ()


@dataclass(frozen=True)
class PatchPipeline:
    """Validates replies for one schema."""

    schema: StateSchema
    grammar: ActionGrammar
    mode: PatchMode = "merge"
    guards: Guards = field(default_factory=Guards)
    limits: PatchLimits = field(default_factory=PatchLimits)
    reasoning: bool = False
    """An answer may hold thoughts under a key of their own; they are dropped."""

    def propose(self, state: Mapping[str, JSON], reply: str, observation: str) -> Proposal:
        """What a reply proposes. Raises PatchRejected at the first failure; `state` stays as it is."""
        limits = self.limits
        found = extract(reply, max_chars=limits.max_reply_chars, max_depth=limits.max_depth)
        patch, action = self._open(found.value)
        check_keys(patch)
        coercer = Coercer(self.schema, limits.max_depth)
        candidate, replaced = self._apply(state, patch, coercer)
        new = self.schema.complete(candidate)
        converted = [] if candidate == new else list(_converted_by_schema(candidate, new))
        text = compact(new)
        if len(text) > limits.max_state_chars:
            raise _malformed(
                "size", f"The state would have {len(text)} characters; {limits.max_state_chars} are allowed."
            )
        changes = diff(state, new)
        self.guards.check(
            state,
            new,
            changes,
            replaced=replaced,
            named_in=f"{observation}\n{_action_text(action)}",
            is_field=self.schema.is_field,
        )
        self.grammar.check(action)
        coercions = (*coercer.log, *converted)
        return Proposal(patch, action, new, text, tuple(changes), coercions, found.tolerances)

    def read_action(self, reply: str) -> JSON:
        """The action of a reply, whatever becomes of its patch; None where there is none to read."""
        try:
            found = extract(reply, max_chars=self.limits.max_reply_chars, max_depth=self.limits.max_depth)
            return self._open(found.value)[1]
        except PatchRejected:
            return None

    def _open(self, envelope: Mapping[str, JSON]) -> tuple[JSON, JSON]:
        """The two values of the envelope."""
        for key in ENVELOPE:
            if key not in envelope:
                raise _malformed("envelope", f'The answer lacks the key "{key}".')
        extra = sorted(set(envelope) - {*ENVELOPE, *([REASONING] if self.reasoning else [])})
        if extra:
            raise _malformed(
                "envelope",
                f'The answer has exactly the keys "state_patch" and "action", not {extra[0]!r:.80}.',
            )
        patch, action = envelope["state_patch"], envelope["action"]
        wanted, kind = (list, "a list of operations") if self.mode == "ops" else (dict, "an object")
        if not isinstance(patch, wanted):
            raise _malformed("envelope", f'"state_patch" must be {kind}.')
        self.grammar.check_shape(action)
        return patch, action

    def _apply(self, state: Mapping[str, JSON], patch: JSON, coercer: Coercer) -> tuple[JSON, set[Path]]:
        replaced: set[Path] = set()
        if self.mode == "ops":
            operations = Operations(state, self.schema, coercer)
            operations.apply(patch)
            return operations.state, operations.replaced
        if self.mode == "merge":
            converted = coercer.patch(patch)
            if REPLACE in converted:
                raise PatchRejected(
                    FailureClass.OVERWRITE,
                    "whole_state",
                    "The whole state cannot be replaced; patch its fields.",
                )
            return merge(state, converted, self.schema, replaced=replaced), replaced
        for key in state:
            if key not in patch and self.schema.undeletable((key,)):
                raise PatchRejected(
                    FailureClass.OVERWRITE, "undeletable", f"/{key} must stay: write the whole state."
                )
        return coercer.value(patch, ()), replaced


def _converted_by_schema(candidate: JSON, new: JSON) -> Iterator[str]:
    """What a pydantic model made of values that it accepted. Raises PatchRejected for keys it lost."""
    for path in dropped_keys(candidate, new):
        raise _malformed("unknown_key", f"{pointer(path)} would not be kept by the state's schema.")
    for change in diff(candidate, new):
        if change.before is not None:
            yield f"{pointer(change.path)}: {json.dumps(change.before)} -> {json.dumps(change.value)}"


def compact(value: JSON) -> str:
    """JSON without spaces, as it is shown to the model and as it is hashed."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _action_text(action: JSON) -> str:
    return action if isinstance(action, str) else json.dumps(action, ensure_ascii=False)


def _malformed(code: str, message: str) -> PatchRejected:
    return PatchRejected(FailureClass.SCHEMA, code, message)
