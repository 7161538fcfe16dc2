"""Messages between a sandbox and its keeper arrive as they were sent, or not at all."""

from __future__ import annotations

import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.sandboxes.isolation.framing import Closed, receive, send


@given(
    st.dictionaries(st.text(max_size=10), st.integers() | st.text(max_size=20)), st.binary(max_size=300_000)
)
def test_any_message_arrives(header: dict[str, object], payload: bytes) -> None:
    left, right = socket.socketpair()
    with left, right:
        sender = threading.Thread(target=send, args=(left, header, payload))
        sender.start()
        assert receive(right) == (header, payload)
        sender.join()


def test_a_message_that_stops_in_the_middle_is_an_end() -> None:
    left, right = socket.socketpair()
    with right:
        left.sendall(b"\0\0\0\x10\0\0\0\0{")
        left.close()
        with pytest.raises(Closed):
            receive(right)


def test_a_message_of_absurd_length_is_refused() -> None:
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"\xff" * 8)
        with pytest.raises(Closed, match="longer"):
            receive(right)


def test_sending_to_nobody_is_an_end() -> None:
    left, right = socket.socketpair()
    right.close()
    with left, pytest.raises(Closed):
        send(left, {}, b"x" * 100_000)
