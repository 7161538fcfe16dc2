"""Checkers of answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.operating_system.answers import (
    CHECKERS,
    contains,
    same_integer,
    same_size,
    same_text,
)


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("3", "3\n", True),
        (" 1,234 ", "1234", True),
        ("3.0", "3", True),
        ("+3", "3", True),
        ("-3", "3", False),
        ("3.5", "3", False),
        ("three", "3", False),
        ("3 files", "3", False),
        ("", "", False),
        ("9" * 30, "9" * 30, True),
    ],
)
def test_integers(answer: str, expected: str, right: bool) -> None:
    assert same_integer(answer, expected) is right


@given(st.integers(-(10**30), 10**30))
def test_any_integer_equals_itself_alone(number: int) -> None:
    assert same_integer(f"{number:,}", str(number))
    assert not same_integer(str(number + 1), str(number))


def test_texts() -> None:
    assert same_text(" /usr/bin \n", "/usr/bin")
    assert not same_text("/usr/bin/", "/usr/bin")
    assert contains("it is /usr/bin.", "/usr/bin\n")
    assert not contains("anything", " \n")


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("4.0K", "4096", True),
        ("4 KB", "4K", True),
        ("4KiB", "4.0k", True),
        ("1M", "1024K", True),
        ("1.0G", "1.1G", False),
        ("4", "4K", False),
        ("unknown", "unknown", True),
        ("unknown", "4K", False),
    ],
)
def test_sizes(answer: str, expected: str, right: bool) -> None:
    assert same_size(answer, expected) is right


@given(st.text(), st.text())
def test_no_answer_raises(answer: str, expected: str) -> None:
    for checker in CHECKERS.values():
        assert checker(answer, expected) in (True, False)
