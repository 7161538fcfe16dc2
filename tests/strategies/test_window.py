"""What a window shows, how many turns fit, and where a text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.session import Rejected
from perdure.core.types import Message
from perdure.strategies.sliding_window import SlidingWindow
from perdure.strategies.window import cut_to_fit, largest_fitting
from tests.strategies.playing import FIRST, GOAL, numbered, play, text_of


def test_the_whole_history_is_shown_unchanged_while_it_fits() -> None:
    *_, prompt = play(SlidingWindow(turns=5), numbered(2))
    assert [message.text for message in prompt[1:]] == [
        f"{GOAL}\n{FIRST}",
        "press-1",
        "light-1 is on",
        "press-2",
        "light-2 is on",
    ]


def test_older_turns_leave_and_the_goal_stays() -> None:
    *_, prompt = play(SlidingWindow(turns=2), numbered(5))
    assert [message.text for message in prompt[1:]] == [
        f"{GOAL}\n\nlight-3 is on",
        "press-4",
        "light-4 is on",
        "press-5",
        "light-5 is on",
    ]


def test_no_turn_at_all_leaves_the_latest_observation() -> None:
    *_, prompt = play(SlidingWindow(turns=0), numbered(3))
    assert [message.text for message in prompt[1:]] == [f"{GOAL}\n\nlight-3 is on"]


def test_demonstrations_stand_before_the_goal_for_good() -> None:
    shown = (Message("user", "an example"), Message("agent", "its answer"))
    *_, prompt = play(SlidingWindow(turns=1), numbered(4), demonstrations=shown)
    assert prompt[1:3] == list(shown)
    assert [message.role for message in prompt] == ["system", "user", "agent", "user", "agent", "user"]


def test_rejected_replies_come_last() -> None:
    rejected = (Rejected("press what?", "no such button"),)
    *_, prompt = play(SlidingWindow(turns=1), numbered(4), rejected=rejected)
    assert [message.text for message in prompt[-2:]] == ["press what?", "no such button"]
    assert "light-4 is on" in text_of(prompt)


@given(st.integers(0, 500), st.integers(-1, 600))
def test_the_largest_number_that_fits_is_found(most: int, last_fitting: int) -> None:
    found = largest_fitting(most, lambda number: number <= last_fitting)
    assert found == max(0, min(most, last_fitting))


@given(st.integers(0, 100))
def test_looking_for_it_does_not_grow_with_the_history(answer: int) -> None:
    def tried(most: int) -> list[int]:
        asked: list[int] = []

        def fits(number: int) -> bool:
            asked.append(number)
            return number <= answer

        largest_fitting(most, fits)
        return asked

    assert tried(1_000) == tried(100_000)
    assert max(tried(1_000)) <= max(1, 2 * answer + 2)


@given(st.text(st.sampled_from("ab \n"), max_size=60), st.integers(0, 70))
def test_a_cut_text_is_a_beginning_of_whole_words(text: str, room: int) -> None:
    cut = cut_to_fit(text, lambda part: len(part) <= room)
    assert text.startswith(cut)
    assert len(cut) <= room
    if len(text) <= room:
        assert cut == text
    elif " " in cut or "\n" in cut:
        rest = text[len(cut) :]
        assert rest[0].isspace()


def test_half_a_name_is_never_shown() -> None:
    text = "item_7 stands on shelf_12"
    assert cut_to_fit(text, lambda part: len(part) <= len("item_7 stands on shelf_1")) == "item_7 stands on"


@pytest.mark.parametrize("room", [0, -5])
def test_nothing_fits_into_nothing(room: int) -> None:
    assert cut_to_fit("some words", lambda part: len(part) <= room) == ""
