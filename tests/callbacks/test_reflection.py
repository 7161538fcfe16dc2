from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.callbacks.reflection import HEADING, Reflection
from perdure.core.errors import ConfigError, ModelError
from perdure.core.types import Request
from perdure.models.scripted import ScriptedModel
from tests.core.playing import DONE, play, pool_of, step_to_goal


def writer(request: Request) -> str:
    """Says how many known lessons it was shown and what the verdict was."""
    question = request.messages[-1].text
    verdict = question.split("its verdict: ")[1].split(".")[0]
    return f"  {verdict}\n after {question.count('- lesson')}; "


def reflection(**parameters: Any) -> Reflection:
    model = pool_of(ScriptedModel(lambda request: f"lesson{writer(request)}")).caller("callback", "m")
    return Reflection(**{"model": model, **parameters})


def test_each_task_gives_a_lesson_that_the_next_ones_see(tmp_path: Path) -> None:
    past = play(tmp_path, callbacks=[reflection()], tasks=4)
    assert past[0].experience == ()
    lessons = [past.line(i)["callbacks"]["reflection"] for i in range(4)]
    assert lessons == [f"lesson correct, completed after {i};" for i in range(4)]
    assert past[3].experience == ("\n".join([HEADING, *(f"- {text}" for text in lessons[:3])]),)


def test_the_writer_sees_rules_history_and_verdict_in_alternating_roles(tmp_path: Path) -> None:
    seen: list[Request] = []

    def note(request: Request) -> str:
        seen.append(request)
        return "noted"

    model = pool_of(ScriptedModel(note)).caller("callback", "m")
    past = play(tmp_path, ["Action: read", DONE], [Reflection(model=model)], tasks=1)
    (request,) = seen
    assert [m.role for m in request.messages] == ["system", "user", "agent", "user", "agent", "user"]
    assert list(request.messages[1:-1]) == list(past[0].history)
    assert "incorrect, completed" in request.messages[-1].text


def test_the_store_is_bounded_in_lessons_and_length(tmp_path: Path) -> None:
    past = play(tmp_path, callbacks=[reflection(max_lessons=2, max_chars=10)], tasks=5)
    assert past[4].experience[0].splitlines()[1:] == ["- lesson cor", "- lesson cor"]


def test_only_failures(tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        goal = next(m.text for m in request.messages if m.text.startswith("Bring"))
        return DONE if "counter to -" in goal else step_to_goal(request)

    past = play(tmp_path, reply, [reflection(only_failures=True)], tasks=8)
    correct = [record.correct for record in past.records()]
    assert 0 < sum(correct) < 8
    assert ["reflection" not in past.line(i)["callbacks"] for i in range(8)] == correct


def test_a_writer_that_fails_or_is_silent_adds_nothing(tmp_path: Path) -> None:
    model = pool_of(ScriptedModel([ModelError("no"), "  ", "yes"])).caller("callback", "m")
    past = play(tmp_path, callbacks=[Reflection(model=model)], tasks=4 - 1)
    assert [past.line(i)["callbacks"].get("reflection") for i in range(3)] == [None, None, "yes"]


def test_its_tokens_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "from tests.core.playing import step_to_goal\n\n\n"
        "def reply(request):\n"
        "    return 'a lesson' if 'one lesson' in request.messages[-1].text else step_to_goal(request)\n"
    )
    config = {
        "environment": {"name": "counter", "tasks": 3},
        "models": {"default": {"provider": "scripted", "replies": f"{tmp_path}/model.py:reply"}},
        "callbacks": [{"name": "reflection", "model": "default"}],
    }
    run = perdure.run(config, out=tmp_path / "run")
    tokens = run.summary().tokens
    assert tokens["callback:reflection"].calls == 3
    assert set(tokens) == {"agent", "callback:reflection"}


def test_it_needs_a_model(tmp_path: Path) -> None:
    config = {"environment": {"name": "counter"}, "callbacks": [{"name": "reflection"}], "models": {}}
    config["agent"] = {"kind": "oracle"}
    with pytest.raises(ConfigError, match=r"callbacks\.0\.model: missing"):
        perdure.run(config, out=tmp_path)


@pytest.mark.parametrize("parameters", [{"max_lessons": 0}, {"max_chars": 0}])
def test_numbers_that_make_no_sense_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        reflection(**parameters)
