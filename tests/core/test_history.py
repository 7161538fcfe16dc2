from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.history import HistoryFactory, InteractionHistory, render_history
from perdure.core.types import Message, Observation

PAIR = (Message("user", "Here are the rules."), Message("agent", "OK."))


def test_an_empty_factory_opens_with_goal_and_first_observation() -> None:
    history = HistoryFactory().construct("Bring it.", Observation("It is at 3."))
    assert list(history) == [Message("user", "Bring it.\nIt is at 3.")]


def test_without_a_first_observation_the_goal_stands_alone() -> None:
    assert HistoryFactory().construct("Bring it.", Observation(""))[0].text == "Bring it."


def test_items_come_before_the_goal() -> None:
    factory = HistoryFactory(PAIR)
    assert tuple(factory.construct("g", Observation("o"))) == (*PAIR, Message("user", "g\no"))


def test_set_replaces_one_item_and_keeps_its_role() -> None:
    factory = HistoryFactory(PAIR)
    factory.set(0, Message("user", "Other rules."))
    assert factory.items() == (Message("user", "Other rules."), PAIR[1])
    with pytest.raises(ValueError, match="item 0 has the role 'user', not 'agent'"):
        factory.set(0, Message("agent", "x"))
    with pytest.raises(IndexError):
        factory.set(2, Message("user", "x"))
    assert factory.items() == (Message("user", "Other rules."), PAIR[1])


def test_extend_takes_whole_pairs() -> None:
    factory = HistoryFactory(PAIR)
    factory.extend(PAIR)
    assert factory.items() == (*PAIR, *PAIR)
    with pytest.raises(ValueError, match="end with an agent message"):
        factory.extend([PAIR[0]])
    with pytest.raises(ValueError, match="message 4"):
        factory.extend(reversed(PAIR))
    assert factory.items() == (*PAIR, *PAIR)


def test_half_a_pair_is_no_set_of_items() -> None:
    with pytest.raises(ValueError, match="end with an agent message"):
        HistoryFactory(PAIR[:1])


def test_histories_made_earlier_do_not_change_with_the_factory() -> None:
    factory = HistoryFactory(PAIR)
    history = factory.construct("g", Observation(""))
    factory.set(1, Message("agent", "No."))
    assert history[1] == PAIR[1]


def test_a_history_is_a_sequence() -> None:
    history = InteractionHistory([*PAIR, Message("user", "go")])
    assert len(history) == 3
    assert history[-1].text == "go"
    assert history[:2] == PAIR
    assert PAIR[1] in history
    assert history == InteractionHistory(list(history))
    assert hash(history) == hash(InteractionHistory(list(history)))
    assert history != InteractionHistory(PAIR)
    assert history != tuple(history)
    assert repr(history) == "InteractionHistory(3 messages)"
    with pytest.raises(ValueError, match="message 0"):
        InteractionHistory(reversed(PAIR))


def test_rendering() -> None:
    assert render_history([Message("system", "s"), *PAIR]) == (
        "system: s\nuser: Here are the rules.\nagent: OK."
    )
    assert render_history(PAIR, user="U", agent="A") == "U: Here are the rules.\nA: OK."
    assert render_history([]) == ""


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5), st.text(), st.text())
def test_every_opening_history_ends_with_the_user(
    pairs: list[tuple[str, str]], goal: str, observation: str
) -> None:
    items = [message for user, agent in pairs for message in (Message("user", user), Message("agent", agent))]
    history = HistoryFactory(items).construct(goal, Observation(observation))
    assert len(history) == 2 * len(pairs) + 1
    assert history[-1].role == "user"
    assert goal in history[-1].text
    assert observation in history[-1].text
