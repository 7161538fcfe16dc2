from __future__ import annotations

import sys
from pathlib import Path

import pytest

import perdure
from perdure.callbacks.progress import Progress
from perdure.core.errors import PluginNotFound, UsageError
from perdure.environments import counter
from perdure.experiment.registry import Kind, load_plugin, load_world, plugin_names
from perdure.models.scripted import ScriptedModel
from perdure.strategies.full_history import FullHistory

CALLBACK_FILE = """
from dataclasses import dataclass
from perdure import Callback

class Mine(Callback):
    pass

class Not:
    pass

@dataclass
class Data:
    x: int = 0

def function():
    pass

number = 3
"""


def complaint(kind: Kind, name: str, base: Path | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        load_plugin(kind, name, base=base)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name", "target"),
    [
        ("environment", "counter", counter.CounterEnvironment),
        ("strategy", "full_history", FullHistory),
        ("model", "scripted", ScriptedModel),
        ("callback", "progress", Progress),
    ],
)
def test_shipped_plugins_have_names(kind: Kind, name: str, target: type) -> None:
    plugin = load_plugin(kind, name)
    assert plugin.target is target
    assert name in plugin_names(kind)


@pytest.mark.parametrize("kind", ["environment", "strategy", "model", "callback", "sandbox"])
def test_an_unknown_name_lists_what_there_is(kind: Kind) -> None:
    message = complaint(kind, "nothing_like_it")
    choices = ", ".join(plugin_names(kind)) or "none"
    assert message == (f"unknown {kind} 'nothing_like_it'; choose one of: {choices}, or give 'file.py:Class'")
    with pytest.raises(PluginNotFound):
        load_plugin(kind, "")


def test_a_module_that_is_no_plugin_has_no_name() -> None:
    assert "retry" not in plugin_names("model")
    assert "unknown model 'retry'" in complaint("model", "retry")


VARIANTS = """
from dataclasses import replace

from perdure.environments import counter
from perdure.environments.counter import CounterEnvironment


class Plain(CounterEnvironment):
    pass


class Loud(CounterEnvironment):
    pass


class Louder(Loud):
    pass


LOUD = replace(counter.WORLD, environment=Loud, do_nothing="ACTION: DONE")
FAST = replace(counter.WORLD, max_interactions=3)
"""


def test_a_subclass_inherits_its_world_with_what_it_replaces(tmp_path: Path) -> None:
    (tmp_path / "variants.py").write_text(VARIANTS)
    plain, loud, louder, fast = (
        load_world(f"variants.py:{name}", base=tmp_path) for name in ("Plain", "Loud", "Louder", "FAST")
    )
    built = [world.environment(tasks=1) for world in (plain, loud, louder, fast)]
    assert [type(world).__name__ for world in built] == ["Plain", "Loud", "Louder", "CounterEnvironment"]
    assert plain.do_nothing == fast.do_nothing == counter.WORLD.do_nothing
    assert loud.do_nothing == louder.do_nothing == "ACTION: DONE", (
        "two environments of one file share nothing"
    )
    assert plain.oracle is loud.oracle is counter.WORLD.oracle
    assert (fast.max_interactions, plain.max_interactions) == (3, counter.WORLD.max_interactions)


def test_a_class_with_two_worlds_must_be_named_by_one_of_them(tmp_path: Path) -> None:
    two = VARIANTS + "QUIET = replace(LOUD, do_nothing='Action: done')\n"
    (tmp_path / "variants.py").write_text(two)
    assert "several worlds of Loud; name one of them" in complaint(
        "environment", "variants.py:Loud", tmp_path
    )
    assert load_world("variants.py:QUIET", base=tmp_path).do_nothing == "Action: done"


def test_a_class_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(CALLBACK_FILE)
    plugin = load_plugin("callback", "mine.py:Mine", base=tmp_path)
    assert plugin.target.__name__ == "Mine"
    assert plugin.name == "mine.py:Mine"
    again = load_plugin("callback", f"{path}:Mine")
    assert again.target is plugin.target, "one file, one class"
    assert plugin.module.number == 3


def test_a_changed_file_is_another_plugin(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(CALLBACK_FILE)
    before = load_plugin("callback", "mine.py:Mine", base=tmp_path)
    path.write_text(CALLBACK_FILE.replace("number = 3", "number = 4"))
    after = load_plugin("callback", "mine.py:Mine", base=tmp_path)
    assert (before.module.number, after.module.number) == (3, 4)


def test_equal_copies_are_two_modules(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(CALLBACK_FILE)
    one, two = (load_plugin("callback", "mine.py:Mine", base=tmp_path / f) for f in ("one", "two"))
    assert (one.module.__file__, two.module.__file__) == tuple(
        str(tmp_path / folder / "mine.py") for folder in ("one", "two")
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nowhere.py:Mine", "there is no file '"),
        ("mine.py:Yours", "no 'Yours' in mine.py; it has: Data, Mine, Not, function"),
        ("mine.py:", "no '' in mine.py; it has: Data, Mine, Not, function"),
        ("mine.py:Not", "not a subclass of Callback"),
        ("mine.py:function", "not a subclass of Callback"),
        ("mine.py:number", "callback 'mine.py:number' is 3, not a subclass of Callback"),
        ("empty.py:Mine", "no 'Mine' in empty.py; it has: none"),
        ("syntax.py:Mine", "SyntaxError: "),
        ("raises.py:Mine", "ValueError: two lines"),
        ("imports.py:Mine", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("folder.py:Mine", "there is no file '"),
        ("mine.py", "unknown callback 'mine.py'"),
        ("mine:Mine", "unknown callback 'mine:Mine'"),
    ],
)
def test_files_that_do_not_work(tmp_path: Path, name: str, expected: str) -> None:
    for file, content in {
        "mine.py": CALLBACK_FILE,
        "empty.py": "",
        "syntax.py": "class Mine(\n",
        "raises.py": "raise ValueError('two\\nlines')\n",
        "imports.py": "import no_such_module\n",
    }.items():
        (tmp_path / file).write_text(content)
    (tmp_path / "folder.py").mkdir()
    assert expected in complaint("callback", name, tmp_path)
    assert expected in complaint("callback", name, tmp_path), "the second time too"


def test_a_class_that_is_no_environment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CALLBACK_FILE)
    assert "neither a World nor a subclass of Environment" in complaint(
        "environment", "mine.py:Mine", tmp_path
    )


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that registers plugins, as far as importlib.metadata can tell."""
    site = tmp_path / "site"
    info = site / "foreign_world-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-world\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[perdure.environments]\n"
        "foreign = foreign_world:WORLD\n"
        "counter = foreign_world:WORLD\n"
        "gone = foreign_world:NOWHERE\n"
        "missing = no_such_module:X\n"
        "[perdure.callbacks]\n"
        "quiet = foreign_world.quiet:Quiet\n"
        "wrong = foreign_world.quiet:wrong\n"
    )
    package = site / "foreign_world"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from foreign_world.world import Foreign\n"
        "from dataclasses import replace\n"
        "from perdure.environments import counter\n"
        "WORLD = replace(counter.WORLD, environment=Foreign, max_interactions=7)\n"
    )
    (package / "world.py").write_text(
        "from perdure.environments.counter import CounterEnvironment\n\n"
        "class Foreign(CounterEnvironment):\n    name = 'foreign'\n"
    )
    (package / "quiet.py").write_text(
        "from perdure import Callback\n\nclass Quiet(Callback):\n    pass\n\nwrong = 3\n"
    )
    monkeypatch.syspath_prepend(str(site))
    for name in ("foreign_world", "foreign_world.world", "foreign_world.quiet"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return site


@pytest.mark.usefixtures("distribution")
def test_plugins_of_other_packages_are_known_by_their_entry_points(tmp_path: Path) -> None:
    assert {"counter", "foreign", "gone"} <= set(plugin_names("environment"))
    assert load_plugin("environment", "counter").target is counter.CounterEnvironment, "ours comes first"
    plugin = load_plugin("environment", "foreign")
    assert plugin.target.__name__ == "Foreign"
    assert load_world("foreign").max_interactions == 7
    run = perdure.run(
        {
            "environment": {"name": "foreign", "tasks": 3},
            "agent": {"kind": "oracle"},
            "callbacks": [{"name": "quiet"}],
        },
        out=tmp_path / "run",
    )
    assert [record.correct for record in run.records()] == [True] * 3


@pytest.mark.usefixtures("distribution")
def test_entry_points_that_do_not_work() -> None:
    assert "environment 'gone' (foreign_world:NOWHERE): AttributeError: " in complaint("environment", "gone")
    assert "ModuleNotFoundError: No module named 'no_such_module'" in complaint("environment", "missing")
    assert "is 3, not a subclass of Callback" in complaint("callback", "wrong")


@pytest.mark.parametrize("name", [f"{'x' * 5_000}.py:World", "~nobody_of_that_name/x.py:World"])
def test_a_path_that_cannot_be_one(name: str, tmp_path: Path) -> None:
    message = complaint("environment", name, tmp_path)
    assert message.startswith("path '")
    assert len(message) < 200


def test_a_file_that_ends_the_program_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    message = complaint("environment", "leaving.py:World", tmp_path)
    assert message == "environment 'leaving.py:World': SystemExit: 0"


def test_an_environment_with_methods_left_is_refused(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(
        "from perdure import Environment\n"
        "class World(Environment):\n"
        "    def task_ids(self): return ['1']\n"
        "    def interact(self, action): ...\n"
        "    def release(self): ...\n"
        "from perdure.core.world import World as Declared\n"
        "WORLD = Declared(environment=World, max_interactions=1, do_nothing='', reply_form=str)\n"
    )
    message = complaint("environment", "half.py:World", tmp_path)
    assert (
        message
        == "environment 'half.py:World' does not define: calculate_metric, complete, read_action, reset"
    )
