"""What went wrong with the patches of a structured state, and how true the state stayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from perdure.core.errors import ConfigError
from perdure.core.session import PastSession
from perdure.core.types import JSON
from perdure.experiment.registry import load_plugin
from perdure.experiment.runs import Run
from perdure.reports.table import Table, make_table
from perdure.state.changes import apply_changes
from perdure.state.journal import PatchJournal
from perdure.state.taxonomy import FailureClass, lost_fields

Facts: TypeAlias = Mapping[str, JSON]
TrueStates: TypeAlias = Callable[..., Iterator[JSON]]


def patch_facts(run: Run) -> dict[str, JSON] | None:
    """Committed patches, failed replies by the class of their first cause, fallbacks; None without patches.

    Where the environment knows the true state Σ*, also `fidelity` (F1 of the state against Σ*, mean over
    steps) and `lost`: fields that a committed patch lost or spoiled, the overwrite class judged by the truth.
    """
    counts: Counter[str] = Counter()
    failures = dict.fromkeys((str(kind) for kind in FailureClass), 0)
    fidelities: list[float] = []
    known = _truth(run)
    found = False
    for past in run.sessions:
        if not isinstance(past.trace, Mapping) or "patches" not in past.trace:
            continue
        found = True
        counts["committed"] += len(past.trace["patches"])
        counts["fallbacks"] += len(past.trace["fallbacks"])
        for kind, count in past.trace["counts"].items():
            failures[kind] += count
        if known is not None:
            lost, values = _against_truth(past, *known, dict(run.config.environment.parameters))
            counts["lost"] += lost
            fidelities += values
    if not found:
        return None
    facts: dict[str, JSON] = {
        "committed": counts["committed"],
        "fallbacks": counts["fallbacks"],
        "failures": failures,
    }
    if known is not None:
        facts["lost"] = counts["lost"]
        facts["fidelity"] = sum(fidelities) / len(fidelities) if fidelities else None
    return facts


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
                str(patches["fallbacks"]),
                str(patches["lost"]) if "lost" in patches else "–",
                "–" if fidelity is None else f"{fidelity:.3f}",
            ]
        )
    if not rows:
        return None
    columns = ["patches", *(str(kind) for kind in FailureClass), "fallbacks", "fields lost", "fidelity"]
    return make_table(
        "Patches: failed replies by first cause", {"run": False, **dict.fromkeys(columns, True)}, rows
    )


def _truth(run: Run) -> tuple[TrueStates, Callable[[JSON, JSON], float]] | None:
    """The environment's companions that know Σ*, where it has them and can still be loaded."""
    try:
        module = load_plugin("environment", run.config.environment.name, base=run.base).module
    except ConfigError:
        return None
    states, fidelity = getattr(module, "true_states", None), getattr(module, "state_fidelity", None)
    return None if states is None or fidelity is None else (states, fidelity)


def _against_truth(
    past: PastSession,
    true_states: TrueStates,
    fidelity: Callable[[JSON, JSON], float],
    parameters: Mapping[str, JSON],
) -> tuple[int, list[float]]:
    journal = PatchJournal.from_trace(past.trace)
    actions = [interaction.action for interaction in past.interactions]
    committed = {entry.step: entry for entry in journal.entries if entry.committed}
    lost, values, before = 0, [], journal.initial
    for step, truth in enumerate(true_states(past.record.task_id, actions, **parameters), 1):
        after = apply_changes(before, committed[step].changes) if step in committed else before
        lost += len(lost_fields(before, after, truth))
        values.append(fidelity(after, truth))
        before = after
    return lost, values
