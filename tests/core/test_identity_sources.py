"""The code behind every `file.py:Name` of a configuration is part of a run's identity."""

from __future__ import annotations

from pathlib import Path

import pytest

import perdure
from perdure.errors import RunFolderError

MODEL = "def reply(request):\n    return 'Action: {verb}'\n"


def test_a_changed_reply_function_is_another_run(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    config = {
        "environment": {"name": "counter", "tasks": 1},
        "models": {"default": {"provider": "scripted", "replies": f"{script}:reply"}},
    }
    script.write_text(MODEL.format(verb="done"))
    perdure.run(config, out=tmp_path / "run")
    script.write_text(MODEL.format(verb="read"))
    with pytest.raises(RunFolderError, match=r"sources\."):
        perdure.run(config, out=tmp_path / "run")
