"""The action grammar: bash blocks, finish, answers; everything else says what is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.operating_system.actions import (
    DO_NOTHING,
    Answer,
    Bash,
    Finish,
    Invalid,
    action_key,
    bash_blocks,
    parse_action,
)

FENCE = "```"


def key(reply: str) -> str | None:
    parsed = parse_action(reply, takes_answers=True)
    return None if isinstance(parsed, Invalid) else action_key(parsed)


def block(script: str) -> str:
    return f"{FENCE}bash\n{script}\n{FENCE}"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Act: finish", Finish()),
        ("I am done.\nAct: finish.", Finish()),
        ("Act:\n  FINISH", Finish()),
        (f"Act: bash\n{block('ls')}", Bash("ls")),
        (f"Act: Bash commands follow\n{block('ls')}", Bash("ls")),
        (f"Think.\nAct: bash\n\n{block('a')}\nand then\n{block('b')}", Bash("a\n\nb")),
        (f"{block('before')}\nAct: bash\n", Bash("before")),
        (f"Act: bash\n{FENCE}bash\r\nls\r\n{FENCE}", Bash("ls")),
        (f"Act: bash\n{FENCE}python\nprint()\n{FENCE}\n{block('ls')}", Bash("ls")),
        (f"Act: bash\n{block('')}", Bash("")),
        (f"Act: finish\nAct: bash\n{block('ls')}", Finish()),
    ],
)
def test_what_a_reply_means(reply: str, expected: object) -> None:
    assert parse_action(reply) == expected


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "no line"),
        (block("ls"), "no line"),
        ("act: bash", "no line"),
        ("Act:", "no line"),
        ("Act: bash\nls", "between a line"),
        (f"Act: bash\n{FENCE}bash\nls", "between a line"),
        ("Act: reboot", "`Act: bash` and the commands"),
        ("Act: answer(3)", "or a line `Act: finish`"),
    ],
)
def test_what_is_missing_is_said(reply: str, problem: str) -> None:
    parsed = parse_action(reply)
    assert isinstance(parsed, Invalid)
    assert problem in parsed.message


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Act: answer(3)", Answer("3")),
        ("Act: answer( f(x) )\nmore)", Answer("f(x)")),
        ("Act: answer()", Answer("")),
        ("Act: answer 3", Invalid("an answer is written as `Act: answer(…)` on one line")),
        (
            "Act: what",
            Invalid(
                "`Act:` is followed by something else; write a line `Act: bash` and the commands between "
                "a line ```bash and a line ``` below it, or a line `Act: answer(…)` to answer, or a line "
                "`Act: finish` when the task is done"
            ),
        ),
    ],
)
def test_answers_where_a_task_asks_for_one(reply: str, expected: object) -> None:
    assert parse_action(reply, takes_answers=True) == expected


scripts = st.text(st.characters(exclude_characters="`\r\n", exclude_categories=["Cs"]), max_size=40)


@given(st.lists(st.lists(scripts, min_size=1).map("\n".join), min_size=1, max_size=4), scripts)
def test_every_block_of_a_reply_counts(contents: list[str], between: str) -> None:
    reply = "Act: bash\n" + f"\n{between}\n".join(block(content) for content in contents)
    assert bash_blocks(reply) == contents


@given(st.text())
def test_no_reply_raises_and_forms_are_stable(reply: str) -> None:
    form = key(reply)
    assert form == key(reply)


def test_layout_does_not_change_the_normal_form() -> None:
    tidy, loose = f"Act: bash\n{block('ls -l')}", f"Well.\nAct: BASH\n{block('  ls -l   ' + chr(10))}"
    assert key(tidy) == key(loose) != key(DO_NOTHING) == "finish"


@pytest.mark.parametrize("unit", ["Act: ", "Act:\n", "```bash\n", "```", "Act: bash\n```bash\n", "\n"])
def test_a_megabyte_of_anything_is_read_in_linear_time(unit: str) -> None:
    parse_action(unit * (1_000_000 // len(unit)))
