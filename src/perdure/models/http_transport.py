"""Posting JSON to a model server: pooled connections, deadlines, retries, and what a failure means."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from json import loads
from threading import BoundedSemaphore, Event
from typing import TYPE_CHECKING, TypeVar

from perdure.core.errors import ModelError, ModelUnavailable
from perdure.core.types import JSON
from perdure.models.attempt_deadline import AttemptDeadline, enforce
from perdure.models.chat_dialect import MalformedReply
from perdure.models.parameter_checks import check_at_least
from perdure.models.provider_faults import ProviderFault, fault_within, one_line, read_fault
from perdure.models.retry import RetryPolicy, read_retry_after

if TYPE_CHECKING:
    import httpx

Read = TypeVar("Read")

_LARGEST_REPLY = 64 << 20
_CONNECT_SECONDS = 15.0


class _Passing(Exception):
    """A failure that asking again may cure."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


def _check_not_packed(status: int, headers: Mapping[str, str]) -> None:
    encoding = headers.get("content-encoding", "identity")
    if encoding.strip().lower() not in ("", "identity"):
        raise _Passing(f"HTTP {status} with a body packed as {one_line(encoding)!r}, which was not asked for")


class HttpTransport:
    """One server, shared by threads; at most `max_concurrency` requests are under way at once.

    `transport` replaces the network (tests, recorded traffic). `hint` is added to refusals of the caller.
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        timeout: float,
        max_concurrency: int,
        retry: RetryPolicy,
        hint: str = "",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        import httpx

        check_at_least("timeout", timeout, 0.001)
        check_at_least("max_concurrency", max_concurrency, 1)
        self._httpx = httpx
        self._timeout = timeout
        self._retry = retry
        self._hint = hint
        self._slots = BoundedSemaphore(max_concurrency)
        self._client = httpx.Client(
            headers={"Content-Type": "application/json", **headers},
            limits=httpx.Limits(max_connections=max_concurrency, max_keepalive_connections=max_concurrency),
            transport=transport,
        )
        # A few kilobytes, packed twice, unpack to more than the memory holds: nothing packed is asked for.
        self._client.headers["Accept-Encoding"] = "identity"
        self._deadline = AttemptDeadline()
        enforce(self._deadline, self._client)
        # Merging the client's defaults into every request would cost a fifth of a call.
        self._headers = self._client.headers.raw
        self._addresses: dict[str, httpx.URL] = {}

    def post(
        self, url: str, content: bytes, read: Callable[[JSON], Read], stop: Event | None = None
    ) -> Read | ModelError:
        """What `read` makes of the answer's JSON, or the model error that the server's refusal means.

        `read` raises MalformedReply for JSON of the wrong shape; that is asked again like unreadable JSON.
        `stop`, once set, ends pauses. Raises ModelUnavailable, with one line that names the address and the
        server's own message.
        """
        with self._slots:
            deadline = time.monotonic() + self._retry.max_wait_seconds
            attempt = 0
            while True:
                try:
                    status, headers, body = self._attempt(url, content, deadline)
                    return self._outcome(url, status, headers, body, read)
                except _Passing as failure:
                    self._pause(url, attempt, failure, deadline, stop or Event())
                attempt += 1

    def close(self) -> None:
        """Close every connection. Idempotent."""
        self._client.close()

    def _attempt(self, url: str, content: bytes, deadline: float) -> tuple[int, Mapping[str, str], bytes]:
        """One exchange, read under a deadline of its own: a server that drips bytes cannot hold it open."""
        httpx = self._httpx
        seconds = max(0.001, min(self._timeout, deadline - time.monotonic()))
        self._deadline.ends = ends = time.monotonic() + seconds
        try:
            with closing(self._client.send(self._request(url, content, seconds), stream=True)) as response:
                _check_not_packed(response.status_code, response.headers)
                chunks, size = [], 0
                for chunk in response.iter_bytes():
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > _LARGEST_REPLY:
                        raise _Passing(f"the reply is larger than {_LARGEST_REPLY >> 20} MiB")
                    if time.monotonic() > ends:
                        raise _Passing(f"no complete reply within {seconds:g} s")
                return response.status_code, response.headers, b"".join(chunks)
        except httpx.LocalProtocolError as error:
            raise ModelUnavailable(f"{url} cannot be asked like this: {error}") from error
        except httpx.TimeoutException as error:
            raise _Passing(f"no reply within {seconds:g} s ({type(error).__name__})") from error
        except httpx.RequestError as error:
            raise _Passing(f"{type(error).__name__}: {error}") from error

    def _request(self, url: str, content: bytes, seconds: float) -> httpx.Request:
        if url not in self._addresses:
            self._addresses[url] = self._httpx.URL(url)
        timeout = dict.fromkeys(("read", "write", "pool"), seconds)
        timeout["connect"] = min(seconds, _CONNECT_SECONDS)
        return self._httpx.Request(
            "POST",
            self._addresses[url],
            headers=self._headers,
            content=content,
            extensions={"timeout": timeout},
        )

    def _outcome(
        self,
        url: str,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        read: Callable[[JSON], Read],
    ) -> Read | ModelError:
        if 300 <= status < 400:
            raise ModelUnavailable(
                f"{url} redirects to {headers.get('location')!r}; set base_url to that place"
            )
        if status >= 400:
            return self._refusal(url, read_fault(status, body), headers)
        try:
            parsed = loads(body)
        except (ValueError, RecursionError) as error:
            shown = one_line(body[:200].decode("utf-8", "replace"))
            raise _Passing(f"HTTP {status} without JSON: {shown!r}") from error
        fault = fault_within(parsed)
        if fault is not None:
            return self._refusal(url, fault, headers)
        try:
            return read(parsed)
        except MalformedReply as error:
            raise _Passing(f"HTTP {status}: {error}") from error

    def _refusal(self, url: str, fault: ProviderFault, headers: Mapping[str, str]) -> ModelError:
        model_error = fault.as_model_error()
        if model_error is not None:
            return model_error
        line = f"HTTP {fault.status}: {fault.message}"
        if fault.is_passing:
            raise _Passing(line, read_retry_after(headers.get("retry-after")))
        hint = f" ({self._hint})" if self._hint and fault.status in (401, 403) else ""
        raise ModelUnavailable(f"{url} answered {line}{hint}")

    def _pause(self, url: str, attempt: int, failure: _Passing, deadline: float, stop: Event) -> None:
        """Wait before the next attempt, or give up."""
        pause = self._retry.pause(attempt, failure.retry_after)
        tries = f"{attempt + 1} attempt{'s' if attempt else ''}"
        if attempt >= self._retry.max_retries:
            raise ModelUnavailable(f"{url} gave no answer in {tries}; the last: {failure}") from failure
        if time.monotonic() + pause >= deadline:
            raise ModelUnavailable(
                f"{url} gave no answer in {tries}, and {pause:.1f} s more would pass "
                f"max_wait_seconds = {self._retry.max_wait_seconds:g}; the last: {failure}"
            ) from failure
        if stop.wait(pause):
            raise ModelUnavailable(f"{url}: given up, because another request of the batch failed")
