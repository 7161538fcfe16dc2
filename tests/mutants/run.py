"""Mutation round: each wrong change is made in a copy of the tree, and the tests must notice it.

    python -m tests.mutants.run [--wide] [WORD …]

Each mutant is judged by the test files that it names; `--wide`: by all quick ones, telling which noticed it.
With words, only mutants whose text or file holds one of them. Exit 1 when fewer than `ENOUGH` of all are
killed, or when one of some that were chosen survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.mutants.change import Mutant
from tests.mutants.core import CORE
from tests.mutants.experiment import EXPERIMENT
from tests.mutants.storage import STORAGE

ROOT = Path(__file__).parents[2]
MUTANTS = CORE + STORAGE + EXPERIMENT
ALLOWED_TO_SURVIVE = 2
ENOUGH = len(MUTANTS) - ALLOWED_TO_SURVIVE
SIDE_BY_SIDE = 2
SECONDS = 60
"""What the tests of one mutant may take; who does not end by then is noticed too."""
WIDE_SECONDS = 240
WIDE = ("core", "storage", "experiment", "e2e/test_kill.py")
SLOW = ("experiment/test_sweep_command.py", "experiment/test_sweep_runs.py")
COPIED = ("src", "tests", "pyproject.toml", "configs", "docs", "README.md")


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant. `killer`: the test that failed, or that time was up; empty where it survived."""

    mutant: Mutant
    killer: str
    seconds: float


class Copy:
    """A copy of the tree, in which one change at a time is made and taken back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._source = folder / "src" / "perdure"
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, folder / name)

    def judge(self, mutant: Mutant, *, wide: bool) -> Verdict:
        """Make the change, run the tests, take it back. Raises ValueError where its text is gone."""
        path = self._source / mutant.file
        before = path.read_bytes()
        began = time.monotonic()
        mutant.apply(self._source)
        self._forget_compiled(path)
        try:
            killer = self.first_failure(_subset([mutant], wide=wide), WIDE_SECONDS if wide else SECONDS)
        finally:
            path.write_bytes(before)
            self._forget_compiled(path)
        return Verdict(mutant, killer, time.monotonic() - began)

    def first_failure(self, files: Iterable[str], seconds: float) -> str:
        """The first test that fails, or why there is no answer; empty when all pass."""
        skipped = [f"--ignore={self.folder / 'tests' / name}" for name in SLOW]
        targets = [str(self.folder / "tests" / name) for name in files]
        options = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
        command = [sys.executable, "-m", "pytest", *options, *skipped, *targets]
        paths = os.pathsep.join([str(self.folder / "src"), str(self.folder)])
        environment = {**os.environ, "PYTHONPATH": paths, "XDG_CACHE_HOME": str(self.folder / "cache")}
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return f"no end in {seconds} s"
        if done.returncode == 0:
            return ""
        told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return told[0].split(" - ")[0].removeprefix("FAILED tests/") if told else f"exit {done.returncode}"

    def check(self, files: Sequence[str]) -> None:
        """Raise RuntimeError unless the copy is what runs, and its tests pass before anything is changed."""
        found = subprocess.run(
            [sys.executable, "-c", "import perdure; print(perdure.__file__)"],
            env={**os.environ, "PYTHONPATH": str(self.folder / "src")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if Path(found) != self._source / "__init__.py":
            raise RuntimeError(f"{found!r} would run, not the copy")
        if failed := self.first_failure(files, 10 * WIDE_SECONDS):
            raise RuntimeError(f"without any change this fails: {failed}")

    @staticmethod
    def _forget_compiled(path: Path) -> None:
        """Two versions of one size within one second would be taken for the same."""
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


def _subset(mutants: Iterable[Mutant], *, wide: bool) -> list[str]:
    named = dict.fromkeys(name for mutant in mutants for name in mutant.tests.split())
    if not wide:
        return list(named)
    layers = {mutant.file.partition("/")[0] for mutant in mutants}
    return sorted(WIDE, key=lambda folder: folder not in layers)  # its own layer first


def chosen(words: Sequence[str]) -> list[Mutant]:
    """Mutants whose text or file holds one of the words; all without words."""
    return [m for m in MUTANTS if not words or any(word in f"{m.what} {m.file}" for word in words)]


def judge_all(mutants: Sequence[Mutant], *, wide: bool) -> list[Verdict]:
    """Verdicts in order; each is printed as it comes. Raises what `Copy` raises."""
    with TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(SIDE_BY_SIDE):
            place = Path(folder) / str(number)
            place.mkdir()
            copies.put(Copy(place))
        first = copies.get()
        first.check(_subset(mutants, wide=wide))
        copies.put(first)

        def judge(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                verdict = copy.judge(mutant, wide=wide)
            finally:
                copies.put(copy)
            told = f"killed by {verdict.killer}" if verdict.killer else "SURVIVED"
            print(f"{verdict.seconds:5.1f} s  {mutant.file}: {mutant.what}: {told}", flush=True)
            return verdict

        return list(pool.map(judge, mutants))


def main(arguments: Sequence[str]) -> int:
    """Run the round; the exit code."""
    wide = "--wide" in arguments
    words = [word for word in arguments if word != "--wide"]
    mutants = chosen(words)
    began = time.monotonic()
    verdicts = judge_all(mutants, wide=wide)
    survived = [verdict.mutant for verdict in verdicts if not verdict.killer]
    killed = len(verdicts) - len(survived)
    print(f"\n{killed} of {len(verdicts)} killed in {time.monotonic() - began:.0f} s")
    for mutant in survived:
        print(f"survived: {mutant.file}: {mutant.what}")
    return int(bool(survived) if words else killed < ENOUGH)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
