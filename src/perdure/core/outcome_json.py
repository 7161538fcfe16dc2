"""What became of a request, as JSON and back: for logs, records and caches."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.core.errors import ModelError
from perdure.core.model import Outcome
from perdure.core.parts import decode_parts, encode_parts
from perdure.core.types import JSON, Completion, SessionStatus
from perdure.core.usage import TokenLogprob, Usage


def encode_outcome(outcome: Outcome) -> dict[str, JSON]:
    """A completion or an error: `text` where a reply is one text, else `parts`."""
    if isinstance(outcome, ModelError):
        return {"error": str(outcome), "status": outcome.status}
    usage = outcome.usage
    fields: dict[str, JSON] = {
        "finish": outcome.finish_reason,
        "usage": [
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
        ],
    }
    if outcome.is_text:
        fields["text"] = outcome.text
    else:
        fields["parts"] = encode_parts(outcome.parts)
    if outcome.logprobs:
        fields["logprobs"] = [[t.token, t.logprob, dict(t.alternatives)] for t in outcome.logprobs]
    return fields


def decode_outcome(fields: Mapping[str, JSON]) -> Outcome:
    """The inverse of `encode_outcome`. Raises KeyError, TypeError or ValueError for anything else."""
    if "error" in fields:
        return ModelError(fields["error"], SessionStatus(fields["status"]))
    return Completion(
        fields["text"] if "text" in fields else decode_parts(fields["parts"]),
        fields["finish"],
        Usage(*fields.get("usage", ())),
        tuple(TokenLogprob(*item) for item in fields.get("logprobs", ())),
    )
