"""Which letter of a report stands for which run, and what sets the runs apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice, product
from string import ascii_uppercase
from textwrap import shorten

from perdure.core.types import JSON
from perdure.experiment.config import RunConfig, flatten
from perdure.experiment.runs import Run
from perdure.reports.table import Table, make_table

Facts = Mapping[str, JSON]

_VALUE_SHOWN = 40
"""Characters of a value that differs; `--json` shows it whole."""


def letters(runs: int) -> list[str]:
    """A, B, …, Z, AA, AB, …"""
    names = ("".join(name) for size in count(1) for name in product(ascii_uppercase, repeat=size))
    return list(islice(names, runs))


def legend_facts(runs: Sequence[Run]) -> list[dict[str, JSON]]:
    """For each run its letter, the keys of its configuration that set it apart, and how many tasks it has.

    `tasks_in_common` counts the tasks that every run has finished a session of.
    """
    tasks = [
        {(run.config.environment.name, trial[0]) for trial in run.reader.committed.trials() if trial}
        for run in runs
    ]
    common = set.intersection(*tasks) if tasks else set()
    apart = differences([run.config for run in runs])
    return [
        {"run": letter, "differs": differs, "tasks": len(own), "tasks_in_common": len(common)}
        for letter, differs, own in zip(letters(len(runs)), apart, tasks, strict=True)
    ]


def differences(configs: Sequence[RunConfig]) -> list[dict[str, JSON]]:
    """`key.path -> value` of each configuration, for keys that are not the same in all of them.

    Names do not count. What only one kind of agent has does not either: its kind says that.
    """
    flat = [_flat(config) for config in configs]
    keys = dict.fromkeys(key for one in flat for key in one)
    apart = [key for key in keys if _differs(key, flat)]
    return [{key: one[key] for key in apart if key in one} for one in flat]


def legend_table(runs: Iterable[Facts]) -> Table:
    """One row a run: letter, folder, what differs."""
    rows = [[facts["run"], facts["folder"], _apart(facts)] for facts in runs]
    return make_table("Legend", {"run": False, "folder": False, "what differs": False}, rows, drop_empty=True)


def legend_lines(runs: Sequence[Facts], width: int) -> list[str]:
    """The legend for a terminal: a path is never folded, what does not fit stands below it."""
    letter = max(len(facts["run"]) for facts in runs)
    lines = []
    for facts in runs:
        line = f"{facts['run']:{letter}}  {facts['folder']}"
        apart = _apart(facts)
        if len(line) + 2 + len(apart) <= width:
            lines.append(f"{line}  {apart}".rstrip())
        else:
            lines += [line, " " * (letter + 2) + apart]
    return lines


def tasks_note(runs: Sequence[Facts]) -> str:
    """A warning where the runs do not have the same tasks, else nothing."""
    if all(facts["tasks"] == facts["tasks_in_common"] for facts in runs):
        return ""
    counts = ", ".join(f"{facts['run']} {facts['tasks']}" for facts in runs)
    return f"not the same tasks: {counts}; in common {runs[0]['tasks_in_common']}"


def _flat(config: RunConfig) -> dict[str, JSON]:
    method = config.method()
    del method["name"]
    chosen = {key: getattr(config.execution, key) for key in ("limit", "repeat")}
    return flatten({**method, "execution": {key: value for key, value in chosen.items() if value}})


def _differs(key: str, flat: Sequence[Mapping[str, JSON]]) -> bool:
    values = [one.get(key) for one in flat if key in one or not key.startswith("agent.")]
    return any(value != values[0] for value in values)


def _apart(facts: Facts) -> str:
    return ", ".join(
        f"{key}={shorten(str(value), _VALUE_SHOWN, placeholder=' …')}"
        for key, value in facts["differs"].items()
    )
