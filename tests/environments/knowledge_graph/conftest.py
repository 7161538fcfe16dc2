from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from perdure.core.types import Trial
from perdure.environments.knowledge_graph.environment import KnowledgeGraphEnvironment
from perdure.environments.knowledge_graph.names import Names
from perdure.environments.knowledge_graph.triple_files import read_columns
from perdure.environments.knowledge_graph.world import SHIPPED_GRAPH
from tests.environments.knowledge_graph.graphs import write_towns
from tests.environments.knowledge_graph.virtuoso_server import SERVER, SHELL, virtuoso

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture
def towns(tmp_path: Path) -> KnowledgeGraphEnvironment:
    """The environment over a graph of three towns, its one task open."""
    environment = KnowledgeGraphEnvironment(**write_towns(tmp_path))
    environment.reset(Trial("7"))
    return environment


@pytest.fixture(scope="session")
def virtuoso_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real SPARQL endpoint that holds the shipped graph."""
    if SERVER is None or SHELL is None:
        pytest.skip("Virtuoso is not installed: apt-get install virtuoso-opensource-7-bin")
    folder = tmp_path_factory.mktemp("virtuoso")
    with virtuoso(folder, write_ntriples(folder / "world.nt")) as endpoint:
        yield endpoint


def write_ntriples(path: Path) -> Path:
    names = Names()
    with path.open("w", encoding="utf-8") as out:
        for subject, relation, value, datatype in read_columns(SHIPPED_GRAPH):
            object_ = f"<{names.iri(value)}>" if datatype is None else f'"{value}"^^<{datatype}>'
            out.write(f"<{names.iri(subject)}> <{names.iri(relation)}> {object_} .\n")
    return path
