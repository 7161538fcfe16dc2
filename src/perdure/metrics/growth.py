"""How prompts, tokens and latency grow with the steps of a task, with intervals; plain least squares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import log, sqrt

from perdure.core.types import JSON
from perdure.storage.ledger import rows_that_count


@dataclass
class StepSeries:
    """One session, step by step: an entry for each call of the agent."""

    prompts: list[int] = field(default_factory=list)
    """Prompt tokens of the agent's own call."""
    votes: list[int] = field(default_factory=list)
    """Prompt tokens of further calls that are asked what the agent is asked, one entry a call."""
    tokens: list[int] = field(default_factory=list)
    """Prompt and completion tokens of that call and of all calls of others until the next one."""
    seconds: list[float] = field(default_factory=list)
    """Of all these calls."""


@dataclass(frozen=True)
class Fit:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    def contains(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        return self.low <= value <= self.high


def step_series(ledger_line: Mapping[str, JSON], caller: str = "agent") -> StepSeries:
    """The steps of one session, from its line of the ledger. Calls before the first step are left out."""
    series = StepSeries()
    for row in rows_that_count(ledger_line):
        if row.caller == caller:
            series.prompts.append(row.prompt)
            series.tokens.append(0)
            series.seconds.append(0.0)
        if row.caller.startswith(f"{caller}:"):
            series.votes.append(row.prompt)
        if series.tokens:
            series.tokens[-1] += row.prompt + row.completion
            series.seconds[-1] += row.seconds
    return series


def slope(
    sessions: Sequence[Sequence[float]], covariates: Sequence[Sequence[float]] | None = None
) -> Fit | None:
    """c of y(t) = a + c·t, t from 1; with `covariates`, c of y(t) = a + c·t + d·z(t): growth at a fixed z.

    Several sessions: the mean of their slopes with Student's interval, sessions being what is independent.
    One session: its slope with an interval that allows for correlated steps (Newey and West 1987). None
    where no session has three steps.
    """
    fits = []
    for i, ys in enumerate(sessions):
        ts = [float(t) for t in range(1, len(ys) + 1)]
        fits.append(_regress(ts, ys, None if covariates is None else covariates[i]))
    return _pooled(fits)


def cumulative_exponent(sessions: Sequence[Sequence[float]], *, start: float = 0.5) -> Fit | None:
    """b of total(t) ∝ t^b over the steps from `start` · T to T, by least squares on logarithms.

    1 for constant prompts; it tends to 2 for prompts that grow by the same amount each step, the slower the
    longer their fixed part is. Intervals as in `slope`.
    """
    if not 0 <= start < 1:
        raise ValueError(f"start must be at least 0 and below 1, not {start}")
    fits = []
    for tokens in sessions:
        points = [(t, total) for t, total in enumerate(accumulate(tokens), 1) if total > 0]
        late = [(log(t), log(total)) for t, total in points if t > start * len(tokens)]
        fits.append(_regress([x for x, _ in late], [y for _, y in late], None))
    return _pooled(fits)


def student_quantile(freedom: int) -> float:
    """The 97.5 % point of Student's distribution, within 0.001."""
    if freedom < 1:
        raise ValueError(f"freedom must be at least 1, not {freedom}")
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    # Cornish and Fisher's expansion around the normal quantile.
    z, n = 1.959964, float(freedom)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2) + third / n**3


_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True)
class _Slope:
    value: float
    error: float
    points: int


def _regress(xs: Sequence[float], ys: Sequence[float], zs: Sequence[float] | None) -> _Slope | None:
    """Slope of y on x, at fixed z where it is given, with its standard error."""
    if len(xs) < 3:
        return None
    rx, ry = _centred(xs), _centred(ys)
    if zs is not None:
        rz = _centred(zs)
        rx, ry = _without(rx, rz), _without(ry, rz)
    spread = sum(x * x for x in rx)
    if spread <= 1e-12 * len(xs):
        return None
    value = sum(x * y for x, y in zip(rx, ry, strict=True)) / spread
    scores = [x * (y - value * x) for x, y in zip(rx, ry, strict=True)]
    return _Slope(value, sqrt(max(0.0, _long_run(scores))) / spread, len(xs))


def _long_run(scores: Sequence[float]) -> float:
    """Sum of autocovariances with Bartlett's weights, over about the square root of the length."""
    lags = round(sqrt(len(scores)))
    total = sum(score * score for score in scores)
    for lag in range(1, lags + 1):
        shared = sum(a * b for a, b in zip(scores, scores[lag:], strict=False))
        total += 2 * (1 - lag / (lags + 1)) * shared
    return total


def _pooled(fits: Iterable[_Slope | None]) -> Fit | None:
    known = [fit for fit in fits if fit is not None]
    if not known:
        return None
    if len(known) == 1:
        only = known[0]
        reach = student_quantile(only.points - 2) * only.error
        return Fit(only.value, only.value - reach, only.value + reach)
    values = [fit.value for fit in known]
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    reach = student_quantile(len(values) - 1) * sqrt(variance / len(values))
    return Fit(mean, mean - reach, mean + reach)


def _centred(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def _without(values: Sequence[float], other: Sequence[float]) -> list[float]:
    """What is left of centred values when their dependence on other centred values is taken out."""
    spread = sum(z * z for z in other)
    if spread == 0:
        return list(values)
    share = sum(v * z for v, z in zip(values, other, strict=True)) / spread
    return [v - share * z for v, z in zip(values, other, strict=True)]
