from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Literal
from urllib.parse import parse_qs

import pytest

from perdure.core.errors import ConfigError, EnvironmentUnavailable
from perdure.core.types import Trial
from perdure.environments.knowledge_graph.environment import KnowledgeGraphEnvironment
from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore
from perdure.environments.knowledge_graph.programs import (
    Count,
    Superlative,
    entities_of,
    parse_program,
)
from perdure.environments.knowledge_graph.sparql_store import SparqlStore
from perdure.environments.knowledge_graph.tasks import load_tasks
from perdure.environments.knowledge_graph.triple_store import QueryRefused
from perdure.environments.knowledge_graph.world import SHIPPED_GRAPH, SHIPPED_ONTOLOGY, SHIPPED_TASKS
from tests.environments.knowledge_graph.virtuoso_server import free_port

PROGRAM = parse_program("(JOIN (R a.b.c) m.0)")
EMPTY = b'{"head": {}, "results": {"bindings": []}}'
Reply = tuple[int, dict[str, str], bytes]


class QuietServer(ThreadingHTTPServer):
    """Clients that give up, and replies that break a connection, are part of these tests."""

    def handle_error(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def endpoint(reply: Callable[[dict[str, list[str]]], Reply]) -> Iterator[str]:
    """A server that answers each form as told."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            status, headers, body = reply(form)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = QuietServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/sparql"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(url: str, **options: Any) -> set[str]:
    """What a store that is closed afterwards answers to the program."""
    with closing(SparqlStore(url, **options)) as store:
        return store.values(PROGRAM)


@contextmanager
def environment_at(url: str, **options: Any) -> Iterator[KnowledgeGraphEnvironment]:
    """An environment behind an endpoint, released afterwards."""
    environment = KnowledgeGraphEnvironment(store="sparql", endpoint=url, **options)
    try:
        yield environment
    finally:
        environment.release()


@pytest.mark.parametrize("dialect", ["standard", "virtuoso"])
def test_a_real_endpoint_agrees_with_the_embedded_store(
    virtuoso_endpoint: str, dialect: Literal["standard", "virtuoso"]
) -> None:
    embedded, remote = OxigraphStore(SHIPPED_GRAPH), SparqlStore(virtuoso_endpoint, dialect=dialect)
    for task in load_tasks(SHIPPED_TASKS).values():
        program = parse_program(task.s_expression)
        without = entities_of(program)
        assert remote.values(program, without) == task.answers == embedded.values(program, without), task.id
        members = program.inner if isinstance(program, Count | Superlative) else program
        assert remote.relations(members, without) == embedded.relations(members, without), task.id
    assert set(embedded.predicates()) <= set(remote.predicates())
    remote.close()


def test_tasks_are_played_against_a_real_endpoint(virtuoso_endpoint: str) -> None:
    embedded = KnowledgeGraphEnvironment()
    options = {"endpoint_kind": "virtuoso", "ontology": SHIPPED_ONTOLOGY}
    with environment_at(virtuoso_endpoint, **options) as environment:
        for task in list(load_tasks(SHIPPED_TASKS).values())[::6]:
            made = sum(not action.startswith(("get_relations", "get_attributes")) for action in task.actions)
            replies = [*(f"Action: {action}" for action in task.actions), f"Final Answer: #{made - 1}"]
            environment.reset(Trial(task.id))
            embedded.reset(Trial(task.id))
            for reply in replies:
                assert environment.interact(reply) == embedded.interact(reply)
            assert environment.complete() == embedded.complete()


def test_a_query_that_a_real_endpoint_refuses_is_that_query_s_matter(virtuoso_endpoint: str) -> None:
    with closing(SparqlStore(virtuoso_endpoint)) as store:
        with pytest.raises(QueryRefused, match="refused the query"):
            list(store._ask("SELECT nonsense"))
        assert store.values(parse_program("(JOIN (R no.such.relation) m.0)")) == set()


def test_a_dead_endpoint_is_an_unavailable_environment() -> None:
    url = f"http://127.0.0.1:{free_port()}/sparql"
    with environment_at(url, ontology=SHIPPED_ONTOLOGY) as environment:
        environment.reset(Trial("0"))
        with pytest.raises(EnvironmentUnavailable, match="cannot be used"):
            environment.interact("Action: get_relations(m.0abc)")


def test_an_endpoint_without_an_ontology_is_asked_for_its_predicates() -> None:
    url = f"http://127.0.0.1:{free_port()}/sparql"
    with environment_at(url) as environment, pytest.raises(EnvironmentUnavailable):
        environment.reset(Trial("0"))


def test_predicates_that_cannot_be_listed_call_for_an_ontology() -> None:
    reply: Reply = (500, {}, b"Virtuoso 42000 Error: too much\nmore")
    told = r"environment.ontology: needed.*42000 Error: too much"
    with (
        endpoint(lambda _: reply) as url,
        environment_at(url) as environment,
        pytest.raises(ConfigError, match=told),
    ):
        environment.reset(Trial("0"))


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ((404, {}, b"not here"), EnvironmentUnavailable),
        ((401, {}, b"who are you"), EnvironmentUnavailable),
        ((503, {}, b"later"), EnvironmentUnavailable),
        ((200, {}, b"<html>hello</html>"), EnvironmentUnavailable),
        ((200, {}, b'{"boolean": true}'), EnvironmentUnavailable),
        ((400, {}, b"a parse error"), QueryRefused),
        ((500, {}, b"an estimate"), QueryRefused),
        ((200, {"X-SQL-State": "S1TAT"}, EMPTY), QueryRefused),
        ((200, {"X-SPARQL-MaxRows": "10000"}, EMPTY), QueryRefused),
    ],
)
def test_what_an_endpoint_may_answer(reply: Reply, error: type[Exception]) -> None:
    with endpoint(lambda _: reply) as url, pytest.raises(error):
        ask(url)


def test_a_query_that_takes_too_long_on_a_living_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = Event()

    def slow(form: dict[str, list[str]]) -> Reply:
        if "ASK" not in form["query"][0]:
            given_up.wait(20)
        return 200, {}, EMPTY

    monkeypatch.setattr("perdure.environments.knowledge_graph.sparql_store._GRACE_SECONDS", 0.3)
    with endpoint(slow) as url:
        with pytest.raises(QueryRefused, match="too long"):
            ask(url, timeout_seconds=0.1)
        given_up.set()


def test_an_answer_that_trickles_in_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.environments.knowledge_graph.sparql_store._GRACE_SECONDS", -9.0)
    with (
        endpoint(lambda _: (200, {}, EMPTY)) as url,
        closing(SparqlStore(url, timeout_seconds=1.0)) as store,
    ):
        store._client.timeout = 10
        with pytest.raises(QueryRefused, match="answer took too long"):
            store.values(PROGRAM)


def test_a_broken_connection_is_tried_once_more() -> None:
    breaks = iter([True, False, True, True])

    def reply(form: dict[str, list[str]]) -> Reply:
        if next(breaks):
            raise ConnectionAbortedError
        return 200, {}, EMPTY

    with endpoint(reply) as url:
        assert ask(url) == set()
        with pytest.raises(EnvironmentUnavailable):
            ask(url)


def test_only_virtuoso_is_told_its_time_limit_and_answers_are_kept_within_a_task() -> None:
    forms = []

    def note(form: dict[str, list[str]]) -> Reply:
        forms.append(form)
        return 200, {}, EMPTY

    with endpoint(note) as url:
        ask(url)
        with closing(SparqlStore(url, dialect="virtuoso", timeout_seconds=2.5)) as told:
            told.values(PROGRAM)
            told.values(PROGRAM)
            told.forget()
            told.values(PROGRAM)
    assert [form.get("timeout") for form in forms] == [None, ["2500"], ["2500"]]


def test_terms_of_every_kind() -> None:
    body = b"""{"results": {"bindings": [
        {"x": {"type": "uri", "value": "http://rdf.freebase.com/ns/m.0a"}},
        {"x": {"type": "typed-literal", "value": "1990-01-01-08:00", "datatype": "d"}},
        {"x": {"type": "literal", "value": "Aune", "xml:lang": "en"}},
        {"x": {"type": "bnode", "value": "b0"}}]}}"""
    with endpoint(lambda _: (200, {}, body)) as url:
        assert ask(url) == {"m.0a", "1990-01-01", "Aune", "_:b0"}


def test_an_answer_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.environments.knowledge_graph.sparql_store._LARGEST_ANSWER", 10)
    with endpoint(lambda _: (200, {}, EMPTY)) as url, pytest.raises(QueryRefused, match="too large"):
        ask(url)
