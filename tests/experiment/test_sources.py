"""The code behind every `file.py:Name`, and what it imports from its folder, is part of a run's identity."""

from __future__ import annotations

from pathlib import Path

import pytest

import perdure
from perdure.core.errors import RunFolderError
from perdure.experiment.sources import source_digests

MODEL = "from helper import VERB\n\ndef reply(request):\n    return f'Action: {VERB}'\n"


def test_a_changed_module_beside_a_plugin_is_another_run(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(MODEL)
    (tmp_path / "helper.py").write_text("VERB = 'done'\n")
    config = {
        "environment": {"name": "counter", "tasks": 1},
        "models": {"default": {"provider": "scripted", "replies": f"{tmp_path}/script.py:reply"}},
    }
    perdure.run(config, out=tmp_path / "run")
    (tmp_path / "helper.py").write_text("VERB = 'read'\n")
    with pytest.raises(RunFolderError, match=r"sources\.helper\.py"):
        perdure.run(config, out=tmp_path / "run")


def test_imports_are_followed_within_the_folder_only(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import json\nimport b\nfrom package import c\nimport missing\n")
    (tmp_path / "b.py").write_text("import a\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "c.py").write_text("this is no Python")
    digests = source_digests(["a.py:A", "not a file.py:B", 3, None], tmp_path)
    assert sorted(Path(name).name for name in digests) == ["__init__.py", "a.py", "b.py", "c.py"]


def test_a_plugin_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "lessons_beside.py").write_text("NAME = 'beside'\n")
    (tmp_path / "mine.py").write_text(
        "from lessons_beside import NAME\nfrom perdure import Callback\n\n"
        "class Mine(Callback):\n    name = NAME\n"
    )
    run = perdure.run(
        {
            "environment": {"name": "counter", "tasks": 1},
            "agent": {"kind": "oracle"},
            "callbacks": [{"name": f"{tmp_path}/mine.py:Mine"}],
        },
        out=tmp_path / "run",
    )
    assert len(run.sessions) == 1
