from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.callbacks.skill_library import HEADING, Procedure, SkillLibrary, read_procedure
from perdure.core.errors import ModelError
from perdure.core.types import Request, Trial
from perdure.models.scripted import Given, ReplyFunction, ScriptedModel
from tests.core.playing import DONE, play, pool_of


def write(request: Request) -> str:
    """One procedure a target, as a model would write it."""
    goal = next(line for line in request.messages[0].text.splitlines() if "Bring" in line)
    target = goal.split("counter to ")[1].split(",")[0]
    return f"Sure.\nName: reach {target}\nWhen: Bring the counter to {target}\nSteps: 1. add\n2. done"


def library(reply: ReplyFunction | list[Given] = write, **parameters: Any) -> SkillLibrary:
    model = pool_of(ScriptedModel(reply)).caller("callback", "m")
    return SkillLibrary(**{"model": model, **parameters})


def test_a_solved_task_becomes_a_procedure_that_the_next_ones_see(tmp_path: Path) -> None:
    past = play(tmp_path, callbacks=[library()], tasks=2)
    delta = past.line(0)["callbacks"]["skill_library"]["skill"]
    assert past[1].experience == (f"{HEADING}\n\n{Procedure(**delta)}",)
    assert past.line(1)["callbacks"]["skill_library"]["shown"] == [delta["name"]]


def test_the_nearest_procedure_stands_last(tmp_path: Path) -> None:
    ids = ["0", "1", "2", "3", "4", "1"]
    schedule = [Trial(task, repeat) for repeat, task in enumerate(ids)]
    past = play(tmp_path, callbacks=[library(k=2)], tasks=5, schedule=schedule)
    shown = past.line(5)["callbacks"]["skill_library"]["shown"]
    assert len(shown) == 2
    assert shown[-1] == past.line(1)["callbacks"]["skill_library"]["skill"]["name"]


def test_failures_are_not_distilled(tmp_path: Path) -> None:
    past = play(tmp_path, lambda request: DONE, [library()], tasks=3)
    assert [past.line(i)["callbacks"] for i in range(3)] == [{}, {}, {}]


def test_a_reply_without_the_form_or_an_error_adds_nothing(tmp_path: Path) -> None:
    replies: list[Given] = ["Name: only a name", ModelError("no"), "Name: a\nWhen: b\nSteps: c"]
    past = play(tmp_path, callbacks=[library(replies)], tasks=3)
    assert ["skill_library" in past.line(i)["callbacks"] for i in range(3)] == [False, False, True]


def test_a_name_that_exists_is_replaced_and_the_least_recently_used_is_forgotten(tmp_path: Path) -> None:
    names = iter("abacd")
    callback = library(lambda _: f"Name: {next(names)}\nWhen: Bring\nSteps: s", k=0, max_skills=3)
    play(tmp_path, callbacks=[callback], tasks=5)
    assert [skill["name"] for skill in callback.snapshot_state()] == ["a", "c", "d"]


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    whole = library(k=2, max_skills=3)
    play(tmp_path / "whole", callbacks=[whole], tasks=8, snapshot_every=3)
    for tasks in range(1, 9):
        parts = library(k=2, max_skills=3)
        play(tmp_path / "parts", callbacks=[parts], tasks=tasks, snapshot_every=3)
    assert parts.snapshot_state() == whole.snapshot_state()
    files = [tmp_path / name / "sessions.jsonl" for name in ("whole", "parts")]
    assert files[0].read_bytes() == files[1].read_bytes()


LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).map(str.strip)


@given(LINE.filter(bool), LINE, LINE.filter(bool))
def test_the_form_is_read_back(name: str, when: str, steps: str) -> None:
    found = read_procedure(f"Here.\n\nName: {name}\nWhen: {when}\nSteps: {steps}", 1000)
    assert found == Procedure(name[:80], when[:200], steps[:1000])


@given(st.text())
def test_any_reply_is_read(reply: str) -> None:
    found = read_procedure(reply, 10)
    assert found is None or (found.name and found.steps)


@pytest.mark.parametrize("parameters", [{"k": -1}, {"max_skills": 0}, {"max_chars": 0}])
def test_numbers_that_make_no_sense_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        library(**parameters)
