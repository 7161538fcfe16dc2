from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.knowledge_graph.actions import (
    ARITY,
    DO_NOTHING,
    Call,
    FinalAnswer,
    action_key,
    parse_action,
    variable_number,
)

MEGABYTE = 1_000_000


def key(reply: str) -> str | None:
    parsed = parse_action(reply)
    return None if parsed is None else action_key(parsed)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Action: get_relations(#0)", Call("get_relations", ("#0",))),
        ("I look.\nAction: get_neighbors(Aune, geo.towns)\n", Call("get_neighbors", ("Aune", "geo.towns"))),
        ("Action: count(#1) Action: count(#2)", Call("count", ("#1",))),
        ("Action:get_relations( Port (old) )", Call("get_relations", ("Port (old)",))),
        ("Action: get_relations()", Call("get_relations", ())),
        ("Action: count(#1", None),
        ("Action: count(,,,,,,,,,,,,", None),
        ("Action: count(,,,,,,,,,,,,)", Call("count", ("",) * 9)),
        ("Action: count", None),
        ("Action: count(\n#1)", None),
        ("Action: broken(\nAction: count(#3)", Call("count", ("#3",))),
        ("Action: get_relations(a (b)", Call("get_relations", ("a (b",))),
        ("Final Answer: #3", FinalAnswer(3)),
        ("Final answer: variable #3", FinalAnswer(3)),
        ("Final Answer:\n var #12.", FinalAnswer(12)),
        ("Final Answer: Variable#0", FinalAnswer(0)),
        ("Action: count(#0)\nFinal Answer: #1", FinalAnswer(1)),
        ("FINAL ANSWER: #1", None),
        ("Final Answer: 3", None),
        (DO_NOTHING, FinalAnswer(None)),
        ("", None),
    ],
)  # fmt: skip
def test_replies(reply: str, expected: Call | FinalAnswer | None) -> None:
    assert parse_action(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Action: count(#1)", Call("count", ("#1",))),
        ("Action:count(#1)", None),
        ("Action:  count(#1)", None),
        ("Action: get_relations()", None),
        (DO_NOTHING, None),
        ("Final answer: var #2", FinalAnswer(2)),
    ],
)
def test_the_original_grammar_is_narrower(reply: str, expected: Call | FinalAnswer | None) -> None:
    assert parse_action(reply, paper=True) == expected


def test_commas_and_parentheses_inside_known_entities_do_not_divide() -> None:
    names = ["Rise, and Beyond", "Smile :)", "Rise"]
    for name in names:
        reply = f"Action: get_neighbors( {name} , film.film.cast)"
        assert parse_action(reply, names) == Call("get_neighbors", (name, "film.film.cast"))
    assert parse_action("Action: get_neighbors(Rise, and Beyond, x)") == Call(
        "get_neighbors", ("Rise", "and Beyond", "x")
    )


@pytest.mark.parametrize(
    ("argument", "number"),
    [
        ("#0", 0),
        ("#007", 7),
        ("var #3", 3),
        ("variable #3", 3),
        ("Variable#3", 3),
        ("#-1", -1),
        ("#", None),
        ("0", None),
        ("# 1", None),
        ("#1 ", None),
        ("#٣", None),
    ],
)
def test_variables(argument: str, number: int | None) -> None:
    assert variable_number(argument) == number


def test_a_number_beyond_reason_is_a_large_one() -> None:
    assert variable_number("#" + "9" * 10_000) == 10**9


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=8), max_size=3))
def test_any_text_is_parsed_without_an_exception(noise: str, entities: list[str]) -> None:
    for reply in (noise, f"Action: {noise}", f"Action: count({noise}", f"Final Answer: {noise}"):
        parsed = parse_action(reply, entities)
        assert parsed is None or isinstance(parsed, Call | FinalAnswer)


_plain = st.text(
    st.characters(exclude_characters="(),\n#", exclude_categories=["C", "Z"]), min_size=1, max_size=12
)
_nested = st.recursive(_plain, lambda inner: st.builds("{}({})".format, _plain, inner), max_leaves=4)


@given(
    st.sampled_from(sorted(ARITY)), st.lists(_nested, min_size=1, max_size=3), st.text("ab .\n", max_size=20)
)
def test_balanced_arguments_are_read_back(name: str, arguments: list[str], before: str) -> None:
    call = Call(name, tuple(arguments))
    assert parse_action(f"{before}Action: {call}) tail") == call


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\n", exclude_categories=["C"]), min_size=1),
        min_size=1,
        max_size=3,
    )
)
def test_known_entities_are_read_whole_whatever_they_hold(entities: list[str]) -> None:
    names = [name.strip() for name in entities if name.strip()]
    for name in names:
        parsed = parse_action(f"Action: get_neighbors({name}, r.s.t)", [name])
        if isinstance(parsed, FinalAnswer):
            continue
        assert parsed == Call("get_neighbors", (name, "r.s.t"))


@pytest.mark.parametrize(
    "piece",
    [
        "Action: ",
        "Action: count(",
        "(",
        ")",
        "Action: f(()",
        "Final Answer: ",
        "Final Answer: var ",
        ",",
        "#0, ",
        "w",
    ],
)
@pytest.mark.parametrize("head", ["", "Action: get_relations(", "Final Answer:"])
def test_a_hostile_megabyte_is_parsed(head: str, piece: str) -> None:
    """Each of these would take hours in quadratic time."""
    reply = head + piece * (MEGABYTE // len(piece))
    parsed = parse_action(reply, ["(", "Action: "])
    assert parsed is None or isinstance(parsed, Call | FinalAnswer)
    key(reply)


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("Thought. Action:get_neighbors(variable #01 ,a.b.c)", "Action: get_neighbors(#1, a.b.c)"),
        ("Action: intersection(#2, var #0)", "Action: intersection(#0, #2)"),
        ("Final answer: var #4, I think", "Final Answer: #4"),
        ("Final Answer: none", DO_NOTHING),
        ("Action: jump(#1)", None),
        ("Action: count(#1, #2)", None),
        ("nothing", None),
    ],
)
def test_one_spelling_for_actions_that_do_the_same(action: str, form: str | None) -> None:
    assert key(action) == form


@given(st.text("Action: cout(#1,) Final nswer\n", max_size=80))
def test_a_key_is_its_own_key(action: str) -> None:
    form = key(action)
    assert form is None or key(form) == form
