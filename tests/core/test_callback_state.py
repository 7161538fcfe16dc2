"""What a callback may keep: only what comes back from JSON as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.callback import Callback, CallbackContext, CallbackList
from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from tests.core.playing import DONE, play

LOOP: list[object] = []
LOOP.append(LOOP)


class Keeper(Callback):
    """Returns one thing as its delta, one as its whole state."""

    def __init__(self, delta: JSON = None, state: JSON = None) -> None:
        self._delta = delta
        self._state = state

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        return self._delta

    def snapshot_state(self) -> JSON:
        return self._state


WRONG = {
    "a set": ({"seen": {1}}, "state['seen'] is {1} of type 'set'"),
    "a key": ({"count": {3: 1}}, "state['count'] has the key 3; keys are strings"),
    "NaN": ([0, float("nan")], "state[1] is nan"),
    "infinity": (float("-inf"), "state is -inf"),
    "bytes": ((b"a",), "state[0] is b'a' of type 'bytes'"),
    "an object": ([Path("x")], "state[0] is PosixPath('x') of type 'PosixPath'"),
    "a loop": (LOOP, "… is nested more than 200 levels deep"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_delta_that_json_cannot_hold_commits_nothing(tmp_path: Path, case: str) -> None:
    state, told = WRONG[case]
    with pytest.raises(ConfigError) as caught:
        play(tmp_path, [DONE], [Keeper(delta=state)], tasks=1)
    assert str(caught.value).startswith(
        "callback 'keeper': on_state_save returned what JSON cannot hold: state"
    )
    assert str(caught.value).endswith(told)
    assert (tmp_path / "sessions.jsonl").read_bytes() == b""
    assert (tmp_path / "ledger.jsonl").read_bytes() == b""
    assert len(play(tmp_path, [DONE], tasks=1)) == 1


@pytest.mark.parametrize("case", WRONG)
def test_a_whole_state_that_json_cannot_hold_is_not_written(tmp_path: Path, case: str) -> None:
    state, told = WRONG[case]
    with pytest.raises(ConfigError, match="callback 'keeper': snapshot_state returned") as caught:
        play(tmp_path, [DONE], [Keeper(state=state)], tasks=1, snapshot_every=1)
    assert str(caught.value).endswith(told)
    assert list(tmp_path.glob("snapshots/*")) == []


plain = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False, allow_infinity=False)
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(plain)
def test_what_json_holds_is_kept_as_it_is(state: JSON) -> None:
    found = CallbackList([Keeper(state=state)]).snapshot()
    assert found == ({} if state is None else {"keeper": state})
    assert json.loads(json.dumps(found)) == found
