"""Failed patches by class, and the state against the truth that the environment knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.reports.facts import run_facts
from perdure.reports.patches import patches_table


def warehouse(folder: Path, replies: str | None = None, horizon: int = 10) -> perdure.Run:
    model: dict[str, Any] = {"provider": "perfect_reader"}
    if replies is not None:
        script = folder / "script.py"
        script.write_text(replies)
        model = {"provider": "scripted", "replies": f"{script}:reply"}
    return perdure.run(
        {
            "environment": {"name": "warehouse", "horizon": horizon, "tasks": 1, "profile": "growth"},
            "agent": {"strategy": {"name": "structured_state"}},
            "models": {"default": model},
        },
        out=folder / "run",
    )


def test_a_perfect_reader_fails_nothing_and_knows_the_truth(tmp_path: Path) -> None:
    facts = run_facts(warehouse(tmp_path, horizon=30))["patches"]
    assert facts is not None
    assert facts["committed"] == 30
    assert facts["fidelity"] == pytest.approx(1.0)
    assert (facts["lost"], sum(facts["failures"].values())) == (0, 0)
    table = patches_table([{"patches": facts}], ["A"])
    assert table is not None


FORGETS = """
from perdure.environments.warehouse import perfect_reader
import json

def reply(request):
    text = perfect_reader(request.messages)
    body = json.loads(text.split("```json")[1].split("```")[0])
    if "Store" not in body["action"]:
        return "no json at all"
    body["state_patch"] = {}
    return "```json\\n" + json.dumps(body) + "\\n```"
"""


def test_a_state_that_is_not_kept_is_seen(tmp_path: Path) -> None:
    facts = run_facts(warehouse(tmp_path, FORGETS))["patches"]
    assert facts is not None
    assert facts["fidelity"] < 0.7
    assert facts["failures"]["syntax"] > 0


def test_runs_without_patches_have_none(tmp_path: Path) -> None:
    run = perdure.run(
        {"environment": {"name": "counter", "tasks": 1}, "agent": {"kind": "oracle"}}, out=tmp_path / "run"
    )
    assert run_facts(run)["patches"] is None
    assert patches_table([{"patches": None}], ["A"]) is None
    assert json.dumps(run_facts(run)["patches"]) == "null"
