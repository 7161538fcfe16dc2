"""The outcome of one named check."""

from __future__ import annotations

from dataclasses import dataclass

NOT_APPLICABLE = "not applicable"
"""How the detail of a check begins that had nothing to look at."""


@dataclass(frozen=True)
class CheckResult:
    """Whether a check passed, and one line about what was seen."""

    name: str
    passed: bool
    detail: str = ""

    @property
    def applicable(self) -> bool:
        """False for a check that had nothing to look at: it did not fail, and shows nothing either."""
        return not (self.passed and self.detail.startswith(NOT_APPLICABLE))
