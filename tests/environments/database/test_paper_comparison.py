"""The quirks of the original comparison, each kept under `compat = "paper"` and each absent by default."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.database.engine import Row
from perdure.environments.database.paper_scoring import paper_answer_is_right
from perdure.environments.database.scoring import answer_is_right


@pytest.mark.parametrize(
    ("answer", "truth", "paper", "default"),
    [
        # order counts although nothing asks for it
        ("[(2,), (1,)]", ((1,), (2,)), False, True),
        # a text with a comma or a parenthesis can never match
        ("[('Smith, Ann', 1)]", (("Smith, Ann", 1),), False, True),
        ("[('Unit (A)',)]", (("Unit (A)",),), False, True),
        # NULL can never match
        ("[(None,)]", ((None,),), False, True),
        # texts need no quotes, and lose one on each side, whatever it is
        ("[(Ada, 1)]", (("Ada", 1),), True, False),
        ("[('Ada\", 1)]", (("Ada", 1),), True, False),
        # an answer without tuples is compared as a whole with a single row, and right for an empty truth
        ("Ada, 1", (("Ada", 1),), True, False),
        ("anything at all", (), True, False),
        ("", (), True, False),
        # what stands around the tuples does not matter
        ("The rows are (1, 'a') and (2, 'b').", ((1, "a"), (2, "b")), True, False),
        # what follows a number does not count, a quote before it does
        ("(55 units, a)", ((55, "a"),), True, False),
        ("[(7',)]", ((7,),), True, False),
        # four decimals of a mean are compared with a relative tolerance only
        ("[(3.33333333,)]", ((3.3333,),), False, True),
    ],
)
def test_a_quirk(answer: str, truth: tuple[Row, ...], paper: bool, default: bool) -> None:
    assert paper_answer_is_right(answer, truth) is paper
    assert answer_is_right(answer, truth, ordered=False) is default


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("[(1, 'a'), (2, 'b')]", ((1, "a"), (2, "b"))),
        (
            "[('unpaid', Decimal('6800')), ('pending', Decimal('6100'))]",
            (("unpaid", 6800.0), ("pending", 6100.0)),
        ),
        ("[(63.3333,)]", ((63.3333,),)),
        ("[(1,)]", ((1,),)),
    ],
)
def test_what_both_accept(answer: str, truth: tuple[Row, ...]) -> None:
    assert paper_answer_is_right(answer, truth)
    assert answer_is_right(answer, truth, ordered=True)


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("[('1',)]", ((1,),)),
        ("[(1, 2)]", ((1,),)),
        ("[(1,)]", ((1,), (1,))),
        ("", ((1,),)),
        ("[]", ((1, 2),)),
        ("[('-55',)]", ((-55,),)),
    ],
)
def test_what_both_refuse(answer: str, truth: tuple[Row, ...]) -> None:
    assert not paper_answer_is_right(answer, truth)
    assert not answer_is_right(answer, truth, ordered=True)


@pytest.mark.parametrize(
    "answer",
    [
        "[(1, 'a')])",
        "[(1, 'a'))]",
        "((1, 'a'))",
        "[(1, 'a')] (",
        "Decimal(Decimal(1)), a",
        ") [(1, 'a')]",
    ],
)
def test_a_bracket_without_a_partner_makes_all_of_it_wrong(answer: str) -> None:
    assert paper_answer_is_right("[(1, 'a')]", ((1, "a"),))
    assert not paper_answer_is_right(answer, ((1, "a"),))


@given(st.text(alphabet="(),'\"Decimal1 a", max_size=60))
def test_any_text_is_graded(text: str) -> None:
    assert paper_answer_is_right(text, ((1, "a"),)) in (True, False)


@pytest.mark.parametrize("text", ["(" * 1_000_000, "()" * 500_000, "Decimal(" * 100_000, "," * 1_000_000])
def test_a_megabyte_is_graded(text: str) -> None:
    assert not paper_answer_is_right(text, ((1, "a"),))
