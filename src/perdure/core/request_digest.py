"""Content addresses of requests: what the call log, replays and the response cache know them by."""

from __future__ import annotations

from hashlib import blake2b
from json import JSONEncoder

from perdure.core.types import Draw, Request

_CANONICAL = JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def request_options(request: Request) -> str:
    """Everything of a request but its messages and its draw, as canonical JSON."""
    return _CANONICAL(
        {
            "schema": request.schema,
            "tools": list(request.tools) if request.tools is not None else None,
            "logprobs": request.logprobs,
            "sampling": vars(request.sampling),
        }
    )


def request_digest(request: Request, model: str = "") -> str:
    """Content address of a request to one model, 32 hex digits; O(messages), each text hashed once."""
    return drawn_digest(question_digest(request, model), request.draw)


def question_digest(request: Request, model: str) -> str:
    """Content address of what is asked, whichever draw it is."""
    parts = [model, request_options(request)]
    for message in request.messages:
        parts.append(message.role if message.is_text else f"{message.role} in parts")
        parts.append(message.digest)
    return _digest(*parts)


def drawn_digest(question: str, draw: Draw) -> str:
    """Content address of one draw of a question, from the address of the question."""
    return _digest(question, str(draw.repeat), str(draw.turn), str(draw.draw))


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
