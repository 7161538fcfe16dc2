from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.database.answers import Unreadable, read_answer
from perdure.environments.database.engine import Row, Value
from perdure.environments.database.observations import cut, rows_text
from perdure.environments.database.scoring import answer_is_right, orders_its_result

CELLS: st.SearchStrategy[Value] = st.one_of(
    st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=12)
)
TABLES = st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[CELLS] * n), max_size=6))


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("[(1, 'a'), (2, 'b')]", 2, [(1, "a"), (2, "b")]),
        ("[[1, 'a'], [2, 'b']]", 2, [(1, "a"), (2, "b")]),
        ("((1, 'a'), (2, 'b'))", 2, [(1, "a"), (2, "b")]),
        ("(1, 'a'), (2, 'b')", 2, [(1, "a"), (2, "b")]),
        ("(1, 'a')", 2, [(1, "a")]),
        ("[(1, 'a')]", 2, [(1, "a")]),
        ("[1, 'a']", 2, [(1, "a")]),
        ("[(1,), (2,)]", 1, [(1,), (2,)]),
        ("[1, 2]", 1, [(1,), (2,)]),
        ("1, 2", 1, [(1,), (2,)]),
        ("42", 1, [(42,)]),
        ("'it\\'s'", 1, [("it's",)]),
        ('"it\'s, (so)"', 1, [("it's, (so)",)]),
        ("[]", 2, []),
        ("[(Decimal('12.3400'), NULL)]", 2, [(Decimal("12.34"), None)]),
        ("[(datetime.date(2023, 1, 5), None)]", 2, [(date(2023, 1, 5), None)]),
        ("[(True, -1.5e3)]", 2, [(True, -1500.0)]),
    ],
)
def test_forms_of_an_answer(text: str, width: int, rows: list[Row]) -> None:
    assert read_answer(text, width) == rows


@pytest.mark.parametrize(
    "text",
    [
        *(
            "[(1, 2",
            "[(1 2)]",
            "(1,)) x",
            "hello",
            "[(1, [2])]",
            "[1, (2,)]",
            "__import__('os').system('true')",
        ),
        *("Decimal('x')", "date(2023, 99, 1)", "{1: 2}", "1 + 1", "'open", "[(Ada, 3)]", "1_000", "\ud800"),
    ],
)
def test_what_is_no_literal_of_rows(text: str) -> None:
    with pytest.raises(Unreadable):
        read_answer(text, 2)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "(" * 10_000,
            "[" * 10_000 + "]" * 10_000,
            "1" * 1_000_001,
            "-" * 100_000,
            "'" * 99_999,
            "\\" * 99_999,
        ),
        *("(1,)," * 100_000 + "(", "a(" * 50_000, '"' + "\\" * 99_999),
    ],
)
def test_hostile_answers_are_wrong_and_nothing_more(text: str) -> None:
    assert not answer_is_right(text, ((1,),), ordered=False)


def test_a_huge_number_is_read() -> None:
    assert not answer_is_right("9" * 5000, ((1,),), ordered=False)
    assert not answer_is_right("1e999", ((1.5,),), ordered=False)
    assert answer_is_right("9" * 30, ((10**30 - 1,),), ordered=False)


@given(TABLES)
def test_what_is_shown_is_read_back(rows: list[Row]) -> None:
    text = rows_text(rows)
    width = len(rows[0]) if rows else 0
    assert read_answer(text, width) == rows
    assert answer_is_right(text, rows, ordered=True)


@given(TABLES, st.randoms())
def test_order_counts_only_where_it_is_asked_for(rows: list[Row], random: object) -> None:
    mixed = list(reversed(rows))
    assert answer_is_right(rows_text(mixed), rows, ordered=False)
    if rows and rows[0] != rows[-1]:
        assert not answer_is_right(rows_text([*mixed, mixed[0]]), rows, ordered=False)


@given(st.text(max_size=80))
def test_any_text_is_graded(text: str) -> None:
    assert answer_is_right(text, ((1, "a"), (2, "b")), ordered=False) in (True, False)


@pytest.mark.parametrize(
    ("answer", "truth", "right"),
    [
        ("[(2, 'b'), (1, 'a')]", ((1, "a"), (2, "b")), True),
        ("[(1, 'a'), (1, 'a')]", ((1, "a"), (2, "b")), False),
        ("[(1, 'a')]", ((1, "a"), (2, "b")), False),
        ("[('a', 1)]", ((1, "a"),), False),
        ("[(1, 'A')]", ((1, "a"),), False),
        ("[('1',)]", ((1,),), False),
        ("[(1,)]", (("1",),), False),
        ("[(1.0,)]", ((1,),), True),
        ("[(63.33333333,)]", ((63.3333,),), True),
        ("[(63.33,)]", ((63.3333,),), False),
        ("[(3.333333333,)]", ((3.3333,),), True),
        ("[(Decimal('50'),)]", ((50.0,),), True),
        ("[(None,)]", ((None,),), True),
        ("[('None',)]", ((None,),), False),
        ("[('a, (b)',)]", (("a, (b)",),), True),
        ("Ada", (("Ada",),), True),
        ("Ada Lovelace", (("Ada Lovelace",),), True),
        ("7", ((7,),), True),
        ("", ((),), False),
        (None, ((1,),), False),
        ("[]", (), True),
        ("", (), False),
        ("[(datetime.date(2023, 1, 5),)]", (("2023-01-05",),), True),
        ("[('x', 1.0000004), ('x', 2)]", (("x", 2), ("x", 1)), True),
    ],
)
def test_default_comparison(answer: str | None, truth: tuple[Row, ...], right: bool) -> None:
    assert answer_is_right(answer, truth, ordered=False) is right


def test_an_ordered_question_wants_its_order() -> None:
    truth: tuple[Row, ...] = ((1,), (2,))
    assert answer_is_right("[(1,), (2,)]", truth, ordered=True)
    assert not answer_is_right("[(2,), (1,)]", truth, ordered=True)


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3) AS d", False),
        ("SELECT a FROM t", False),
        ("SELEC", False),
        ("DELETE FROM t ORDER BY a LIMIT 1", False),
    ],
)
def test_only_the_outermost_order_counts(sql: str, ordered: bool) -> None:
    assert orders_its_result(sql) is ordered


@given(st.text(max_size=300), st.integers(100, 200))
def test_a_cut_text_is_bounded_and_says_what_is_missing(text: str, limit: int) -> None:
    shown = cut(text, limit)
    if len(text) <= limit:
        assert shown == text
    else:
        assert len(shown) < limit + 60
        assert f"{len(text) - limit} characters cut" in shown
        assert shown.startswith(text[:40])
        assert shown.endswith(text[-40:])
