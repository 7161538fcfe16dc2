"""A breakable run: a configuration, its world's knobs, and a model whose code a test may change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import perdure
from tests.core import worlds

MODEL = """
from pathlib import Path

from perdure.core.errors import ModelError, ModelUnavailable
from perdure.core.types import SessionStatus

HERE = Path(__file__).parent


def reply(request):
    with (HERE / "asked.log").open("a") as file:
        file.write("asked\\n")
    names = dict(globals())
    exec((HERE / "answer.txt").read_text(), names)
    return names["answer"](request)
"""


class Bench:
    """Everything in one folder; `run` starts or resumes. The model says `win`, then `end`, unless told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "run"
        self.config: dict[str, Any] = {
            "environment": {"name": f"{worlds.__file__}:Breakable", "knobs": str(folder / "knobs.json")},
            "models": {"default": {"provider": "scripted", "replies": f"{folder}/model.py:reply"}},
        }
        (folder / "model.py").write_text(MODEL)
        self.knobs()
        self.model("return 'win' if request.messages[-1].text.endswith('ready') else 'end'")

    def knobs(self, **knobs: object) -> None:
        """Set the world's knobs."""
        (self.folder / "knobs.json").write_text(json.dumps(knobs))

    def model(self, body: str) -> None:
        """Set the body of the model: `request` is there, and every call is counted by `asked`.

        It stands in a file that `model.py` reads: a server may change what it answers, a run's code may not.
        """
        (self.folder / "answer.txt").write_text(f"def answer(request):\n    {body}\n")

    @property
    def asked(self) -> int:
        """How often the model was really asked."""
        log = self.folder / "asked.log"
        return len(log.read_text().splitlines()) if log.exists() else 0

    @property
    def built(self) -> int:
        """How many environments were built."""
        log = self.folder / "built.log"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def run(self, *sets: str, **sections: Any) -> perdure.Run:
        return perdure.run({**self.config, **sections}, sets=sets, out=self.out)

    def sessions(self) -> bytes:
        return (self.out / "sessions.jsonl").read_bytes()
