"""Messages between a sandbox object and its keeper: a JSON header and raw bytes, both with their length."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

_LENGTHS = struct.Struct("!II")
LARGEST = 1 << 28
"""Bytes of a payload; a longer one is refused, so that nobody reads without end."""


class Closed(Exception):
    """The other side is gone."""


def send(sock: socket.socket, header: Mapping[str, Any], payload: bytes = b"") -> None:
    """Write one message. Raises Closed."""
    head = json.dumps(header).encode()
    try:
        sock.sendall(_LENGTHS.pack(len(head), len(payload)) + head + payload)
    except OSError as error:
        raise Closed(str(error)) from error


def receive(sock: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Read one message. Raises Closed; TimeoutError where the socket has a timeout."""
    head_length, length = _LENGTHS.unpack(_exactly(sock, _LENGTHS.size))
    if max(head_length, length) > LARGEST:
        raise Closed("a message is longer than allowed")
    header: dict[str, Any] = json.loads(_exactly(sock, head_length))
    return header, _exactly(sock, length)


def _exactly(sock: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        try:
            piece = sock.recv(min(count - len(received), 1 << 20))
        except TimeoutError:
            raise
        except OSError as error:
            raise Closed(str(error)) from error
        if not piece:
            raise Closed("end of file")
        received += piece
    return bytes(received)
