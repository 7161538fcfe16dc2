"""A flipped bit anywhere in a run folder is told or harmless: it never changes what is reported, silently."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

import perdure
from perdure.core.errors import PerdureError
from perdure.core.types import JSON
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.experiment.runs import load
from perdure.reports.facts import run_facts
from perdure.reports.floors import floors_of
from perdure.reports.record_notes import record_notes
from tests.e2e.learner import config

FLIPS = int(os.environ.get("PERDURE_FLIPS", "250"))
RESUMED = max(25, FLIPS // 10)
"""Of them, how many are followed by the same command again."""


def settings(folder: Path) -> dict[str, Any]:
    found = config(tasks=3)
    found["probes"] = {"checkpoints": 1, "tasks": ["0"]}
    found["execution"] = {"snapshot_every": 1, "fsync": False, "out": str(folder)}
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with probes and floors."""
    folder = tmp_path_factory.mktemp("flips") / "run"
    with Experiment(load_config(settings(folder))) as experiment:
        experiment.run()
        floors_of(experiment)
    return folder


def everything(folder: Path) -> JSON:
    """All that a report says, and all texts and calls."""
    run = load(folder)
    calls = [[repr(call) for call in run.reader.calls(index)] for index in range(len(run.sessions))]
    probes = [
        [repr(past) for past in load(path.parent).sessions] + [load(path.parent).metrics]
        for path in sorted(folder.glob("probes/*/config.toml"))
    ]
    ledger = [line["calls"] for line in run.reader.ledger()]
    return [run_facts(run), list(map(repr, run.sessions)), calls, probes, ledger]


def notes(folder: Path) -> list[str]:
    """What a report tells of damage, in the run and in what lies beside it."""
    runs = [folder, *(path.parent for path in folder.glob("*/*/config.toml"))]
    return [note for run in runs for note in record_notes(run_facts(load(run))) if note.startswith("damaged")]


def flip(path: Path, draw: Random) -> bytes:
    """Flip one bit; what the file held before."""
    before = path.read_bytes()
    damaged = bytearray(before)
    damaged[draw.randrange(len(before))] ^= 1 << draw.randrange(8)
    path.write_bytes(damaged)
    return before


def files_of(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]


def test_no_flipped_bit_changes_a_report_silently(whole: Path) -> None:
    expected = json.dumps(everything(whole))
    draw = Random(41)
    files = files_of(whole)
    assert {path.name for path in files} >= {
        "config.toml",
        "sessions.jsonl",
        "ledger.jsonl",
        "index.jsonl",
        "texts.jsonl",
        "metrics.json",
    }
    silent = []
    for _ in range(FLIPS):
        path = draw.choice(files)
        before = flip(path, draw)
        with suppress(PerdureError):
            if json.dumps(everything(whole)) != expected and not notes(whole):
                silent.append(str(path.relative_to(whole)))
        path.write_bytes(before)
    assert silent == []


def test_the_same_command_again_comes_to_the_same_or_says_why_not(whole: Path, tmp_path: Path) -> None:
    results = ["sessions.jsonl", "metrics.json", "blobs/texts.jsonl"]
    expected = [(whole / name).read_bytes() for name in results]
    draw = Random(43)
    told = 0
    for number in range(RESUMED):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        path = draw.choice([path for path in files_of(folder) if "floors" not in path.parts])
        flip(path, draw)
        try:
            perdure.run(settings(folder))
        except PerdureError:
            told += 1
        else:
            found = [(folder / name).read_bytes() for name in results]
            silent = [name for name, a, b in zip(results, found, expected, strict=True) if a != b]
            if silent:
                with pytest.raises(PerdureError):
                    everything(folder)
        shutil.rmtree(folder)
    assert 0 < told < RESUMED
