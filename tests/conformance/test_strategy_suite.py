"""The strategy suite passes what conforms and finds each way of not conforming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from perdure.conformance.strategies import CHECKS, check_strategy
from perdure.core.agent import Absorbed, ContextView
from perdure.core.environment import Opening
from perdure.core.types import JSON, Message, Observation, Reply
from perdure.strategies.full_history import FullHistory


def test_full_history_conforms() -> None:
    results = list(check_strategy(FullHistory))
    assert [result for result in results if not result.passed] == []
    assert len(results) == len(CHECKS)


class Impure(FullHistory):
    def __init__(self) -> None:
        self._renderings = 0

    def render(self, view: ContextView) -> Sequence[Message]:
        self._renderings += 1
        first, *rest = super().render(view)
        return [Message("system", f"{first.text} ({self._renderings})"), *rest]


class Leaking(FullHistory):
    """Keeps what it was last shown, for a summary that it writes later."""

    def __init__(self) -> None:
        self._shown = self._summary = ""

    def render(self, view: ContextView) -> Sequence[Message]:
        self._shown = view.instructions_block
        first, *rest = super().render(view)
        return [Message("system", first.text + self._summary), *rest]

    def observe(self, observation: Observation) -> None:
        self._summary = f" ({len(self._shown)})"


class Counting(FullHistory):
    """Its trace tells how often it was asked to render."""

    def __init__(self) -> None:
        self._renderings = 0

    def render(self, view: ContextView) -> Sequence[Message]:
        self._renderings += 1
        return super().render(view)

    def trace(self) -> JSON:
        return self._renderings


class Unlearned(FullHistory):
    def render(self, view: ContextView) -> Sequence[Message]:
        return [Message("system", view.instructions), *list(super().render(view))[1:]]


class Lecturing(FullHistory):
    def render(self, view: ContextView) -> Sequence[Message]:
        return [*super().render(view), Message("system", "Be brief.")]


class Proud(FullHistory):
    def render(self, view: ContextView) -> Sequence[Message]:
        return [Message("system", view.instructions_block), *view.history]


class Aimless(FullHistory):
    def render(self, view: ContextView) -> Sequence[Message]:
        return [Message("system", view.instructions_block), *view.history[-1:]]


class Late(FullHistory):
    def render(self, view: ContextView) -> Sequence[Message]:
        shown = list(super().render(view))
        return shown if len(shown) <= 3 else shown[:-2]


class Picky(FullHistory):
    def absorb(self, reply: Reply) -> Absorbed:
        return Absorbed(action=reply.text.split("Action:")[1])


class Eager(FullHistory):
    def __init__(self) -> None:
        self._last = ""

    def start(self, opening: Opening, instructions: str) -> None:
        self._last = ""

    def absorb(self, reply: Reply) -> Absorbed:
        self._last = reply.text
        return Absorbed(action=reply.text)

    def render(self, view: ContextView) -> Sequence[Message]:
        first, *rest = super().render(view)
        return [Message("system", first.text + self._last), *rest]


class Stale(FullHistory):
    def __init__(self) -> None:
        self._steps = 0

    def observe(self, observation: Observation) -> None:
        self._steps += 1

    def render(self, view: ContextView) -> Sequence[Message]:
        first, *rest = super().render(view)
        return [Message("system", f"{first.text} Step {self._steps}."), *rest]


class Brittle(FullHistory):
    def observe(self, observation: Observation) -> None:
        observation.text.encode("utf-8")


class Leaky(FullHistory):
    """What it rendered last shows in what it records."""

    def __init__(self) -> None:
        self._experience: tuple[str, ...] = ()

    def render(self, view: ContextView) -> Sequence[Message]:
        self._experience = view.experience
        return super().render(view)

    def trace(self) -> JSON:
        return list(self._experience)


class Sticky(FullHistory):
    """A note that was shown once is shown for ever."""

    def __init__(self) -> None:
        self._notes: set[str] = set()

    def render(self, view: ContextView) -> Sequence[Message]:
        self._notes.add(view.note)
        first, *rest = super().render(view)
        return [Message("system", first.text + "".join(sorted(self._notes))), *rest]


class Deaf(FullHistory):
    def render(self, view: ContextView) -> Sequence[Message]:
        return super().render(replace(view, note=""))


class TwoMinds(FullHistory):
    def read(self, reply: Reply) -> str | None:
        return reply.text.lower()


@pytest.mark.parametrize(
    ("build", "check"),
    [
        (Leaky, "render is pure"),
        (Sticky, "note stands beside the observation"),
        (Deaf, "note stands beside the observation"),
        (TwoMinds, "read is pure"),
        (Leaking, "render is pure"),
        (Counting, "render is pure"),
        (Impure, "render is pure"),
        (Unlearned, "first message is the instructions block"),
        (Lecturing, "only the first message is system"),
        (Proud, "rejected replies are shown with their error"),
        (Aimless, "goal stays visible"),
        (Late, "latest observation is visible"),
        (Picky, "absorb survives hostile replies"),
        (Eager, "absorb alone changes nothing"),
        (Stale, "two instances agree"),
        (Brittle, "many observations are taken"),
    ],
)
def test_a_broken_contract_is_found(build: type[FullHistory], check: str) -> None:
    found = {result.name: result.detail for result in check_strategy(build) if not result.passed}
    assert check in found
    assert found[check]
