"""`perdure quickstart`: the main job on embedded defaults."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.exit_codes import resumable
from perdure.cli.out_folder import check_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perdure.core.types import JSON
    from perdure.reports.table import Table

ENVIRONMENT = "database"
CONFIG = "model.toml"
SWEEP = "strategies.toml"
TEMPLATES = {CONFIG: "quickstart_model.toml.template", SWEEP: "quickstart_sweep.toml.template"}
"""Files to go on from."""
MODEL_TASKS = 2
MODEL_TOKENS = 96
"""Two tasks, short replies and no retries keep real inference on one thread well below three minutes."""
HORIZON = 100
STRATEGIES = {
    "full_history": {"name": "full_history"},
    "last_3_turns": {"name": "sliding_window", "turns": 3},
    "structured_state": {"name": "structured_state"},
}
"""What an agent sees of a task of a hundred steps: everything, the end, or a state."""


def quickstart(
    out: Annotated[Path, typer.Option(help="Folder for the three run folders.")] = Path("quickstart"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Run real agents over real tasks, short and long: offline, without a key, in under three minutes.

    Short tasks: the oracle and the do-nothing agent play all shipped database tasks; a small language model
    inside this process plays a few. Long tasks: a perfect reader plays a hundred steps of a warehouse under
    three context strategies, so that what differs is only what its prompt contains. The same command resumes,
    or shows the finished runs again at once.
    """
    from perdure.core.errors import MissingExtra
    from perdure.reports.facts import to_json

    check_folder(out)
    facts, missing = [], ""
    _write_configs(out)
    for name, config in _configs(out).items():
        if not quiet:
            typer.echo(f"{name.replace('_', ' ')} …", err=True)
        try:
            facts.append(_play(config, quiet=quiet))
        except MissingExtra as error:
            missing = str(error)
    horizon = [_play_long(name, config, quiet=quiet) for name, config in _long_configs(out).items()]
    if as_json:
        typer.echo(to_json({"runs": facts, "long": horizon, "missing": missing or None}))
        return
    _print(facts, horizon, missing, out)


def _configs(out: Path) -> dict[str, dict[str, JSON]]:
    """One configuration an agent."""
    environment = {"name": ENVIRONMENT}
    scripted = {
        kind: {
            "name": f"quickstart-{kind}",
            "environment": environment,
            "agent": {"kind": kind},
            "execution": {"out": str(out / kind)},
        }
        for kind in ("oracle", "do_nothing")
    }
    model = {
        "name": "quickstart-model",
        "environment": environment,
        "agent": {"kind": "model", "model": "small", "retries": 0, "sampling": {"max_tokens": MODEL_TOKENS}},
        "models": {"small": {"provider": "local", "reuse_prompt": True}},
        "execution": {"out": str(out / "model"), "limit": MODEL_TASKS},
    }
    return {**scripted, "model": model}


def _long_configs(out: Path) -> dict[str, dict[str, JSON]]:
    """One configuration a strategy: the same warehouse, the same reader."""
    return {
        name: {
            "name": f"quickstart-{name}",
            "environment": {"name": "warehouse", "horizon": HORIZON, "tasks": 3, "profile": "growth"},
            "agent": {"kind": "model", "model": "reader", "strategy": strategy},
            "models": {"reader": {"provider": "perfect_reader"}},
            "execution": {"out": str(out / name)},
        }
        for name, strategy in STRATEGIES.items()
    }


def _play_long(name: str, config: Mapping[str, JSON], *, quiet: bool) -> dict[str, JSON]:
    """Run or resume one of them; what its row shows."""
    from perdure.experiment.config import load_config
    from perdure.experiment.experiment import Experiment
    from perdure.experiment.runs import Run
    from perdure.reports.sweep_table import growth_facts

    if not quiet:
        typer.echo(f"{name.replace('_', ' ')} …", err=True)
    with Experiment(load_config(config)) as experiment, resumable(experiment.folder):
        experiment.run()
        return {"run": name.replace("_", " "), "error": None, **growth_facts(Run(experiment.folder))}


def _play(config: Mapping[str, JSON], *, quiet: bool) -> dict[str, JSON]:
    """Run or resume one of them."""
    from perdure.experiment.config import load_config
    from perdure.experiment.experiment import Experiment
    from perdure.experiment.runs import Run
    from perdure.reports.facts import run_facts
    from perdure.reports.floors import floors_of

    watchers = [] if quiet else ["progress"]
    with Experiment(load_config(config), watchers=watchers) as experiment, resumable(experiment.folder):
        experiment.run()
        floors_of(experiment)
        return run_facts(Run(experiment.folder))


def _print(facts: list[dict[str, JSON]], horizon: list[dict[str, JSON]], missing: str, out: Path) -> None:
    from perdure.cli.console import print_tables
    from perdure.core.installation import run_command

    perdure = run_command()
    print_tables([_table(facts), _long_table(horizon)])
    if missing:
        typer.echo(f"The language model did not run: {missing}\nThen run `{perdure} quickstart` again.\n")
    else:
        typer.echo(
            "The packaged model has 135 million parameters: it is here to show real inference,\n"
            "and is expected to solve none of its tasks. A better one:\n"
        )
    typer.echo(
        _NEXT.format(
            perdure=perdure,
            config=out / CONFIG,
            sweep=out / SWEEP,
            folder=out / ("oracle" if missing else "model"),
        )
    )


_NEXT = """\
  any GGUF file    {perdure} run {config} --set models.small.path=/models/your-model.gguf
  any server       {perdure} run {config} --set \\
                     'models.small={{provider="openai_compatible", model="NAME", base_url="http://localhost:8000/v1"}}'
                   (vLLM, llama.cpp, Ollama, hosted providers; a key is read from OPENAI_API_KEY)

  look closer      {perdure} report {folder}
                   {perdure} replay {folder}
  a grid of runs   {perdure} sweep {sweep}"""


def _write_configs(out: Path) -> None:
    """A run and a sweep to go on with, kept where the user changed them."""
    from importlib.resources import files

    from perdure.storage.files import replace_atomically

    for name, template in TEMPLATES.items():
        if not (out / name).exists():
            text = files("perdure.cli").joinpath("templates", template).read_text("utf-8")
            replace_atomically(out / name, text)


def _long_table(horizon: list[dict[str, JSON]]) -> Table:
    from perdure.reports.table import make_table

    columns = {
        "what the prompt holds": False,
        "score": True,
        "prompt mean": True,
        "prompt max": True,
        "growth": True,
    }
    rows = [
        [
            row["run"],
            f"{row['score']:.2f}",
            f"{row['prompt_mean']:,.0f}",
            f"{row['prompt_max']:,}",
            f"T^{row['growth_exponent']['value']:.2f}" if row["growth_exponent"] else "–",
        ]
        for row in horizon
    ]
    return make_table(
        f"Warehouse, {HORIZON} steps: tokens of a prompt, and how all of them grow", columns, rows
    )


def _table(facts: list[dict[str, JSON]]) -> Table:
    from perdure.reports.run_tables import agent_label, success_cell
    from perdure.reports.table import make_table

    columns = {
        "agent": False,
        "success [95%]": True,
        "steps": True,
        "prompt tokens": True,
        "completion tokens": True,
        "seconds": True,
    }
    rows = [
        [
            agent_label(run).replace("_", " ") if run["agent"] != "model" else agent_label(run),
            success_cell(run["success"]),
            f"{run['steps']:,}",
            f"{run['tokens']['prompt']:,}",
            f"{run['tokens']['completion']:,}",
            f"{run['seconds']:.1f}",
        ]
        for run in facts
    ]
    return make_table("Database tasks", columns, rows)
