"""`perdure run`: results, resumption, choices of tasks, floors, estimates."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from perdure import load
from perdure.core.installation import run_command
from tests.cli.conftest import Perdure


def facts(perdure: Perdure, *arguments: str | Path) -> dict[str, object]:
    result = perdure("run", "counter.toml", "--quiet", "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    body: dict[str, object] = json.loads(result.stdout)
    return body


def test_table_shows_run_floors_skills_and_what_to_do_next(perdure: Perdure, folder: Path) -> None:
    result = perdure("run", "counter.toml", "--set", "agent.kind=model", "--out", "out")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert any("scripted / full_history" in line and "0/6 0.00 [0.00–0.39]" in line for line in lines)
    assert any("(ceiling: oracle)" in line and "6/6 1.00 [0.61–1.00]" in line for line in lines)
    assert any("(floor: do nothing)" in line and "0/6 0.00" in line for line in lines)
    assert any(line.strip().startswith("increase") for line in lines)
    assert "statuses: completed 6" in lines
    assert lines[-1] == f"next: {run_command()} report out | {run_command()} replay out"
    assert "6/6 tasks" in result.stderr


def test_json_is_the_whole_stdout(perdure: Perdure) -> None:
    body = facts(perdure, "--out", "out")
    assert body["success"] == {
        "correct": 6,
        "of": 6,
        "rate": 1.0,
        "low": pytest.approx(0.6097, abs=1e-4),
        "high": 1.0,
    }
    assert body["finished"] is True
    assert body["statuses"] == {"completed": 6}


def test_success_without_limit_reached_sessions(perdure: Perdure) -> None:
    config = Path("counter.toml")
    config.write_text(config.read_text().replace('["Action: done"]', '["Action: read"]'))
    arguments = ["--set", "agent.kind=model", "--set", "limits.max_interactions=2", "--no-floors", "-q"]
    result = perdure("run", "counter.toml", *arguments)
    assert "statuses: task_limit_reached 6; success without limit-reached sessions: –" in result.stdout


def test_quiet_says_nothing_on_stderr(perdure: Perdure) -> None:
    assert perdure("run", "counter.toml", "--quiet").stderr == ""


def test_cost_follows_the_price(perdure: Perdure) -> None:
    body = facts(perdure, "--set", "agent.kind=model")
    tokens = body["tokens"]
    assert isinstance(tokens, dict)
    expected = (tokens["prompt"] * 2.0 + tokens["completion"] * 8.0) / 1e6
    assert tokens["prompt"] > 0
    assert body["cost"] == pytest.approx(expected)


def test_cost_is_unknown_without_a_price(perdure: Perdure, folder: Path) -> None:
    path = folder / "counter.toml"
    path.write_text(path.read_text().partition("[models.default.price]")[0])
    assert facts(perdure, "--set", "agent.kind=model")["cost"] is None


def test_second_call_resumes_and_plays_nothing(perdure: Perdure, folder: Path) -> None:
    first = facts(perdure, "--out", "out")
    before = (folder / "out" / "sessions.jsonl").read_bytes()
    assert facts(perdure, "--out", "out") == first
    assert (folder / "out" / "sessions.jsonl").read_bytes() == before


def test_a_finished_run_says_that_nothing_was_played(perdure: Perdure) -> None:
    arguments = ["run", "counter.toml", "-q", "--out", "out"]
    assert "already finished" not in perdure(*arguments, "--limit", "2").stdout
    assert "already finished" not in perdure(*arguments).stdout
    assert "already finished, nothing was played" in perdure(*arguments).stdout.splitlines()


def test_agent_errors_come_with_their_commonest_reason(perdure: Perdure, folder: Path) -> None:
    config = folder / "counter.toml"
    config.write_text(config.read_text().replace("cycle = true", ""))
    arguments = ["--set", "agent.kind=model", "--out", "out"]
    result = perdure("run", "counter.toml", "-q", *arguments)
    assert re.search(r"statuses: agent_unknown_error 5 \(.*used up.*\), completed 1", result.stdout)
    assert re.search(r"agent_unknown_error 5 \(.*used up", perdure("report", "out").stdout)
    reasons = facts(perdure, *arguments)["reasons"]
    assert isinstance(reasons, dict)
    assert list(reasons) == ["agent_unknown_error"]


def test_a_shorter_run_is_continued(perdure: Perdure, folder: Path) -> None:
    assert facts(perdure, "--out", "out", "--limit", "2")["sessions"] == 2
    assert facts(perdure, "--out", "out")["sessions"] == 6
    assert facts(perdure, "--out", "whole")["sessions"] == 6
    parts, whole = (folder / name / "sessions.jsonl" for name in ("out", "whole"))
    assert parts.read_bytes() == whole.read_bytes()


def test_tasks_and_repeats(perdure: Perdure, folder: Path) -> None:
    body = facts(perdure, "--out", "out", "--tasks", "4, 1", "--repeat", "2")
    lines = [json.loads(line) for line in (folder / "out" / "sessions.jsonl").read_text().splitlines()]
    assert [(line["task"], line["repeat"]) for line in lines] == [("4", 0), ("1", 0), ("4", 1), ("1", 1)]
    assert body["planned"] == 4


def test_floors_are_kept_and_follow_the_schedule(perdure: Perdure, folder: Path) -> None:
    facts(perdure, "--out", "out", "--limit", "2")
    assert len(load(folder / "out" / "floors" / "oracle").sessions) == 2
    floors = facts(perdure, "--out", "out")["floors"]
    assert isinstance(floors, dict)
    assert {kind: floor["success"]["correct"] for kind, floor in floors.items()} == {
        "oracle": 6,
        "do_nothing": 0,
    }


def test_kept_floors_are_not_played_again(perdure: Perdure, folder: Path) -> None:
    facts(perdure, "--out", "out")
    ledgers = [folder / "out" / "floors" / kind / "ledger.jsonl" for kind in ("oracle", "do_nothing")]
    before = [ledger.read_bytes() for ledger in ledgers]
    assert facts(perdure, "--out", "out")["floors"]
    assert [ledger.read_bytes() for ledger in ledgers] == before, "start times too"


def test_no_floors(perdure: Perdure, folder: Path) -> None:
    assert facts(perdure, "--out", "out", "--no-floors")["floors"] is None
    assert not (folder / "out" / "floors").exists()


def test_dry_run_estimates_and_writes_nothing(perdure: Perdure, folder: Path) -> None:
    body = facts(
        perdure,
        "--dry-run",
        "--set",
        "agent.kind=model",
        "--set",
        "agent.sampling.max_tokens=10",
        "--limit",
        "3",
    )
    assert body["sessions"] == 3
    assert body["calls_at_most"] == 3 * 4 * 8
    first, most = body["first_prompt_tokens"], body["prompt_tokens_at_most"]
    assert isinstance(first, int)
    assert isinstance(most, int)
    assert 3 * 50 < first < 3 * 300
    assert most == first * 32 + 3 * (32 * 31 // 2) * (10 + 1000)
    assert body["completion_tokens_at_most"] == 3 * 32 * 10
    assert body["cost_at_least"] == pytest.approx(first * 2.0 / 1e6)
    assert body["cost_at_most"] == pytest.approx((most * 2.0 + 3 * 32 * 10 * 8.0) / 1e6)
    assert sorted(path.name for path in folder.iterdir()) == ["counter.toml"]


WINDOWED = """
from perdure.models.scripted import ScriptedModel


class Windowed(ScriptedModel):
    def __init__(self, *, context_window: int = 300) -> None:
        super().__init__(["Action: done"])
"""


def test_the_estimate_keeps_to_the_context_window(perdure: Perdure, folder: Path) -> None:
    (folder / "windowed.py").write_text(WINDOWED)
    estimated = []
    for parameters in ("", ", context_window=5000", ", context_window=100000"):
        model = f'models.default={{provider="windowed.py:Windowed"{parameters}}}'
        arguments = ["--dry-run", "--set", "agent.kind=model", "--set", model, "--limit", "1"]
        estimated.append(facts(perdure, *arguments))
    small, middle, large = estimated
    assert [body["context_window"] for body in estimated] == [300, 5000, 100000]
    first = large["first_prompt_tokens"]
    assert isinstance(first, int)
    assert small["prompt_tokens_at_most"] == first + 31 * 300
    assert small["completion_tokens_at_most"] == 32 * 300
    assert middle["prompt_tokens_at_most"] == sum(min(first + t * 1512, 5000) for t in range(32))
    assert large["prompt_tokens_at_most"] == sum(first + t * 1512 for t in range(32))
    shown = perdure("run", "counter.toml", *arguments[:3], "--set", model).stdout
    assert "prompts of 100,000" in shown


def test_first_prompt_is_what_the_run_then_sends(perdure: Perdure) -> None:
    estimated = facts(perdure, "--dry-run", "--set", "agent.kind=model")["first_prompt_tokens"]
    tokens = facts(perdure, "--set", "agent.kind=model")["tokens"]
    assert isinstance(tokens, dict)
    assert tokens["prompt"] == estimated  # the scripted model ends each task with its first reply


def test_dry_run_asks_no_model(perdure: Perdure, folder: Path) -> None:
    (folder / "model.py").write_text("def reply(request):\n    raise AssertionError('asked')\n")
    config = folder / "counter.toml"
    config.write_text(
        config.read_text().replace('["Action: done"]', '"model.py:reply"').replace("cycle = true", "")
    )
    result = perdure("run", "counter.toml", "--dry-run", "--set", "agent.kind=model")
    assert result.exit_code == 0
    assert "at most" in result.stdout
    with pytest.raises(AssertionError, match="asked"):
        perdure("run", "counter.toml", "--quiet", "--set", "agent.kind=model")


def test_dry_run_of_a_scripted_agent_is_free(perdure: Perdure) -> None:
    assert facts(perdure, "--dry-run")["calls_at_most"] == 0


def test_a_folder_of_any_name_is_found_again(perdure: Perdure, folder: Path) -> None:
    body = facts(perdure, "--out", "runs/🦊", "--limit", "1")
    assert body["folder"] == "runs/🦊"
    assert (folder / "runs" / "🦊" / "sessions.jsonl").exists()
    assert perdure("report", "runs/🦊").exit_code == 0


def test_a_task_id_of_any_name_is_looked_up_as_it_is(perdure: Perdure) -> None:
    result = perdure("run", "counter.toml", "--tasks", "0,🦊", "--out", "out")
    assert result.exit_code == 2
    assert "has no task '🦊'" in result.stderr


def test_the_command_tells_what_moves_and_refuses_to_grow(perdure: Perdure, folder: Path) -> None:
    common = ["run", "counter.toml", "--out", "run", "--no-floors"]
    common += ["--set", "memory_block=4", "--set", "probes.checkpoints=2", "--set", "probes.tasks=['0']"]
    first = perdure(*common, "--limit", "3")
    assert first.exit_code == 0, first.stderr
    assert "memory_block = 4: probes after 0, 2, 3 sessions move up to 0, 3" in first.stderr.splitlines()
    refused = perdure(*common, "--quiet", "--limit", "5")
    assert refused.exit_code == 2
    (line,) = [line for line in refused.stderr.splitlines() if "move up" not in line]
    assert "'run' has its probes along 3 sessions and cannot go on to 5; give another --out" in line
