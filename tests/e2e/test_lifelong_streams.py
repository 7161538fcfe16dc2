"""The three shipped lifelong streams, played with both of their learning methods."""

from __future__ import annotations

from pathlib import Path

import pytest

import perdure
from tests.sandboxes.availability import need_bubblewrap

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.parametrize("name", ["lifelong_db", "lifelong_os", "lifelong_kg"])
def test_a_stream_is_played_with_replay_and_votes(name: str, tmp_path: Path) -> None:
    if name == "lifelong_os":
        need_bubblewrap()
    oracle = perdure.run(
        CONFIGS / f"{name}.toml",
        sets=["agent.kind=oracle", "callbacks=[]", "execution.limit=3"],
        out=tmp_path / "oracle",
    )
    solution = [interaction.action for interaction in oracle.sessions[0].interactions]
    script = tmp_path / "script.py"
    script.write_text(
        "def reply(request):\n"
        f"    solution = {solution!r}\n"
        "    asked = sum(message.role == 'agent' for message in request.messages)\n"
        "    return solution[min(asked, len(solution) - 1)]\n"
    )
    run = perdure.run(
        CONFIGS / f"{name}.toml",
        sets=[f"models.default={{provider='scripted', replies='{script}:reply'}}", "execution.limit=3"],
        out=tmp_path / "run",
    )
    assert len(run.sessions) == 3
    assert run.sessions[0].record.correct
    assert run.sessions[1].experience, "the solved task is shown in the next"
    for index in (1, 2):
        saved = run.reader.line(index)["callbacks"]["group_self_consistency"]
        assert saved, "every inference after a success is voted on, and the votes are kept"
    assert any(caller != "agent" for caller in run.summary().tokens), "groups are counted apart"
