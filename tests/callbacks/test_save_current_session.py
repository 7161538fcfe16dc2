from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.callbacks.save_current_session import CALLBACK, SaveCurrentSession
from perdure.core.well_formed import well_formed
from tests.core.playing import DONE, play, step_to_goal
from tests.core.spy import Spy


def test_at_every_event_the_file_is_the_session_as_it_stands(tmp_path: Path) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    def look(event: str, ctx: perdure.CallbackContext) -> None:
        session = ctx.session
        path = tmp_path / "current_sessions" / f"{session.index}.json"
        if event == "on_state_save":
            assert not path.exists(), "its record is in the run now"
            return
        body = json.loads(path.read_text())
        assert body["v"] == 1
        assert (body["index"], body["task"], body["repeat"]) == (session.index, session.task_id, 0)
        assert (body["status"], body["goal"], body["turns"]) == (session.status, session.goal, session.turns)
        assert body["reply"] == (session.reply.text if session.reply is not None else None)
        assert body["finish_reason"] == session.finish_reason
        assert body["outcome"] == session.evaluation.outcome
        assert body["history"] == [[m.role, m.text] for m in session.history]
        seen.append((event, body))

    play(tmp_path, step_to_goal, [SaveCurrentSession(folder=tmp_path), Spy([], act=look)], tasks=2)
    assert {event for event, _ in seen} == {
        "on_session_create",
        "on_environment_reset",
        "on_agent_inference",
        "on_environment_interact",
        "on_environment_complete",
    }
    assert {body["outcome"] for _, body in seen} == {"unset", "correct"}


@pytest.mark.parametrize("text", ["\ud800 lone", "\0", "é\u2028\n", "x" * 100_000])
def test_any_reply_can_be_written(tmp_path: Path, text: str) -> None:
    replies: list[str] = []

    def look(event: str, ctx: perdure.CallbackContext) -> None:
        if event == "on_agent_inference":
            replies.append(json.loads((tmp_path / "current_sessions" / "0.json").read_text())["reply"])

    play(tmp_path, [text, DONE], [SaveCurrentSession(folder=tmp_path), Spy([], act=look)], tasks=1)
    assert replies == [well_formed(text), DONE]


def test_it_only_watches_so_a_run_may_be_resumed_without_it(tmp_path: Path) -> None:
    assert CALLBACK is SaveCurrentSession
    config = {"environment": {"name": "counter", "tasks": 2}, "agent": {"kind": "oracle"}}
    with_it = {**config, "callbacks": [{"name": "save_current_session"}]}
    first = perdure.run(with_it, sets=["execution.limit=1"], out=tmp_path / "run")
    assert list((first.folder / "current_sessions").iterdir()) == []
    assert len(perdure.run(config, out=tmp_path / "run").sessions) == 2
