from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.database.actions import (
    DO_NOTHING,
    Answer,
    Invalid,
    Operation,
    action_key,
    parse_action,
)
from perdure.environments.database.prompts import (
    NO_ACTION,
    NO_FINAL_ANSWER,
    NO_SQL_BLOCK,
    REMEDIES,
    SEVERAL_STATEMENTS,
)

FRAGMENTS = st.sampled_from(
    [
        *("Action: ", "Operation", "Answer", "\n", "```sql\n", "```", "SELECT 1;", "SELECT 'a;b'"),
        *("Final Answer:", "[(1,)]", "--", "/*", "'", '"', "`", "\ud800", "\0", ";", " "),
    ]
)


def key(reply: str) -> str | None:
    action = parse_action(reply)
    return None if isinstance(action, Invalid) else action_key(action)


def operation(sql: str) -> str:
    return f"Thinking aloud.\nAction: Operation\n```sql\n{sql}\n```"


def test_an_operation_is_the_first_sql_block() -> None:
    reply = operation("SELECT 1;") + "\n```sql\nSELECT 2\n```"
    assert parse_action(reply) == Operation(("SELECT 1",))


def test_an_answer_is_one_line() -> None:
    assert parse_action("Action: Answer\nFinal Answer: [(1,)] \nAnd more.") == Answer("[(1,)]")


def test_the_first_action_counts() -> None:
    both = operation("SELECT 1") + "\nAction: Answer\nFinal Answer: []"
    assert isinstance(parse_action(both), Operation)
    assert isinstance(parse_action(f"{DO_NOTHING}\n{both}"), Answer)


def test_a_semicolon_in_a_literal_or_comment_is_no_second_statement() -> None:
    assert parse_action(operation("SELECT ';' AS a /* ; */ -- ;")) == Operation(("SELECT ';' AS a",))


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("", NO_ACTION),
        ("SELECT 1", NO_ACTION),
        ("Action: Think", NO_ACTION),
        ("Action: Operation\nSELECT 1", NO_SQL_BLOCK),
        ("Action: Operation\n```sql\nSELECT 1", NO_SQL_BLOCK),
        ("Action: Operation\n```python\nprint(1)\n```", NO_SQL_BLOCK),
        ("Action: Operation\n```sql\n\n```", NO_SQL_BLOCK),
        ("Action: Operation\n```sql\n;;\n```", NO_SQL_BLOCK),
        ("Action: Answer\n[(1,)]", NO_FINAL_ANSWER),
        ("Final Answer: 3\nAction: Answer", NO_FINAL_ANSWER),
        (operation("SELECT 1; SELECT 2"), SEVERAL_STATEMENTS),
    ],
)
def test_what_is_missing_is_named(reply: str, kind: str) -> None:
    parsed = parse_action(reply)
    assert isinstance(parsed, Invalid)
    assert parsed.kind == kind
    assert REMEDIES[kind]


def test_the_paper_reads_fences_strictly_joins_lines_and_allows_several_statements() -> None:
    inline = "Action: Operation\n```sql SELECT 1```"
    assert parse_action(inline) == Operation(("SELECT 1",))
    assert parse_action(inline, as_paper=True) == Invalid(NO_SQL_BLOCK)
    assert parse_action(operation("SELECT\n1; SELECT 2"), as_paper=True) == Operation(
        ("SELECT 1", "SELECT 2")
    )


def test_the_paper_takes_the_first_final_answer_wherever_it_stands_and_a_comment_for_a_statement() -> None:
    reply = "I think\nFinal Answer: 1\nbut let me see.\nAction: Answer\nFinal Answer: 2"
    assert parse_action(reply) == Answer("2")
    assert parse_action(reply, as_paper=True) == Answer("1")
    comment = operation("-- all of it\nSELECT 1")
    assert parse_action(comment) == Operation(("SELECT 1",))
    assert parse_action(comment, as_paper=True) == Operation(())
    assert parse_action("Action:Answer\nFinal Answer: 2", as_paper=True) == Invalid(NO_ACTION)


def test_sql_that_cannot_be_split_is_left_to_the_engine() -> None:
    assert parse_action(operation("SELECT 'open")) == Operation(("SELECT 'open",))


@given(st.lists(FRAGMENTS, max_size=12).map("".join))
def test_any_reply_is_data(reply: str) -> None:
    for as_paper in (False, True):
        assert isinstance(parse_action(reply, as_paper=as_paper), Operation | Answer | Invalid)
    form = key(reply)
    assert form == key(reply)


@given(st.text(max_size=200), st.text(max_size=40))
def test_an_answer_survives_any_thoughts(thoughts: str, answer: str) -> None:
    line = answer.partition("\n")[0]
    reply = f"{thoughts.replace('Action:', '')}\nAction: Answer\nFinal Answer:{answer}"
    assert parse_action(reply) == Answer(line.strip())


@pytest.mark.parametrize(
    "unit",
    ["Action: Operation\n", "```sql\n", "```", "Final Answer:", "Action:" + " " * 50, "(", "'", "/*", "\\"],
)
def test_a_megabyte_is_read(unit: str) -> None:
    reply = f"Action: Operation\n```sql\n{unit * (1_000_000 // len(unit))}\n```"
    assert isinstance(parse_action(reply), Operation | Invalid)
    assert isinstance(parse_action(reply, as_paper=True), Operation | Invalid)
    key(reply)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select * from t where a=1", "SELECT  *\nFROM t WHERE a = 1;"),
        ("SELECT a FROM t WHERE b = 'x'", 'SELECT a FROM t WHERE b = "x" -- the x ones'),
        ("SELECT COUNT(*) FROM t", "SELECT count(*) FROM t"),
    ],
)
def test_equal_statements_have_one_key(one: str, other: str) -> None:
    assert key(operation(one)) == key(operation(other))


def test_different_actions_have_different_normal_forms() -> None:
    forms = {
        key(operation("SELECT 1")),
        key(operation("SELECT 2")),
        key("Action: Answer\nFinal Answer: SELECT 1"),
        key("Action: Answer\nFinal Answer: [(1,)]"),
        key(operation("SELECT 'a' = 'A'")),
    }
    assert len(forms) == 5
    assert key("no action") is None
