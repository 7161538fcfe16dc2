"""Content addresses of requests: what the call log, replays and the response cache know them by."""

from __future__ import annotations

from functools import lru_cache
from json import JSONEncoder

from perdure.core.types import Draw, Request, Sampling, text_digest

_CANONICAL = JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def request_options(request: Request) -> str:
    """Everything of a request but its messages and its draw, as canonical JSON."""
    if request.schema is None and request.tools is None:
        return _plain_options(request.logprobs, request.sampling)
    return _options(request)


@lru_cache(maxsize=256)
def _plain_options(logprobs: int, sampling: Sampling) -> str:
    return _options(Request((), logprobs=logprobs, sampling=sampling))


def _options(request: Request) -> str:
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
    parts = [model, request_options(request), *[message.address for message in request.messages]]
    return text_digest("\0".join(parts))


def drawn_digest(question: str, draw: Draw) -> str:
    """Content address of one draw of a question, from the address of the question."""
    return text_digest("\0".join([question, str(draw.repeat), str(draw.turn), str(draw.draw)]))
