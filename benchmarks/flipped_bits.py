"""Flips random bits in every file of a finished run, one at a time: how many change a report silently.

Each flip is drawn, told or harmless, and taken back, as in `tests/storage/test_flipped_bits.py`, whose check
this is with more flips. It is silent where the report, the texts or the calls are others and nothing says so.

    python benchmarks/flipped_bits.py [--flips 3000] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from perdure.core.errors import PerdureError
from perdure.experiment.config import load_config
from perdure.experiment.experiment import Experiment
from perdure.reports.floors import floors_of
from tests.storage.test_flipped_bits import everything, files_of, flip, notes, settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    became: Counter[str] = Counter()
    silent: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="perdure-flips-") as scratch:
        folder = Path(scratch) / "run"
        with Experiment(load_config(settings(folder))) as experiment:
            experiment.run()
            floors_of(experiment)
        expected = json.dumps(everything(folder))
        files, draw = files_of(folder), Random(given.seed)
        for _ in range(given.flips):
            path = draw.choice(files)
            before = flip(path, draw)
            fate = outcome(folder, expected)
            became[fate] += 1
            silent[str(path.relative_to(folder))] += fate == "silent"
            path.write_bytes(before)
    for place in +silent:
        print(f"silent in {place}: {silent[place]}")
    print(
        f"{given.flips} flipped bits in {len(files)} files: {became['silent']} silent (target 0, ratio "
        f"{became['silent'] / given.flips:.4f} of all); refused {became['refused']}, told {became['told']}, "
        f"without effect {became['harmless']}"
    )
    sys.exit(became["silent"] > 0)


def outcome(folder: Path, expected: str) -> str:
    """What the damage that a folder has now comes to."""
    try:
        found = json.dumps(everything(folder))
        if found == expected:
            return "harmless"
        return "told" if notes(folder) else "silent"
    except PerdureError:
        return "refused"


if __name__ == "__main__":
    main()
