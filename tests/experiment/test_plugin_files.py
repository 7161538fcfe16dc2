"""`file.py:Name`: private packages, run from bytes that are kept, and stopped at what they do not know."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from perdure.core.errors import ConfigError
from perdure.experiment.plugin_files import PluginFiles


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def load(folder: Path, file: str = "mine.py") -> ModuleType:
    return PluginFiles().load(folder / file, "callback 'mine'")


WAYS = {
    "bare": "import helper\nX = helper.X",
    "as": "import helper as h\nX = h.X",
    "from": "from helper import X",
    "star": "from helper import *",
    "several": "import os, helper, sys\nX = helper.X",
    "relative": "from . import helper\nX = helper.X",
    "relative from": "from .helper import X",
    "late": "def __getattr__(name):\n    import helper\n    return getattr(helper, name)",
    "package": "import parts.deep\nX = parts.deep.X",
    "package as": "import parts.deep as d\nX = d.X",
    "from package": "from parts import deep\nX = deep.X",
    "no __init__": "from loose.deep import X",
    "its own __init__": "from . import X",
}


@pytest.mark.parametrize("way", list(WAYS))
def test_what_lies_beside_a_plugin_is_imported_in_every_way_and_stays_private(
    way: str, tmp_path: Path
) -> None:
    folders = []
    for project in ("one", "two"):
        content = f"X = {project!r}\n"
        files = {"helper.py": content, "parts/deep.py": "from helper import X\n", "loose/deep.py": content}
        files |= {"parts/__init__.py": "", "__init__.py": content, "mine.py": f'"""Doc."""\n{WAYS[way]}\n'}
        folders.append(write(tmp_path / project, files))
    before = set(sys.modules)
    path = list(sys.path)
    loaded = [load(folder) for folder in folders]
    assert [module.X for module in loaded] == ["one", "two"]
    new = set(sys.modules) - before
    assert len(new) >= 4
    assert all(name.startswith("perdure_plugins_") for name in new)
    assert sys.path == path
    assert loaded[0].__doc__ == "Doc."


def test_the_standard_library_and_installed_packages_win_over_siblings(tmp_path: Path) -> None:
    shadows = {
        f"{name}.py": "raise RuntimeError('shadowed')" for name in ("random", "json", "pydantic", "perdure")
    }
    write(tmp_path, {**shadows, "mine.py": "import json, random, pydantic\nfrom perdure import Callback\n"})
    assert load(tmp_path).random.random() < 1
    assert list(PluginFiles().sources(tmp_path / "mine.py")) == ["mine.py"]


def test_an_edited_helper_is_loaded_anew_and_an_old_one_goes_on(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "import helper\ndef f():\n    return helper.X\n", "helper.py": "X = 1\n"})
    old = load(tmp_path)
    assert load(tmp_path) is old, "unchanged, it is one module"
    write(tmp_path, {"helper.py": "X = 2\n"})
    new = load(tmp_path)
    assert (old.f(), new.f()) == (1, 2)
    write(tmp_path, {"helper.py": "X = 1\n"})
    assert load(tmp_path) is old, "what came back is what it was"


def test_a_helper_that_appears_is_seen(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"mine.py": "try:\n    import surely_not_installed as s\nexcept ImportError:\n    s = None\n"},
    )
    assert load(tmp_path).s is None
    write(tmp_path, {"surely_not_installed.py": ""})
    assert load(tmp_path).s is not None


def test_one_experiment_sees_one_state_of_a_folder(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"mine.py": "from helper import X\n", "other.py": "from helper import X\n", "helper.py": "X = 1\n"},
    )
    files = PluginFiles()
    assert files.load(tmp_path / "mine.py", "x").X == 1
    write(tmp_path, {"helper.py": "X = 2\n"})
    assert files.load(tmp_path / "other.py", "x").X == 1
    assert files.sources(tmp_path / "mine.py")["helper.py"] == b"X = 1\n"
    assert PluginFiles().load(tmp_path / "other.py", "x").X == 2


def test_what_runs_is_what_was_read(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "def f():\n    import helper\n    return helper.X\n", "helper.py": "X = 1\n"})
    files = PluginFiles()
    module = files.load(tmp_path / "mine.py", "x")
    write(tmp_path, {"helper.py": "X = 2\n"})
    assert module.f() == 1
    assert files.sources(tmp_path / "mine.py")["helper.py"] == b"X = 1\n"


def test_sources_are_what_a_file_leads_to_and_nothing_else(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "mine.py": "import json\nfrom a import b\nfrom .c import d\nimport missing\n",
            "a/__init__.py": "",
            "a/b.py": "from .. import e\nfrom ...f import g\n",
            "c.py": "import mine\n",
            "e.py": "no Python at all",
            "f.py": "",
            "stranger.py": "",
        },
    )
    files = PluginFiles()
    assert list(files.sources(tmp_path / "mine.py")) == ["a/__init__.py", "a/b.py", "c.py", "e.py", "mine.py"]
    files.sources(tmp_path / "stranger.py")
    assert "stranger.py" not in files.sources(tmp_path / "mine.py"), "whatever else the process loaded"


DYNAMIC = """
from importlib import import_module
{top}
def f(name):
    return import_module(f".{{name}}", __package__).X
"""


def test_what_is_imported_by_a_computed_name_counts(tmp_path: Path) -> None:
    top = "X = import_module('.helper', __package__).X"
    write(
        tmp_path,
        {"mine.py": DYNAMIC.format(top=top), "helper.py": "X = 1\n", "late.py": "X = 2\n", "other.py": ""},
    )
    files = PluginFiles()
    module = files.load(tmp_path / "mine.py", "x")
    assert list(files.sources(tmp_path / "mine.py")) == ["helper.py", "mine.py"]
    assert list(files.sources(tmp_path / "other.py")) == ["other.py"]
    assert module.f("late") == 2
    assert "late.py" in files.sources(tmp_path / "mine.py")


def test_a_file_first_imported_during_the_run_stops_it(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": DYNAMIC.format(top=""), "helper.py": "X = 1\n", "late.py": "X = 2\n"})
    files = PluginFiles()
    module = files.load(tmp_path / "mine.py", "x")
    assert module.f("helper") == 1
    with files.sealed():
        assert module.f("helper") == 1
        with pytest.raises(ConfigError, match="first imported during the run") as caught:
            module.f("late")
        assert str(tmp_path / "late.py") in str(caught.value)
        assert "\n" not in str(caught.value)
    assert module.f("late") == 2, "after the run it may"


@pytest.mark.parametrize("file", ["my-world.py", "world.v2.py", "2048.py", "__init__.py", "a b.py"])
def test_names_of_files_need_not_be_names_of_modules(file: str, tmp_path: Path) -> None:
    write(tmp_path, {file: "from helper import X\n", "helper.py": "X = 1\n"})
    assert load(tmp_path, file).X == 1


def test_classes_of_plugins_know_their_module(tmp_path: Path) -> None:
    content = """
from __future__ import annotations
from dataclasses import dataclass, fields
from pydantic import BaseModel
from helper import Part

class Whole(BaseModel):
    parts: list[Part] = []

@dataclass
class Data:
    x: int = 0
"""
    write(
        tmp_path,
        {
            "mine.py": content,
            "helper.py": "from pydantic import BaseModel\nclass Part(BaseModel):\n    n: int\n",
        },
    )
    module = load(tmp_path)
    assert module.Whole.model_validate({"parts": [{"n": 1}]}).parts[0].n == 1
    assert sys.modules[module.Whole.__module__] is module
    assert module.__file__ == str(tmp_path / "mine.py")


def test_a_failure_names_its_line(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"mine.py": "import os\nimport helper\n\ndef f():\n    raise RuntimeError\n", "helper.py": ""},
    )
    with pytest.raises(RuntimeError) as caught:
        load(tmp_path).f()
    assert caught.traceback[-1].lineno + 1 == 5
    assert caught.traceback[-1].path == tmp_path / "mine.py"


def test_a_plugin_that_fails_to_load_is_tried_again(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "import helper\n", "helper.py": "raise ValueError('two\\nlines')\n"})
    for _ in range(2):
        with pytest.raises(ConfigError, match="callback 'mine': ValueError: two lines"):
            load(tmp_path)
    write(tmp_path, {"helper.py": ""})
    load(tmp_path)


def test_a_script_beside_its_plugins_keeps_its_own_modules(tmp_path: Path) -> None:
    """Run as `python script.py`, whose folder is on the import path."""
    script = """
import sys
from pathlib import Path
import helper
from perdure.experiment.plugin_files import PluginFiles
helper.X = 2
mine = PluginFiles().load(Path("mine.py"), "x")
print(mine.X, helper.X, mine.helper is helper)
"""
    write(tmp_path, {"mine.py": "import helper\nX = helper.X\n", "helper.py": "X = 1\n", "script.py": script})
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1 2 False\n"
