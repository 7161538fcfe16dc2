"""The shape of the source: imports point down the layers, files are short, environments are complete."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import perdure
from perdure.core.world import World

SOURCE = Path(__file__).parents[1] / "src" / "perdure"

LAYERS: list[set[str]] = [
    {"core"},
    {"storage"},
    {"environments", "strategies", "state", "models", "callbacks", "sandboxes", "metrics", "rpc"},
    {"experiment"},
    {"conformance", "pipelines", "reports", "view", "export", "bridges"},
    {"cli", "__main__"},
]
"""Folders of the package; what stands in one line may import what stands in the same or an earlier one."""
PLUGINS = LAYERS[2]
MOST_FLAT_FILES = 10
STANDALONE = "sandboxes.isolation."
"""The package of the process that keeps sandboxes: a bare interpreter runs it, so it imports relatively."""
ACROSS = {
    ("environments", "sandboxes"),
    ("environments", "metrics"),
    ("callbacks", "metrics"),
    ("models", "strategies"),
    ("strategies", "state"),
}
"""The only imports from one kind of plugin to another."""

KINDS = {
    "environments": "WORLD",
    "strategies": "STRATEGY",
    "models": "MODEL",
    "callbacks": "CALLBACK",
    "sandboxes": "SANDBOX",
}
"""Package of plugins → the name by which a module says that it is one."""

ENVIRONMENT_FILES = {
    "environment.py",
    "actions.py",
    "scoring.py",
    "prompts.py",
    "tasks.py",
    "oracle.py",
    "README.md",
}
LONGEST_FILE = 400
LONGEST_FUNCTION = 60


@dataclass(frozen=True)
class Import:
    """One import of our own code: `line` of module `source` wants module `target`."""

    source: str
    target: str
    line: int
    at_load: bool
    """Carried out when the module is loaded, not in a function or for type checking alone."""

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    """Dotted name below the package; empty for the package itself."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text("utf-8"))


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def import_nodes(body: list[ast.stmt], at_load: bool = True) -> Iterator[tuple[ast.stmt, bool]]:
    """Every import statement below, and whether loading the module carries it out."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, at_load
        inside = at_load and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for field in ("body", "orelse", "finalbody"):
            later = field == "body" and is_type_checking(node)
            yield from import_nodes(getattr(node, field, []), inside and not later)
        for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from import_nodes(part.body, inside)


def targets(node: ast.stmt, source: str) -> Iterator[str]:
    """The modules of ours that one statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        assert isinstance(node, ast.ImportFrom)
        base = node.module or ""
        if node.level:
            # Within the one package whose modules also run without ours.
            assert source.startswith(STANDALONE), f"{source}:{node.lineno} imports relatively"
            base = f"perdure.{source.rpartition('.')[0]}" + (f".{base}" if base else "")
        names = [
            f"{base}.{alias.name}" if f"{base}.{alias.name}".removeprefix("perdure.") in modules() else base
            for alias in node.names
        ]
    for name in names:
        if name == "perdure":
            yield ""
        elif name.startswith("perdure."):
            yield name.removeprefix("perdure.")


@cache
def imports() -> list[Import]:
    return [
        Import(name, target, node.lineno, at_load)
        for name in modules()
        for node, at_load in import_nodes(tree(name).body)
        for target in dict.fromkeys(targets(node, name))
    ]


def top(module: str) -> str:
    return module.partition(".")[0]


def layer(module: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if top(module) in names)


def test_the_imports_are_really_found() -> None:
    found = {(item.source, item.target): item.at_load for item in imports()}
    assert found["core.session", "core.types"]
    assert found["environments.counter.environment", "metrics.skills"]
    assert not found["experiment.runs", "experiment.experiment"], "one in a function"
    assert not found["experiment.runs", "metrics.summary"], "one for type checking and one in a function"
    assert len(found) > 150


def test_every_module_has_a_layer() -> None:
    known = set().union(*LAYERS)
    assert {top(name) for name in modules()} - {""} <= known


def test_every_layer_says_what_may_live_there() -> None:
    assert [
        name for name in modules() if "." not in name and name and not ast.get_docstring(tree(name))
    ] == []


def test_few_files_lie_flat_at_the_root() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= MOST_FLAT_FILES


def test_no_module_has_the_name_of_a_public_function() -> None:
    public = {name for name in perdure.__all__ if inspect.isfunction(getattr(perdure, name))}
    assert public >= {"run", "load"}
    assert {name for name in modules() if name in public} == set(), "importing it would hide the function"


def test_every_import_names_a_module_that_exists() -> None:
    assert [str(item) for item in imports() if item.target not in modules()] == []


def test_imports_point_down_the_layers() -> None:
    wrong = [item for item in imports() if item.source and layer(item.source) < layer_of_target(item)]
    assert [str(item) for item in wrong] == []


def layer_of_target(item: Import) -> int:
    """Importing the package itself is importing everything that it exports."""
    return layer(item.target) if item.target else LAYERS.index({"experiment"})


def test_one_kind_of_plugin_imports_another_only_where_the_design_says_so() -> None:
    wrong = [
        item
        for item in imports()
        if {top(item.source), top(item.target)} <= PLUGINS
        and top(item.source) != top(item.target)
        and (top(item.source), top(item.target)) not in ACROSS
    ]
    assert [str(item) for item in wrong] == []


def plugin_of(module: str) -> str:
    """`environments.counter` for everything in that folder."""
    return ".".join(module.split(".")[:2])


def assigns(name: str, variable: str) -> bool:
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == variable for t in node.targets)
        for node in tree(name).body
    )


@pytest.mark.parametrize("kind", list(KINDS))
def test_plugins_of_one_kind_do_not_import_each_other(kind: str) -> None:
    plugins = {name for name in modules() if plugin_of(name) == name and top(name) == kind and name != kind}
    plugins = {name for name in plugins if assigns(name, KINDS[kind])}
    wrong = [
        item
        for item in imports()
        if top(item.source) == kind
        and plugin_of(item.target) in plugins
        and plugin_of(item.source) != plugin_of(item.target)
    ]
    assert [str(item) for item in wrong] == []
    assert plugins or kind == "sandboxes"


def test_no_module_needs_itself_to_be_loaded() -> None:
    graph: dict[str, set[str]] = {name: set() for name in modules() if name}
    for item in imports():
        if item.at_load and item.source and item.target:
            graph[item.source].add(item.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' → '.join(error.args[1])}")


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_no_file_is_long(folder: str) -> None:
    lengths = {
        path: len(path.read_text("utf-8").splitlines()) for path in (SOURCE.parents[1] / folder).rglob("*.py")
    }
    assert lengths
    assert {str(path): length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_long() -> None:
    long = [
        f"{name}:{node.lineno} {node.name}"
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


CONTRACT_AND_LOOP = {
    *("core/types", "core/session", "core/history", "core/environment", "core/world", "core/agent"),
    *("core/callback", "core/controller"),
}
RESUME = {
    *("core/recording", "storage/call_log", "storage/run_store", "experiment/lane", "experiment/stream"),
}


@pytest.mark.parametrize(
    ("heading", "folder", "needed", "most"),
    [
        ("The contract and the loop", "core/", CONTRACT_AND_LOOP, 1_600),
        ("How a run resumes", "", RESUME, 900),
    ],
)
def test_what_a_newcomer_reads_stays_short(heading: str, folder: str, needed: set[str], most: int) -> None:
    """The reading lists of CONTRIBUTING are whole, and their files are few lines together."""
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text("utf-8")
    chain = re.search(rf"- {heading}:[^`]*(?:`core/`[^`]*)?`([^`]*→[^`]*)`", text)
    assert chain is not None
    listed = [folder + name for name in chain[1].split(" → ")]
    assert needed <= set(listed)
    lines = {name: len((SOURCE / f"{name}.py").read_text("utf-8").splitlines()) for name in listed}
    assert sum(lines.values()) < most, lines


def environment_folders() -> list[Path]:
    folders = sorted(path.parent for path in (SOURCE / "environments").glob("*/__init__.py"))
    return [folder for folder in folders if assigns(f"environments.{folder.name}", "WORLD")]


@pytest.mark.parametrize("folder", environment_folders(), ids=lambda folder: folder.name)
def test_an_environment_is_complete(folder: Path) -> None:
    assert ENVIRONMENT_FILES - {path.name for path in folder.iterdir()} == set()
    package = importlib.import_module(f"perdure.environments.{folder.name}")
    assert isinstance(package.WORLD, World)
    assert package.WORLD.oracle is not None
    assert set(package.__all__) >= {"WORLD", package.WORLD.environment.__name__}


def test_nothing_is_looked_up_in_a_module_by_a_name_in_a_string() -> None:
    """What a plugin offers is typed: an exported object with fields, never names beside a class."""
    found = []
    for name in modules():
        for node in ast.walk(tree(name)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            subject = ast.unparse(node.args[0])
            is_module = re.search(r"\bmodule\b|\bpackage\b|import_module|sys\.modules", subject)
            if node.func.id in ("getattr", "hasattr") and is_module:
                found.append(f"{name}:{node.lineno} {ast.unparse(node)}")
    assert found == []


OPTIONAL = [
    "docker",
    "llmlingua",
    "pandas",
    "pymysql",
    "scipy",
    "tokenizers",
    "torch",
    "xllamacpp",
]


def test_importing_every_module_prints_nothing_and_loads_nothing_optional() -> None:
    script = (
        "import importlib, sys\n"
        f"for name in {[name for name in modules() if name]!r}:\n"
        "    importlib.import_module('perdure.' + name)\n"
        f"loaded = [name for name in {OPTIONAL!r} if name in sys.modules]\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
