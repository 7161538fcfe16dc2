"""What a task's statements are told as the present, and what their chance is drawn from: both stand still.

`RAND` follows MySQL's generator (`my_rnd` of its manual's RAND(): two 30-bit seeds), so that `RAND(3)` gives
the manual's numbers. Without a seed it goes on from the trial's own, statement by statement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import count
from uuid import UUID

from perdure.core.randomness import keyed_random
from perdure.core.types import EPOCH
from perdure.environments.database.engine import RAND_BOUND, random_seeds
from perdure.environments.database.sqlite.date_functions import parse_moment
from perdure.environments.database.sqlite.failure import SqlFailure
from perdure.environments.database.sqlite.storage import Cell

_DIGITS = 6
_UNIX = datetime(1970, 1, 1)


class Generator:
    """MySQL's generator of doubles in [0, 1)."""

    def __init__(self, one: int, two: int) -> None:
        self._one, self._two = one % RAND_BOUND, two % RAND_BOUND

    @classmethod
    def seeded(cls, seed: int) -> Generator:
        """As `RAND(seed)` begins."""
        short = seed & 0xFFFFFFFF
        return cls((short * 0x10001 + 55555555) & 0xFFFFFFFF, (short * 0x10000001) & 0xFFFFFFFF)

    def draw(self) -> float:
        """The next number."""
        self._one = (self._one * 3 + self._two) % RAND_BOUND
        self._two = (self._one + self._two + 33) % RAND_BOUND
        return self._one / RAND_BOUND


class Present:
    """The clock and the chance of one task. `clock` is aware of its time zone; `seed` is the trial's."""

    def __init__(self, clock: datetime = EPOCH, seed: int = 0) -> None:
        self._now = clock.astimezone(UTC).replace(tzinfo=None)
        self._generator = Generator(*random_seeds(seed))
        self._identifiers = keyed_random(seed, "uuid")
        self._short_identifiers = count(self._identifiers.getrandbits(60))
        self._of_statement: dict[int, Generator] = {}

    def begin_statement(self) -> None:
        """`RAND(seed)` begins anew with each statement."""
        self._of_statement.clear()

    @property
    def functions(self) -> Mapping[str, Callable[..., Cell]]:
        """By the name that translated SQL calls them by."""
        return {
            "my_now": self._datetime,
            "my_curdate": lambda: self._now.date().isoformat(),
            "my_curtime": self._time,
            "my_unix_timestamp": self._unix_timestamp,
            "my_rand": lambda: self._generator.draw(),
            "my_rand_from": self._rand_from,
            "my_rand_of": lambda seed: Generator.seeded(_whole(seed)).draw(),
            "my_uuid_short": lambda: next(self._short_identifiers),
            "my_uuid": lambda: str(UUID(int=self._identifiers.getrandbits(128), version=1)),
        }

    def _datetime(self, digits: Cell = 0) -> str:
        return self._now.strftime("%Y-%m-%d %H:%M:%S") + self._fraction(digits, "now")

    def _time(self, digits: Cell = 0) -> str:
        return self._now.strftime("%H:%M:%S") + self._fraction(digits, "curtime")

    def _fraction(self, digits: Cell, function: str) -> str:
        count = _whole(digits)
        if count > _DIGITS:
            told = f"Too-big precision {count} specified for '{function}'. Maximum is {_DIGITS}."
            raise SqlFailure(1426, "42000", told)
        return f".{self._now.microsecond:06}"[: count + 1] if count > 0 else ""

    def _unix_timestamp(self, *value: Cell) -> int | None:
        moment = parse_moment(str(value[0])) if value else self._now
        return int((moment - _UNIX).total_seconds()) if moment is not None else None

    def _rand_from(self, place: Cell, seed: Cell) -> float:
        """The next number of one `RAND(constant)` of the statement."""
        return self._of_statement.setdefault(_whole(place), Generator.seeded(_whole(seed))).draw()


def _whole(value: Cell) -> int:
    return round(value) if isinstance(value, int | float) else 0
