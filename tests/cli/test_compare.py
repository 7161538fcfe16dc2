from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Perdure

MODEL = """\
from perdure.core.randomness import keyed_random
from tests.core.playing import DONE, step_to_goal

CHANCE = {"weak": 0.3, "strong": 0.9}


def play(request, kind):
    goal = next(m.text for m in request.messages if m.text.startswith("Bring"))
    seed = request.sampling.seed
    return step_to_goal(request) if keyed_random(seed, goal).random() < CHANCE[kind] else DONE


def weak(request):
    return play(request, "weak")


def strong(request):
    return play(request, "strong")
"""

CONFIG = """\
name = "{name}"
seed = {seed}

[environment]
name = "counter"
tasks = {tasks}
seed = 0

[agent.sampling]
temperature = 1.0

[models.default]
provider = "scripted"
replies = "model.py:{name}"

[models.default.price]
prompt = 1.0
completion = 1.0
"""


def played(perdure: Perdure, name: str, seed: int = 0, tasks: int = 30, *sets: str) -> Path:
    Path("model.py").write_text(MODEL)
    folder = Path(f"{name}-{seed}-{tasks}-{len(sets)}")
    Path("run.toml").write_text(CONFIG.format(name=name, seed=seed, tasks=tasks))
    arguments = [part for value in sets for part in ("--set", value)]
    outcome = perdure("run", "run.toml", "--out", folder, "--quiet", "--no-floors", *arguments)
    assert outcome.exit_code == 0, outcome.stderr
    return folder


def compared(perdure: Perdure, *arguments: str | Path) -> dict[str, Any]:
    outcome = perdure("compare", *arguments, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    body: dict[str, Any] = json.loads(outcome.stdout)
    return body


def test_two_runs_are_paired_by_task(perdure: Perdure) -> None:
    weak, strong = played(perdure, "weak"), played(perdure, "strong")
    body = compared(perdure, weak, strong)
    (found,) = body["differences"]
    assert found["test"] == "exact McNemar over tasks"
    assert (found["pairs"], found["trials"]) == (30, 30)
    assert found["won"] - found["lost"] == found["correct"] - body["baseline"]["correct"]
    assert found["difference"]["estimate"] == pytest.approx((found["won"] - found["lost"]) / 30)
    assert found["p"] == found["p_adjusted"] < 0.01
    assert found["bootstrap"] is None
    assert found["differs"] == ["models.default.replies=model.py:strong", *found["differs"][1:]]
    assert found["tokens"]["agent"]["prompt"] > 0
    assert found["cost"] > 0


def test_repeats_over_seeds_make_the_run_the_unit(perdure: Perdure) -> None:
    runs = [played(perdure, name, seed) for name in ("weak", "strong") for seed in range(3)]
    body = compared(perdure, *runs)
    (found,) = body["differences"]
    assert (found["test"], found["pairs"], len(found["runs"])) == ("paired t over runs", 3, 3)
    assert found["difference"]["low"] > 0.2
    assert found["bootstrap"]["low"] < found["difference"]["estimate"] < found["bootstrap"]["high"]


def test_several_methods_are_corrected_together(perdure: Perdure) -> None:
    runs = [played(perdure, "weak"), played(perdure, "strong")]
    runs.append(played(perdure, "weak", 0, 30, "limits.max_turns=1"))
    body = compared(perdure, *runs)
    p_values = [found["p"] for found in body["differences"]]
    adjusted = [found["p_adjusted"] for found in body["differences"]]
    assert len(p_values) == 2
    assert adjusted[p_values.index(min(p_values))] == pytest.approx(min(1.0, 2 * min(p_values)))


def test_learning_is_measured_over_runs_and_transfer_where_there_are_probes(perdure: Perdure) -> None:
    probes = "probes={checkpoints=2}"
    runs = [
        played(perdure, name, seed, 10, probes, "execution.limit=8")
        for name in ("weak", "strong")
        for seed in range(2)
    ]
    body = compared(perdure, *runs)
    learning = body["differences"][0]["learning"]
    assert set(learning) == {"area_under_curve", "forward", "forgetting", "held_out"}
    area = learning["area_under_curve"]
    assert area["low"] <= area["estimate"] <= area["high"]
    assert area["estimate"] > body["baseline"]["learning"]["area_under_curve"]["estimate"]
    assert "held out" in perdure("compare", *runs).stdout


def test_the_baseline_can_be_named(perdure: Perdure) -> None:
    weak, strong = played(perdure, "weak"), played(perdure, "strong")
    body = compared(perdure, strong, weak, "--baseline", weak)
    assert body["baseline"]["runs"] == [str(weak)]
    assert body["differences"][0]["difference"]["estimate"] > 0


def test_another_order_is_paired_by_task_and_is_a_repeat(perdure: Perdure) -> None:
    given, shuffled = played(perdure, "weak"), played(perdure, "weak", 0, 30, 'order="shuffled"')
    (found,) = compared(perdure, given, shuffled)["differences"]
    assert found["differs"] == ["order=shuffled"]
    assert (found["won"], found["lost"], found["p"]) == (0, 0, 1.0)


def test_other_metrics(perdure: Perdure) -> None:
    weak, strong = played(perdure, "weak"), played(perdure, "strong")
    (found,) = compared(perdure, weak, strong, "--metric", "interactions")["differences"]
    assert found["test"] == "signed rank over tasks"
    assert found["difference"]["estimate"] > 0


def test_the_tables_show_the_differences(perdure: Perdure) -> None:
    outcome = perdure("compare", played(perdure, "weak"), played(perdure, "strong"))
    assert outcome.exit_code == 0
    for text in ("Paired comparison", "p (Holm)", "worst case", "Tokens", "strong: models.default.replies"):
        assert text in outcome.stdout


def test_runs_of_other_tasks_are_refused(perdure: Perdure) -> None:
    runs = [played(perdure, "weak"), played(perdure, "strong", 0, 30, "execution.limit=20")]
    outcome = perdure("compare", *runs)
    assert outcome.exit_code == 2
    assert "only 'weak-0-30-0' has task '20'" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_runs_of_other_environment_versions_are_refused(perdure: Perdure) -> None:
    outcome = perdure("compare", played(perdure, "weak"), played(perdure, "strong", 0, 31))
    assert outcome.exit_code == 2
    assert "version '2+31.0', not '2+30.0'" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["weak-0-30-0"], "repeats of one condition"),
        (["weak-0-30-0", "--metric", "joy"], "unknown metric 'joy'"),
    ],
)
def test_what_cannot_be_compared_is_one_line(perdure: Perdure, arguments: list[str], message: str) -> None:
    played(perdure, "weak")
    outcome = perdure("compare", *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr


def test_the_same_run_twice_is_refused(perdure: Perdure) -> None:
    weak = played(perdure, "weak")
    import shutil

    shutil.copytree(weak, "copy")
    outcome = perdure("compare", weak, "copy")
    assert outcome.exit_code == 2
    assert "order and seed" in outcome.stderr or "repeats" in outcome.stderr


def test_what_a_run_can_find_is_said_before_it_starts(perdure: Perdure) -> None:
    outcome = perdure("run", "counter.toml", "--no-floors")
    assert outcome.stderr.startswith("minimum detectable effect: 0.572 over 6 paired sessions")
    dry = json.loads(perdure("run", "counter.toml", "--dry-run", "--json").stdout)
    assert dry["minimum_detectable_effect"] == pytest.approx(0.572, abs=1e-3)
