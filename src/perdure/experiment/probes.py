"""Frozen probes: at checkpoints of a stream, all tasks with the memory of that moment, learning nothing.

They lie in `probes/<position>/` of the run folder, apart from the stream, each with sessions, call logs and
ledger of its own: a probe that was interrupted goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perdure.core.errors import RunFolderError
from perdure.experiment.blocks import next_border
from perdure.experiment.config import ProbesSection
from perdure.experiment.runs import Run
from perdure.metrics.transfer import Transfer, probe_matrix, segments, transfer
from perdure.storage.run_reader import RunReader

FOLDER = "probes"


def probe_positions(section: ProbesSection | None, sessions: int, block: int = 1) -> list[int]:
    """After how many sessions of the stream to probe: before the first, then K times, evenly spaced.

    Within a block memory is frozen: a position there moves up to the block's end.
    """
    if section is None:
        return []
    count = section.checkpoints
    even = (round(sessions * i / count) for i in range(count + 1))
    return sorted({next_border(position, block, sessions) for position in even})


def moved_lines(probes: ProbesSection | None, snapshot_every: int, block: int, sessions: int) -> list[str]:
    """One line for probes, one for snapshots, where blocks of frozen memory move them."""
    lines = []
    even, placed = probe_positions(probes, sessions), probe_positions(probes, sessions, block)
    if placed != even:
        before, after = (", ".join(map(str, positions)) for positions in (even, placed))
        lines.append(f"memory_block = {block}: probes after {before} sessions move up to {after}")
    if snapshot_every % block and snapshot_every < sessions:
        first = next_border(snapshot_every, block, sessions)
        lines.append(
            f"memory_block = {block}: snapshots every {snapshot_every} sessions move up to the end of a "
            f"block, the first to {first}"
        )
    return lines


def probe_folder(folder: Path, position: int) -> Path:
    """Where the probe after `position` sessions lies."""
    return folder / FOLDER / f"{position:08d}"


def check_probes_taken(folder: Path, positions: Sequence[int], finished: int, tasks: int) -> None:
    """A stream that went past a checkpoint cannot go back to it. Raises RunFolderError."""
    for position in positions:
        taken = read_probe(folder, position)
        if position < finished and (taken is None or len(taken) < tasks):
            raise RunFolderError(
                f"{str(folder)!r} is at session {finished} without its probe at {position}, as its schedule "
                "was another; give another --out"
            )


def is_probe_finished(folder: Path, position: int, tasks: int) -> bool:
    """Whether all tasks of a probe are played and its metrics are written."""
    taken = read_probe(folder, position)
    if taken is None or len(taken) < tasks:
        return False
    try:
        return taken.metrics() is not None
    except RunFolderError:
        return False  # damaged: it is written anew from the sessions


def read_probe(folder: Path, position: int) -> RunReader | None:
    """The sessions of one probe, or None where it was not begun."""
    found = probe_folder(folder, position)
    return RunReader(found) if found.is_dir() else None


def read_probes(folder: Path) -> dict[int, RunReader]:
    """Position in the stream → the sessions of its probe, in order."""
    found = sorted((folder / FOLDER).glob("*/sessions.jsonl"))
    return {int(path.parent.name): RunReader(path.parent) for path in found}


def run_transfer(run: Run) -> Transfer:
    """Transfer and forgetting of a run with probes; tasks are grouped by the checkpoint that followed them.

    Tasks that the stream did not hold are the held-out group, ignored ones are in none.
    Raises RunFolderError without probes.
    """
    probes = read_probes(run.folder)
    if len(probes) < 2 or len({len(reader) for reader in probes.values()}) > 1:
        raise RunFolderError(f"{str(run.folder)!r} holds no finished probes")
    learned = segments([record.task_id for record in run.records()], list(probes))
    records = [record for reader in probes.values() for record in reader.records()]
    ignored = {record.task_id for record in records if record.ignored}
    groups = {r.task_id: learned.get(r.task_id, 0) for r in records if r.task_id not in ignored}
    columns, matrix = probe_matrix([reader.records() for reader in probes.values()], groups)
    return transfer(matrix, [column if isinstance(column, int) and column else None for column in columns])
