from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.knowledge_graph.programs import (
    DEEPEST,
    And,
    Count,
    Entity,
    Join,
    Program,
    Superlative,
    entities_of,
    parse_program,
    size,
)
from tests.environments.knowledge_graph.graphs import programs

_names = st.text(min_size=1, max_size=6)
odd_programs = st.recursive(
    st.builds(Entity, _names),
    lambda inner: st.one_of(
        st.builds(Join, _names, inner, st.booleans()),
        st.builds(And, inner, inner),
        st.builds(Count, inner),
        st.builds(Superlative, st.sampled_from(["ARGMAX", "ARGMIN"]), inner, _names),
    ),
    max_leaves=6,
)


@given(st.one_of(programs, odd_programs))
def test_what_is_written_is_read_back(program: Program) -> None:
    assert parse_program(str(program)) == program


def test_the_published_form() -> None:
    text = "(ARGMAX (AND (JOIN (R a.b.c) m.01) (JOIN d.e.f (JOIN (R g.h.i) m.02))) j.k.l)"
    program = parse_program(text)
    assert program == Superlative(
        "ARGMAX",
        And(
            Join("a.b.c", Entity("m.01")),
            Join("d.e.f", Join("g.h.i", Entity("m.02")), forward=False),
        ),
        "j.k.l",
    )
    assert str(program) == text
    assert entities_of(program) == {"m.01", "m.02"}
    assert size(program) == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        "(COUNT m.0",
        "m.0)",
        "m.0 m.1",
        "()",
        "(JOIN (R a) )",
        "(JOIN (R a b) m.0)",
        "(le a.b.c 12)",
        "(COUNT m.0 m.1)",
        "(ARGMAX m.0 (JOIN a b))",
        '(COUNT "open)',
        "((((",
        "(" * 100_000,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="S-expression"):
        parse_program(text)


def test_depth_is_bounded() -> None:
    deep = "(COUNT " * DEEPEST + "m.0" + ")" * DEEPEST
    assert size(parse_program(deep)) == DEEPEST + 1
    with pytest.raises(ValueError, match="nested"):
        parse_program(f"(COUNT {deep})")


@given(st.text('(JOINR mABCDUT.)" \\', max_size=40))
def test_any_text_is_a_program_or_a_value_error(text: str) -> None:
    try:
        program = parse_program(text)
    except ValueError:
        return
    assert parse_program(str(program)) == program
