"""Any SPARQL endpoint over HTTP: the SPARQL 1.1 protocol, results as JSON; Virtuoso included."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Set

import httpx

from perdure.core.errors import EnvironmentUnavailable
from perdure.core.types import JSON
from perdure.environments.knowledge_graph.names import Names, literal_text
from perdure.environments.knowledge_graph.programs import Program
from perdure.environments.knowledge_graph.queries import (
    PREDICATES,
    Dialect,
    relations_query,
    values_query,
)
from perdure.environments.knowledge_graph.triple_store import QueryRefused, TripleStore

_LARGEST_ANSWER = 256_000_000
"""Bytes of one result."""
_GRACE_SECONDS = 5.0
"""How much longer than the server's own limit the client waits."""
_GONE = frozenset({401, 403, 404, 405, 502, 503})
"""Statuses that say something of the endpoint, not of the query."""


class SparqlStore(TripleStore):
    """A graph behind an endpoint. `timeout_seconds` bounds one query; a Virtuoso server is told it too."""

    def __init__(
        self,
        endpoint: str,
        *,
        dialect: Dialect = "standard",
        names: Names | None = None,
        timeout_seconds: float = 30.0,
    ) -> None:
        self.endpoint = endpoint
        self._dialect: Dialect = dialect
        self._names = names or Names()
        self._timeout = timeout_seconds
        self._client = httpx.Client(
            timeout=timeout_seconds + _GRACE_SECONDS,
            headers={"Accept": "application/sparql-results+json"},
        )
        self._kept: dict[str, list[dict[str, JSON]]] = {}

    def relations(self, program: Program, without: Set[str] = frozenset()) -> set[str]:
        """One query."""
        return self._column(relations_query(program, self._names, without))

    def values(self, program: Program, without: Set[str] = frozenset()) -> set[str]:
        """One query."""
        return self._column(values_query(program, self._names, without, self._dialect))

    def predicates(self) -> Iterable[tuple[str, str]]:
        """One query over the whole graph: for large graphs give an ontology instead."""
        for row in self._rows(PREDICATES):
            yield self._text(row["p"]), str(row["kind"]["value"])

    def forget(self) -> None:
        """Drop the answers kept for the open task."""
        self._kept.clear()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _column(self, query: str) -> set[str]:
        return {self._text(term) for row in self._rows(query) for term in row.values()}

    def _rows(self, query: str) -> list[dict[str, JSON]]:
        if query not in self._kept:
            self._kept[query] = list(self._ask(query))
        return self._kept[query]

    def _ask(self, query: str) -> Iterator[dict[str, JSON]]:
        form = {"query": query}
        if self._dialect == "virtuoso":
            form["timeout"] = str(round(self._timeout * 1000))
        try:
            body = self._answer(form)
        except httpx.TimeoutException as error:
            self._check_alive(error)
            raise QueryRefused("the query took too long") from error
        except httpx.HTTPError as error:
            raise self._unavailable(error) from error
        try:
            rows: list[dict[str, JSON]] = json.loads(body)["results"]["bindings"]
        except (ValueError, KeyError, TypeError) as error:
            raise self._unavailable(error) from error
        yield from rows

    def _answer(self, form: Mapping[str, str]) -> bytes:
        """Asked once more where the connection broke: servers close those that were idle for long."""
        try:
            return self._post(form)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            return self._post(form)

    def _post(self, form: Mapping[str, str]) -> bytes:
        with self._client.stream("POST", self.endpoint, data=form) as response:
            return self._checked_body(response)

    def _checked_body(self, response: httpx.Response) -> bytes:
        if response.status_code in _GONE:
            raise self._unavailable(f"status {response.status_code}")
        chunks, received = [], 0
        deadline = time.monotonic() + self._timeout + _GRACE_SECONDS
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            received += len(chunk)
            if received > _LARGEST_ANSWER:
                raise QueryRefused("the answer is too large")
            if time.monotonic() > deadline:
                raise QueryRefused("the answer took too long")
        body = b"".join(chunks)
        if response.status_code != 200:
            reason = body[:200].decode("utf-8", "replace").partition("\n")[0]
            raise QueryRefused(f"the endpoint refused the query: {reason}")
        _check_complete(response.headers)
        return body

    def _check_alive(self, cause: object) -> None:
        """A query that times out on a living endpoint is that query's matter."""
        try:
            self._client.post(self.endpoint, data={"query": "ASK {}"}, timeout=_GRACE_SECONDS)
        except httpx.HTTPError:
            raise self._unavailable(cause) from None

    def _unavailable(self, cause: object) -> EnvironmentUnavailable:
        told = f"{type(cause).__name__}: {cause}" if isinstance(cause, Exception) else cause
        return EnvironmentUnavailable(f"the SPARQL endpoint {self.endpoint} cannot be used: {told}")

    def _text(self, term: Mapping[str, str]) -> str:
        if term["type"] == "uri":
            return self._names.identifier(term["value"])
        return f"_:{term['value']}" if term["type"] == "bnode" else literal_text(term["value"])


def _check_complete(headers: Mapping[str, str]) -> None:
    """Virtuoso answers with what it has when its time is up, and says so in a header."""
    if headers.get("x-sql-state") == "S1TAT":
        raise QueryRefused("the query took too long")
    if "x-sparql-maxrows" in headers:
        raise QueryRefused(f"the endpoint cuts answers at {headers['x-sparql-maxrows']} rows")
