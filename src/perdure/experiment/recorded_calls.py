"""Serves a finished session's model calls to whoever makes them again: a replay asks no model."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from perdure.core.errors import Divergence
from perdure.core.model import NumberedCall, Outcome
from perdure.core.request_digest import request_options
from perdure.core.types import Message, Request
from perdure.storage.records import RecordedCall


class OtherCall(Divergence):
    """A call that is not the recorded one in its place. `recorded` and `now` say what was asked."""

    def __init__(self, place: str, recorded: str, now: str) -> None:
        super().__init__(f"{place}: {recorded}, now {now}")
        self.place = place
        self.recorded = recorded
        self.now = now


class RecordedCalls:
    """The calls of one session by caller and number, each served once (a `CallRecorder`).

    Prompts are compared as `normalise` gives their texts, and the options of a request exactly.
    """

    def __init__(self, calls: Iterable[RecordedCall], normalise: Callable[[str], str]) -> None:
        self._calls = {(call.caller, call.number): call for call in calls}
        self._normalise = normalise
        self._served: dict[str, int] = {}
        self.repeat = self.turn = 0

    def number(self, caller: str, model: str, request: Request, digest: str) -> NumberedCall:
        """The recorded call in this place. Raises OtherCall where there is none, or another one."""
        number = self._served.get(caller, 0)
        self._served[caller] = number + 1
        place = f"call {number} of {caller}"
        call = self._calls.get((caller, number))
        if call is None:
            raise OtherCall(place, "was not made", f"asks {model!r}")
        for recorded, now in self._facts(call, model, request):
            if recorded != now:
                raise OtherCall(place, recorded, now)
        return NumberedCall(caller, number, model, digest, request, call.outcome, from_cache=True)

    def ask(self, call: NumberedCall) -> None:
        """Never called: every call is served, or another one than recorded."""

    def answer(
        self, call: NumberedCall, outcome: Outcome, seconds: float, *, from_cache: bool = False
    ) -> None:
        """Never called either."""

    def wait(self, seconds: float) -> None:
        """Nobody waits for a record."""

    def owed(self, caller: str) -> int:
        """How many recorded calls a caller has not made yet."""
        return sum(name == caller for name, _ in self._calls) - self._served.get(caller, 0)

    def check_all_made(self, caller: str) -> None:
        """Raise OtherCall where a caller made fewer calls than recorded."""
        made = self._served.get(caller, 0)
        recorded = made + self.owed(caller)
        if made < recorded:
            raise OtherCall(f"calls of {caller}", f"were {recorded}", f"{made}")

    def _facts(self, call: RecordedCall, model: str, request: Request) -> Iterable[tuple[str, str]]:
        yield f"asked {call.model!r}", f"asked {model!r}"
        yield f"with {len(call.messages)} messages", f"with {len(request.messages)} messages"
        for recorded, now in zip(call.messages, request.messages, strict=True):
            yield self._shown(recorded), self._shown(now)
        yield call.options, request_options(request)

    def _shown(self, message: Message) -> str:
        content = message.text if message.is_text else repr(message.parts)
        return f"{message.role}: {self._normalise(content)}"
