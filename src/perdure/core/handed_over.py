"""What an environment hands over, looked at where it enters: what its annotations promise, nobody checks.

Each question is answered with what is wrong in a few words, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from typing import cast

from perdure.core.plain_json import short_repr
from perdure.core.types import Evaluation, EvaluationOutcome, Observation, SessionStatus

_OBSERVATION: Mapping[str, tuple[type, str]] = {
    "text": (str, "a text"),
    "accepted": (bool, "true or false"),
    "done": (bool, "true or false"),
    "status": (SessionStatus, "a SessionStatus"),
    "reason": (str, "a text"),
}


def observation_problem(given: object) -> str | None:
    """What makes it no observation."""
    if not isinstance(given, Observation):
        return f"{short_repr(given)} in place of an Observation"
    for name, (kind, what) in _OBSERVATION.items():
        if not isinstance(value := getattr(given, name), kind):
            return f"an observation whose {name} is {short_repr(value)}; it is {what}"
    if not is_finite_number(given.reward):
        return f"an observation whose reward is {short_repr(given.reward)}; it is a finite number"
    return None


def evaluation_problem(given: object) -> str | None:
    """What makes it no verdict."""
    if not isinstance(given, Evaluation):
        return f"{short_repr(given)} in place of an Evaluation"
    if not isinstance(cast(object, given.outcome), EvaluationOutcome):
        return f"outcome {short_repr(given.outcome)}; it is an EvaluationOutcome"
    if not is_finite_number(given.reward) or not 0.0 <= given.reward <= 1.0:
        return f"reward {short_repr(given.reward)}; a reward lies in [0, 1]"
    return _details_problem(given.detail)


def _details_problem(given: object) -> str | None:
    if not isinstance(given, Mapping):
        return f"details {short_repr(given)}; they are a mapping"
    for key, value in given.items():
        if not isinstance(key, str):
            return f"the detail {short_repr(key)}; names are texts"
        if value is not None and not is_finite_number(value):
            told = f"detail {short_repr(key)} = {short_repr(value)}"
            return f"{told}; a detail is a finite number, true, false or None"
    return None


def metrics_problem(given: object) -> str | None:
    """What makes them no metrics."""
    if not isinstance(given, Mapping):
        return f"{short_repr(given)} in place of metrics"
    for key, value in given.items():
        if not isinstance(key, str):
            return f"the metric {short_repr(key)}; names are texts"
        if not is_finite_number(value):
            return f"the metric {short_repr(key)} = {short_repr(value)}; a metric is a finite number"
    return None


def is_finite_number(value: object) -> bool:
    """Whether it is a number, or true or false, that a file gives back as it is."""
    return isinstance(value, int | float) and abs(value) <= float_info.max
