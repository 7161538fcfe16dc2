from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

import perdure
from perdure.core.installation import add_extras
from perdure.environments.knowledge_graph.names import Names
from perdure.environments.knowledge_graph.oxigraph_store import OxigraphStore
from perdure.environments.knowledge_graph.programs import parse_program
from perdure.environments.knowledge_graph.triple_files import read_columns
from perdure.environments.knowledge_graph.triple_store import QueryRefused
from tests.environments.knowledge_graph.graphs import TOWNS

LITERALS = """\
<http://x/a> <http://x/name> "Aune"@en .
<http://x/a> <http://x/name> "Aune Water"@en-GB .
<http://x/a> <http://x/name> "die Aune"@de .
<http://x/a> <http://x/name> "plain" .
<http://x/a> <http://x/made> "1990-01-01-08:00"^^<http://www.w3.org/2001/XMLSchema#date> .
<http://x/a> <http://x/made> <http://y/elsewhere> .
"""


def towns_store(folder: Path, timeout_seconds: float = 30.0) -> OxigraphStore:
    path = folder / "towns.tsv"
    path.write_text(TOWNS, "utf-8")
    return OxigraphStore(path, timeout_seconds=timeout_seconds)


def test_hops_and_results_on_three_towns(tmp_path: Path) -> None:
    store = towns_store(tmp_path)
    on_aune = "(JOIN (R geo.river.towns) m.0aune)"
    on_both = f"(AND {on_aune} (JOIN (R geo.river.towns) m.0wend))"
    neighbours = f"(JOIN (R geo.river.towns) (JOIN (R geo.town.river) {on_both}))"
    answers = {
        on_aune: {"m.0dale", "m.0elm"},
        "(JOIN geo.town.river m.0aune)": {"m.0dale", "m.0elm"},
        on_both: {"m.0dale"},
        neighbours: {"m.0dale", "m.0elm", "m.0fenn"},
        f"(COUNT {neighbours})": {"3"},
        f"(ARGMAX {neighbours} geo.town.people)": {"m.0dale", "m.0fenn"},
        f"(ARGMIN {neighbours} geo.town.people)": {"m.0elm"},
        f"(ARGMIN {neighbours} geo.town.founded)": {"m.0elm"},
        f"(ARGMIN {neighbours} geo.town.mayor)": set(),
        "(JOIN (R geo.town.people) m.0dale)": {"1200"},
        "(JOIN (R geo.river.towns) (JOIN (R geo.town.people) m.0dale))": set(),
    }
    for text, expected in answers.items():
        assert store.values(parse_program(text)) == expected, text
    assert store.relations(parse_program(on_both)) == {
        "geo.town.river",
        "geo.town.people",
        "geo.town.founded",
    }
    assert store.relations(parse_program("m.0aune")) == {"geo.river.towns"}
    assert store.relations(parse_program("m.0nowhere")) == set()


def test_the_entities_of_the_question_are_no_members(tmp_path: Path) -> None:
    store = towns_store(tmp_path)
    back = "(JOIN (R geo.town.river) (JOIN (R geo.river.towns) m.0aune))"
    assert store.values(parse_program(back)) == {"m.0aune", "m.0wend"}
    assert store.values(parse_program(back), {"m.0aune"}) == {"m.0wend"}
    assert store.values(parse_program(f"(COUNT {back})"), {"m.0aune"}) == {"1"}


def test_literals_lose_other_languages_and_time_zones(tmp_path: Path) -> None:
    path = tmp_path / "literals.nt.gz"
    path.write_bytes(gzip.compress(LITERALS.encode()))
    store = OxigraphStore(path, names=Names("http://x/"))
    assert store.values(parse_program("(JOIN (R name) a)")) == {"Aune", "Aune Water", "plain"}
    assert store.values(parse_program("(JOIN (R made) a)")) == {"1990-01-01", "<http://y/elsewhere>"}
    assert store.values(parse_program('(JOIN made "<http://y/elsewhere>")')) == {"a"}


def test_a_query_ends_at_its_time_limit(tmp_path: Path) -> None:
    store = towns_store(tmp_path, timeout_seconds=-1.0)
    program = parse_program("(JOIN (R geo.river.towns) m.0aune)")
    for ask in (store.values, store.relations):
        with pytest.raises(QueryRefused, match="too long"):
            ask(program)


def test_dense_paths_are_not_enumerated(tmp_path: Path) -> None:
    """Twelve hops through a clique of 30 have 30**12 paths and 30 answers."""
    path = tmp_path / "clique.tsv"
    path.write_text("".join(f"n{i}\tto\tn{j}\n" for i in range(30) for j in range(30)), "utf-8")
    store = OxigraphStore(path)
    program = "n0"
    for _ in range(12):
        program = f"(JOIN (R to) {program})"
    assert len(store.values(parse_program(program))) == 30


def test_the_type_of_a_column_is_that_of_all_its_values(tmp_path: Path) -> None:
    path = tmp_path / "mixed.tsv"
    path.write_text("a\tage\t32\n\nb\tage\t31.5\na\tnumber\t7\n7\tof\ta\na\tborn\t1990-02-03\n", "utf-8")
    kinds = {(relation, value): datatype for _, relation, value, datatype in read_columns(path)}
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert kinds == {
        ("age", "32"): f"{xsd}integer",
        ("age", "31.5"): f"{xsd}decimal",
        ("number", "7"): None,
        ("of", "a"): None,
        ("born", "1990-02-03"): f"{xsd}date",
    }


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("short.tsv", "a\tb\tc\na\tb\n", "line 2"),
        ("empty.tsv", "a\t\tc\n", "line 1"),
        ("bad.nt", "<http://x/a> nonsense .\n", "bad.nt"),
    ],
)
def test_a_file_that_is_no_graph_is_named(tmp_path: Path, name: str, content: str, told: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(ValueError, match=told):
        OxigraphStore(tmp_path / name)


def test_importing_the_environment_does_not_import_the_engine() -> None:
    script = (
        "import sys\n"
        "import perdure.environments.knowledge_graph as kg\n"
        "assert 'pyoxigraph' not in sys.modules and 'httpx' not in sys.modules\n"
        "sys.modules['pyoxigraph'] = None\n"
        "try:\n    kg.WORLD.environment()\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    source = str(Path(perdure.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    missing = "the embedded triple store is not installed"
    assert done.stdout == f"MissingExtra {missing}; run: {add_extras('kg')}\n"
