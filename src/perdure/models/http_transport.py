"""Posting JSON to a model server: bounded concurrency, retries, and what a failure means."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from json import loads
from threading import Event, Semaphore
from typing import TYPE_CHECKING, TypeVar

from perdure.core.errors import ModelError, ModelUnavailable
from perdure.core.types import JSON
from perdure.models.chat_dialect import EmptyReply, MalformedReply
from perdure.models.connections import Answer, Connections, ExchangeFailed, Unsendable
from perdure.models.key_mask import KeyMask
from perdure.models.parameter_checks import check_at_least
from perdure.models.provider_faults import ProviderFault, fault_within, one_line, read_fault
from perdure.models.retry import RetryPolicy, read_retry_after

if TYPE_CHECKING:
    import httpx

Read = TypeVar("Read")


class _Again(Exception):
    """A failure that asking again may cure, at most `retries` times where that is given.

    `outcome` is what the request comes to when it does not; without one, the server is unavailable.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry_after: float | None = None,
        retries: int | None = None,
        outcome: ModelError | None = None,
    ) -> None:
        super().__init__(one_line(reason))
        self.retry_after = retry_after
        self.retries = retries
        self.outcome = outcome


class HttpTransport:
    """One server, shared by threads; at most `max_concurrency` requests are under way at once.

    `transport` replaces the network (tests, recorded traffic); `proxies`: whether those that the environment
    names are used. `hint` is added to refusals of the caller. `key` is sent as a bearer token, and masked
    wherever the server echoes it.
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        timeout: float,
        max_concurrency: int,
        retry: RetryPolicy,
        key: str = "",
        hint: str = "",
        transport: httpx.BaseTransport | None = None,
        proxies: bool = True,
    ) -> None:
        check_at_least("timeout", timeout, 0.001)
        check_at_least("max_concurrency", max_concurrency, 1)
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        self._timeout = timeout
        self._retry = retry
        self._hint = hint
        self._mask = KeyMask(key)
        self._slots = Semaphore(max_concurrency)
        self._connections = Connections(
            {"Content-Type": "application/json", **bearer, **headers}, transport=transport, proxies=proxies
        )

    def post(
        self, url: str, content: bytes, read: Callable[[JSON], Read], stop: Event | None = None
    ) -> tuple[Read | ModelError, float]:
        """What `read` makes of the answer's JSON, or the model error that the server's refusal means; and the
        seconds that it took, the wait for a connection left out.

        `read` raises MalformedReply for JSON of the wrong shape, which is asked again like unreadable JSON,
        and EmptyReply for an answer without a reply: a model error when asking again does not help.
        `stop`, once set, ends pauses. Raises ModelUnavailable, with one line that names the address and the
        server's own message.
        """
        with self._slots:
            began = time.monotonic()
            return self._persist(url, content, read, stop), time.monotonic() - began

    def close(self) -> None:
        """Close every connection that is not in use. Idempotent."""
        self._connections.close()

    def _persist(
        self, url: str, content: bytes, read: Callable[[JSON], Read], stop: Event | None
    ) -> Read | ModelError:
        deadline = time.monotonic() + self._retry.max_wait_seconds
        attempt = 0
        while True:
            try:
                return self._attempt(url, content, read, deadline)
            except _Again as failure:
                pause = self._retry.pause(attempt, failure.retry_after)
                given_up = self._given_up(attempt, pause, failure, deadline)
                if given_up:
                    if failure.outcome is not None:
                        return failure.outcome
                    raise ModelUnavailable(f"{url} {given_up}; the last: {failure}") from failure
                if stop is not None and stop.wait(pause):
                    raise ModelUnavailable(
                        f"{url}: given up, because another request of the batch failed"
                    ) from failure
                if stop is None:
                    time.sleep(pause)
            attempt += 1

    def _given_up(self, attempt: int, pause: float, failure: _Again, deadline: float) -> str:
        """Why there is no further attempt; empty if there is one."""
        retries = self._retry.max_retries
        tries = f"gave no answer in {attempt + 1} attempt{'s' if attempt else ''}"
        if attempt >= (retries if failure.retries is None else min(retries, failure.retries)):
            return tries
        if time.monotonic() + pause >= deadline:
            return (
                f"{tries}, and {pause:.1f} s more would pass "
                f"max_wait_seconds = {self._retry.max_wait_seconds:g}"
            )
        return ""

    def _attempt(
        self, url: str, content: bytes, read: Callable[[JSON], Read], deadline: float
    ) -> Read | ModelError:
        seconds = max(0.001, min(self._timeout, deadline - time.monotonic()))
        try:
            answer = self._connections.post(url, content, seconds)
        except Unsendable as error:
            raise ModelUnavailable(f"{url} cannot be asked like this: {one_line(str(error))}") from error
        except ExchangeFailed as error:
            raise _Again(str(error)) from error
        if answer.status >= 300:
            return self._refusal(url, answer, self._fault(url, answer))
        body = self._mask.over_reply(answer.body)
        try:
            parsed = loads(body)
        except (ValueError, RecursionError) as error:
            shown = one_line(body[:200].decode("utf-8", "replace"))
            raise _Again(f"HTTP {answer.status} without JSON: {shown!r}") from error
        fault = fault_within(parsed)
        if fault is not None:
            return self._refusal(url, answer, fault)
        try:
            return read(parsed)
        except EmptyReply as error:
            raise _Again(str(error), outcome=ModelError(str(error))) from error
        except MalformedReply as error:
            raise _Again(f"HTTP {answer.status}: {error}") from error

    def _fault(self, url: str, answer: Answer) -> ProviderFault:
        if answer.status < 400:
            place = self._mask.over_error(answer.headers.get("location", "").encode()).decode()
            raise ModelUnavailable(f"{url} redirects to {one_line(place)!r}; set base_url to that place")
        return read_fault(answer.status, self._mask.over_error(answer.body))

    def _refusal(self, url: str, answer: Answer, fault: ProviderFault) -> ModelError:
        line = f"HTTP {fault.status}: {fault.message}"
        outcome = fault.as_model_error()
        if outcome is not None:
            return outcome
        if fault.refuses_the_prompt:
            # Twice, because some gateways answer so when the server behind them stumbles.
            raise _Again(line, retries=1, outcome=ModelError(f"the server refused the prompt: {line}"))
        if fault.is_passing:
            raise _Again(line, retry_after=read_retry_after(answer.headers.get("retry-after")))
        hint = f" ({self._hint})" if self._hint and fault.status in (401, 403) else ""
        raise ModelUnavailable(f"{url} answered {line}{hint}")
