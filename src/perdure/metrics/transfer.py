"""What a stream did to tasks before and after they were learned: the matrix R of frozen probes.

Row i of R is checkpoint i (row 0 before anything was learned), column j a group of tasks: R[i][j] is the
success rate on group j with memory frozen at checkpoint i (Lopez-Paz and Ranzato 2017).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from perdure.core.session import SessionRecord

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Transfer:
    """Means over groups, as differences of success rates; None where no group defines them."""

    forward: float | None
    """Just before a group is learned, above the same group before anything was learned."""
    backward: float | None
    """At the end, above the same group just after it was learned."""
    forgetting: float | None
    """Minus `backward`: the loss since just after learning. Unbiased: no maximum of noisy rates is taken."""
    peak_forgetting: float | None
    """Loss since the best checkpoint (Chaudhry et al. 2018): biased upwards where rates are noisy."""
    held_out: float | None
    """Groups that were never learned: at the end, above before anything was learned."""


def transfer(matrix: Matrix, learned: Sequence[int | None]) -> Transfer:
    """The measures of one matrix. `learned[j]` is the row just after group j was learned; None: held out.

    Groups learned in row 1 have no forward transfer, those learned in the last row no backward transfer.
    Raises ValueError for a matrix whose shape does not fit.
    """
    last = len(matrix) - 1
    if last < 1 or any(len(row) != len(learned) for row in matrix):
        raise ValueError(f"a matrix of {len(matrix)} rows does not fit {len(learned)} groups")
    if any(row is not None and not 1 <= row <= last for row in learned):
        raise ValueError(f"groups are learned in rows 1 to {last}, not {learned}")
    known = [(j, row) for j, row in enumerate(learned) if row is not None]
    forward = [matrix[row - 1][j] - matrix[0][j] for j, row in known if row > 1]
    backward = [matrix[last][j] - matrix[row][j] for j, row in known if row < last]
    peak = [max(matrix[i][j] for i in range(row, last)) - matrix[last][j] for j, row in known if row < last]
    held_out = [matrix[last][j] - matrix[0][j] for j, row in enumerate(learned) if row is None]
    behind = _mean(backward)
    return Transfer(_mean(forward), behind, None if behind is None else -behind, _mean(peak), _mean(held_out))


def probe_matrix(
    checkpoints: Iterable[Iterable[SessionRecord]], groups: Mapping[str, Hashable]
) -> tuple[list[Hashable], list[list[float]]]:
    """The groups, in the order in which `groups` first names them, and R.

    Tasks without a group and ignored sessions are left out.

    Raises ValueError when a checkpoint holds no session of a group.
    """
    columns = list(dict.fromkeys(groups.values()))
    matrix = []
    for i, records in enumerate(checkpoints):
        scores: defaultdict[Hashable, list[bool]] = defaultdict(list)
        for record in records:
            if record.task_id in groups and not record.ignored:
                scores[groups[record.task_id]].append(record.correct)
        missing = [column for column in columns if not scores[column]]
        if missing:
            raise ValueError(f"checkpoint {i} holds no session of group {missing[0]!r}")
        matrix.append([fmean(scores[column]) for column in columns])
    return columns, matrix


def segments(stream: Sequence[str], positions: Sequence[int]) -> dict[str, int]:
    """Task → the row just after it was first played: checkpoint i stands after `positions[i]` sessions."""
    learned: dict[str, int] = {}
    for row, (start, end) in enumerate(pairwise(positions), 1):
        for task_id in stream[start:end]:
            learned.setdefault(task_id, row)
    return learned


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
