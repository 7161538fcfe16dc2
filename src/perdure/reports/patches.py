"""What went wrong with the patches of a structured state, and how true the state stayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from perdure.core.environment import Environment
from perdure.core.errors import UsageError
from perdure.core.session import PastSession
from perdure.core.types import JSON, Trial
from perdure.core.world import Readers
from perdure.experiment.experiment import Experiment
from perdure.experiment.registry import load_world
from perdure.experiment.runs import Run
from perdure.reports.table import Table, make_table
from perdure.state.changes import apply_changes
from perdure.state.journal import PatchJournal
from perdure.state.taxonomy import FailureClass, lost_fields

Facts: TypeAlias = Mapping[str, JSON]


@dataclass(frozen=True)
class Truth:
    """An environment that can say what was true."""

    readers: Readers
    environment: Environment


def patch_facts(run: Run, places: Collection[int]) -> dict[str, JSON] | None:
    """Committed patches, failed replies by the class of their first cause; None without patches.

    `places` are those of the sessions whose traces hold patches (`has_patches`).
    Where the environment knows the true state Σ*, also `fidelity` (F1 of the state against Σ*, mean over
    steps) and `lost`: fields that a committed patch lost or spoiled, the overwrite class judged by the truth.
    """
    counts: Counter[str] = Counter()
    failures = dict.fromkeys((str(kind) for kind in FailureClass), 0)
    fidelities: list[float] = []
    if not places:
        return None
    with _truth(run) as known:
        for past in map(run.sessions.__getitem__, places):
            counts["committed"] += len(past.trace["patches"])
            for kind, count in past.trace["counts"].items():
                failures[kind] += count
            if known is not None:
                lost, values = _against_truth(past, known)
                counts["lost"] += lost
                fidelities += values
    facts: dict[str, JSON] = {
        "committed": counts["committed"],
        "failures": failures,
    }
    if known is not None:
        facts["lost"] = counts["lost"]
        facts["fidelity"] = sum(fidelities) / len(fidelities) if fidelities else None
    return facts


def has_patches(trace: JSON) -> bool:
    """Whether a session's trace is one of a structured state."""
    return isinstance(trace, Mapping) and "patches" in trace


def patches_table(runs: Sequence[Facts], names: Sequence[str]) -> Table | None:
    """One row a run that has patches; `lost` and fidelity only where the truth is known."""
    rows = []
    for name, facts in zip(names, runs, strict=True):
        patches = facts.get("patches")
        if patches is None:
            continue
        fidelity = patches.get("fidelity")
        rows.append(
            [
                name,
                f"{patches['committed']:,}",
                *(str(patches["failures"][kind]) for kind in FailureClass),
                str(patches["lost"]) if "lost" in patches else "–",
                "–" if fidelity is None else f"{fidelity:.3f}",
            ]
        )
    if not rows:
        return None
    columns = ["patches", *(str(kind) for kind in FailureClass), "fields lost", "fidelity"]
    return make_table(
        "Patches: failed replies by first cause", {"run": False, **dict.fromkeys(columns, True)}, rows
    )


@contextmanager
def _truth(run: Run) -> Iterator[Truth | None]:
    """What knows Σ*: the environment of the run and its readers, where there are some and it still builds."""
    with ExitStack() as opened:
        known = None
        try:
            config = run.own_config()
            if load_world(config.environment.name, base=run.base).readers is not None:
                experiment = opened.enter_context(Experiment(config, base=run.base))
                if experiment.world.readers and experiment.environment.version == run.environment_version:
                    known = Truth(experiment.world.readers, experiment.environment)
        except UsageError:
            known = None
        yield known


def _against_truth(past: PastSession, truth: Truth) -> tuple[int, list[float]]:
    journal = PatchJournal.from_trace(past.trace)
    actions = [interaction.action for interaction in past.interactions]
    trial = Trial(past.record.task_id, past.record.repeat, past.record.clock)
    committed = {entry.step: entry for entry in journal.entries if entry.committed}
    lost, values, before = 0, [], journal.initial
    true_states = truth.readers.true_states(truth.environment, trial, actions)
    for step, true_state in enumerate(true_states, 1):
        after = apply_changes(before, committed[step].changes) if step in committed else before
        lost += len(lost_fields(before, after, true_state))
        values.append(truth.readers.fidelity(after, true_state))
        before = after
    return lost, values
