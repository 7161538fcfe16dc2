from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.agent import ContextView, ModelAgent
from perdure.core.errors import ModelError, ModelUnavailable, RunFolderError
from perdure.core.model import LanguageModel, all_outcomes
from perdure.core.request_digest import request_digest, request_options
from perdure.core.types import Completion, Draw, Message, Reply, Request, Sampling
from perdure.core.usage import Usage
from perdure.models.recorded import MODEL, RecordedModel, recorded_request
from perdure.models.scripted import Given
from perdure.storage.records import RecordedCall
from perdure.strategies.full_history import FullHistory
from tests.core.playing import play, pool_of, step_to_goal

OPTIONS = st.none() | st.dictionaries(st.text(), st.integers() | st.text())
REQUESTS = st.builds(
    Request,
    st.lists(st.builds(Message, st.sampled_from(["system", "user", "agent"]), st.text())).map(tuple),
    OPTIONS,
    st.none() | st.lists(st.dictionaries(st.text(), st.text())),
    st.integers(0, 5),
    st.builds(
        Sampling,
        st.floats(0, 2),
        st.floats(0, 1),
        st.none() | st.integers(),
        st.none() | st.integers(1),
        st.lists(st.text()).map(tuple),
    ),
    st.builds(Draw, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
)


def counted(request: Request) -> Completion:
    """A reply with a usage of its own, so that the ledger's order can be seen."""
    return Completion(step_to_goal(request), usage=Usage(len(request.messages), 5, 1, 2))


def test_a_run_is_played_again_from_its_own_record(tmp_path: Path) -> None:
    first = play(tmp_path / "first", counted)
    model = RecordedModel(tmp_path / "first")
    again = play(tmp_path / "again", pool=pool_of(model))
    assert isinstance(model, LanguageModel)
    assert MODEL is RecordedModel
    assert len(again) == 3
    sessions = "sessions.jsonl"
    assert (tmp_path / "again" / sessions).read_bytes() == (tmp_path / "first" / sessions).read_bytes()
    assert [calls_of(line) for line in again.ledger()] == [calls_of(line) for line in first.ledger()]


def calls_of(ledger_line: dict[str, list[list[object]]]) -> list[list[object]]:
    return [call[:9] for call in ledger_line["calls"]]


def test_a_request_that_was_never_asked_is_not_asked_now(tmp_path: Path) -> None:
    play(tmp_path)
    request = Request((Message("user", "something else"),))
    with pytest.raises(ModelUnavailable) as caught:
        all_outcomes(RecordedModel(tmp_path), [request])
    assert request_digest(request) in str(caught.value)
    assert str(tmp_path) in str(caught.value)


class AsksTwice(ModelAgent):
    """Draws every reply twice and keeps the second, as a vote does."""

    def infer(self, view: ContextView) -> Reply:
        with suppress(ModelError):
            super().infer(view)
        return super().infer(view)


def test_equal_requests_get_their_outcomes_in_order_and_then_no_more(tmp_path: Path) -> None:
    replies: list[Given] = ["first", "Action: add 1", ModelError("lost"), "Action: done"]
    played = play(tmp_path, replies, tasks=1, agent=lambda model: AsksTwice(model, FullHistory()))
    calls = list(played.calls(0))
    requests = [recorded_request(call) for call in calls]
    assert [request.draw for request in requests[:2]] == [Draw(0, 1, 0), Draw(0, 1, 1)]
    assert requests[0].messages == requests[1].messages
    model = RecordedModel(tmp_path)
    outcomes = all_outcomes(model, requests)
    shown = [str(o) if isinstance(o, ModelError) else o.text for o in outcomes]
    assert shown == ["first", "Action: add 1", "lost", "Action: done"]
    with pytest.raises(ModelUnavailable, match="no more answers"):
        all_outcomes(model, requests[:1])


def test_the_model_can_be_named(tmp_path: Path) -> None:
    play(tmp_path, tasks=1)
    request = RecordedModel(tmp_path, model="m")
    assert request.count_tokens([Message("user", "1234")]).tokens == 5
    with pytest.raises(ModelUnavailable, match="no answer to"):
        play(tmp_path / "again", tasks=1, pool=pool_of(RecordedModel(tmp_path, model="other")))


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"no sessions\.jsonl"):
        RecordedModel(tmp_path)


@given(REQUESTS)
def test_a_recorded_request_is_the_request_that_was_asked(request: Request) -> None:
    options = request_options(request)
    call = RecordedCall("agent", 0, "m", "", request.messages, options, Completion(""), request.draw)
    assert request_digest(recorded_request(call)) == request_digest(request)
