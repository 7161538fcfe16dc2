"""How a suite runs its checks: each is a function that returns what it saw or raises `CheckFailed`."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from perdure.conformance.result import CheckResult

Subject = TypeVar("Subject")


class CheckFailed(Exception):
    """The plugin breaks its contract; the message says how, in one line."""


def require(condition: object, problem: str) -> None:
    """Raise CheckFailed with `problem` unless the condition holds."""
    if not condition:
        raise CheckFailed(problem)


def run_checks(subject: Subject, checks: Sequence[Callable[[Subject], str]]) -> Iterator[CheckResult]:
    """One result a check, in order, named by the check's function; a plugin's exception fails its check."""
    for check in checks:
        name = check.__name__.strip("_").replace("_", " ")
        try:
            yield CheckResult(name, True, check(subject))
        except CheckFailed as problem:
            yield CheckResult(name, False, str(problem))
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is the finding
            yield CheckResult(name, False, f"{type(error).__name__}: {error} ({_place(error)})")


def _place(error: Exception) -> str:
    """File and line that raised, the innermost."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"


def shorten(text: str, limit: int = 80) -> str:
    """A text for a one-line detail."""
    shown = repr(text)
    return shown if len(shown) <= limit else f"{shown[:limit]}… ({len(text)} characters)"
