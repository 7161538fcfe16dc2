"""The outcome of one named check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckResult:
    """Whether a check passed, and one line about what was seen."""

    name: str
    passed: bool
    detail: str = ""
