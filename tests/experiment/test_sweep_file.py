"""Sweep files: grids, cases, labels, folders, and every mistake in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.core.agent import ModelAgent
from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.experiment.config import load_config, set_key
from perdure.experiment.experiment import Experiment
from perdure.experiment.sweep.file import Sweep, load_sweep

BASE = """
[base]
environment = { name = "counter" }
agent = { kind = "oracle" }
"""


def sweep(folder: Path, text: str) -> Sweep:
    file = folder / "sweep.toml"
    file.write_text(text)
    return load_sweep(file)


def test_a_grid_is_every_combination(tmp_path: Path) -> None:
    planned = sweep(tmp_path, f'{BASE}\n[grid]\nseed = [1, 2, 3]\n"environment.tasks" = [4, 5]')
    assert [run.label for run in planned.runs] == [
        f"seed={seed}, tasks={tasks}" for seed in (1, 2, 3) for tasks in (4, 5)
    ]
    assert planned.runs[-1].config["environment"] == {"name": "counter", "tasks": 5}
    assert len({run.folder for run in planned.runs}) == 6
    assert planned.out == Path("runs/sweep")


def test_dotted_keys_need_no_quotes(tmp_path: Path) -> None:
    planned = sweep(tmp_path, f"{BASE}\n[grid]\nenvironment.tasks = [4, 5]")
    assert [run.config["environment"]["tasks"] for run in planned.runs] == [4, 5]


def test_a_table_takes_the_place_of_a_section(tmp_path: Path) -> None:
    text = f"""{BASE}
[grid]
"agent.strategy" = [{{ name = "full_history" }}, {{ name = "sliding_window", turns = 2 }}]
"""
    planned = sweep(tmp_path, text)
    assert [run.label for run in planned.runs] == ["full_history", "sliding_window turns=2"]
    assert planned.runs[0].config["agent"] == {"kind": "oracle", "strategy": {"name": "full_history"}}


def test_cases_are_combined_with_the_grid(tmp_path: Path) -> None:
    text = f"""{BASE}
[grid]
seed = [1, 2]
[[cases]]
name = "few"
set = {{ environment.tasks = 2 }}
[[cases]]
name = "oracle of many"
set = {{ "agent" = {{ kind = "oracle" }}, environment.tasks = 9 }}
"""
    planned = sweep(tmp_path, text)
    assert [run.label for run in planned.runs][:3] == [
        "few, seed=1",
        "few, seed=2",
        "oracle of many, seed=1",
    ]
    assert planned.runs[2].config["environment"]["tasks"] == 9


def test_without_a_grid_there_is_one_run(tmp_path: Path) -> None:
    (run,) = sweep(tmp_path, f'name = "one"\n{BASE}').runs
    assert run.label == "one"
    assert run.config["name"] == "one"


def test_keys_with_the_same_end_are_told_in_full(tmp_path: Path) -> None:
    text = f"""{BASE}
[base.models.a]
provider = "scripted"
[base.models.b]
provider = "scripted"
[grid]
models.a.replies = [["1"], ["2"]]
models.b.replies = [["3"], ["4"]]
"""
    assert sweep(tmp_path, text).runs[0].label == "models.a.replies=['1'], models.b.replies=['3']"


def test_a_base_may_be_a_file_and_is_where_paths_start(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "run.toml").write_text('environment = { name = "counter" }')
    planned = sweep(tmp_path, 'base = "configs/run.toml"\n[grid]\nseed = [1, 2]')
    assert planned.base == (tmp_path / "configs").resolve()
    assert len(planned.runs) == 2


def test_the_folder_changes_with_results_only(tmp_path: Path) -> None:
    (first,) = sweep(tmp_path, BASE).runs
    (same,) = sweep(tmp_path, f"{BASE}\nexecution = {{ fsync = false }}").runs
    (other,) = sweep(tmp_path, f"{BASE}\nseed = 5").runs
    assert first.folder == same.folder != other.folder


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "base: missing"),
        ("base = 3", "base"),
        ("gird = 1\nbase = {}", "gird: unknown key; choose one of: name, base, out, grid, cases"),
        ("base = 'absent.toml'", "absent.toml"),
        (f"{BASE}\n[grid]\nseed = 3", "grid.seed: expected a list of values, got 3"),
        (f"{BASE}\n[grid]\nseed = []", "grid.seed: expected a list"),
        (f"{BASE}\n[grid]\nsede = [1]", "run 'sweep': configuration: sede: unknown key"),
        (f"{BASE}\n[grid]\nseed = [1, 'x']", "run 'seed=x'"),
        (f"{BASE}\n[grid]\nseed = [1, 1]", "is there twice"),
        (f'{BASE}\n[grid]\n"seed.inner" = [1]\n', "run"),
        ("base = [", "not valid TOML"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        sweep(tmp_path, text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no sweep file"):
        load_sweep(tmp_path / "none.toml")


def test_lists_are_reached_by_index() -> None:
    data: dict[str, JSON] = {"callbacks": [{"name": "a"}]}
    set_key(data, "callbacks.0.every", 3)
    assert data == {"callbacks": [{"name": "a", "every": 3}]}
    with pytest.raises(ConfigError, match="neither a table nor an index"):
        set_key(data, "callbacks.1.every", 3)
    with pytest.raises(ConfigError, match="not inside a table"):
        set_key({"seed": 1}, "seed.x", 3)


SHIPPED_TASKS = (
    Path(__file__).parents[2] / "src" / "perdure" / "environments" / "database" / "data" / "tasks.json"
)
SHIPPED = [
    file
    for file in sorted((Path(__file__).parents[2] / "configs").rglob("*.toml"))
    if "\n[grid]\n" in file.read_text()
]


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_shipped_sweeps_can_be_started(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(key, "unused")
    planned = load_sweep(file)
    assert len(planned.runs) > 1
    for run in planned.runs:
        strategy = run.config["agent"].get("strategy", {})
        if strategy.get("budget_tokens") == "match":
            strategy["budget_tokens"] = 1_000  # what the other arm takes is known when it was played
        if "tasks" in run.config["environment"] and run.config["environment"]["name"] == "database":
            # The published file is the user's to bring; ours has the same form.
            run.config["environment"]["tasks"] = str(SHIPPED_TASKS)
        with Experiment(load_config(run.config), base=planned.base) as experiment:
            assert isinstance(experiment.agent(), ModelAgent)
    if file.parent.name == "paper":
        for run in planned.runs:
            sampling = load_config(run.config).agent.sampling
            assert (sampling.temperature, sampling.top_p) == (0.0, 1.0)
            assert "base_url" in run.config["models"]["default"]


IMPOSSIBLE = {
    "dates": (f"{BASE}\n[grid]\nseed = [2020-01-01]", "grid.seed.0: expected a string, a number"),
    "not finite": (f"{BASE}\n[grid]\nlimits.max_seconds = [inf]", "expected a finite number, got inf"),
    "a NUL in the path": ('base = "a\\u0000.toml"', "base: cannot read "),
    "a NUL in the folder": (f'out = "a\\u0000"\n{BASE}', "out: "),
    "a huge number": (f"{BASE}\n[grid]\nseed = [{'9' * 5_000}]", "cannot read "),
    "deep nesting": (f"{BASE}\n[grid]\nx = {'[' * 3_000}{']' * 3_000}", "nested too deeply"),
    "too many runs": (
        f"{BASE}\n[grid]\n" + "\n".join(f"x.k{i} = {list(range(100))}" for i in range(6)),
        "grid: 1,000,000,000,000 runs; a sweep has at most 100,000",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_no_run_could_hold_is_one_line(tmp_path: Path, case: str) -> None:
    text, expected = IMPOSSIBLE[case]
    with pytest.raises(ConfigError) as caught:
        sweep(tmp_path, text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_base_file_is_held_to_the_same_rules(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("x = nan\n")
    with pytest.raises(ConfigError, match="x: expected a finite number"):
        sweep(tmp_path, 'base = "base.toml"')
