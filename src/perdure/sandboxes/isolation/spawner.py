"""One helper process for all sandboxes over one root file system: it forks a keeper for each.

It has a single thread, so the parent-death signal of its children means its own death, and a fork is safe.
It ends with the process that started it, watched by a pidfd, and so does everything below it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
from typing import Any

from .identity import IdMapping
from .keeper import keep
from .refusals import explain
from .stage import Stage, set_the_stage

_REAP_SECONDS = 1.0
_SLOTS_APART = 61


def main() -> None:
    """Serve requests that arrive on descriptor 0, each with the socket its keeper is to use.

    Ends in silence when nobody listens any more: an owner that was interrupted has said so itself.
    """
    setup = json.loads(sys.argv[1])
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        _run(socket.socket(fileno=os.dup(0)), setup)


def _run(control: socket.socket, setup: dict[str, Any]) -> None:
    owner = os.pidfd_open(setup["owner"])
    if os.getppid() != setup["owner"]:
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    mapping = IdMapping(**setup["mapping"])
    try:
        stage = set_the_stage(setup["root"], setup["bubblewrap"], mapping)
    except OSError as error:
        control.sendall(json.dumps({"error": explain(error, is_root=mapping.direct)}).encode())
        return
    # From here on nothing is imported: what is found on these paths could come from inside a sandbox.
    sys.path.clear()
    control.sendall(json.dumps({"ready": True}).encode())
    gc.freeze()
    gc.disable()
    _serve(control, owner, stage)


def _serve(control: socket.socket, owner: int, stage: Stage) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ, "request")
        selector.register(owner, selectors.EVENT_READ, "orphaned")
        # Helpers of other processes count on elsewhere: two sandboxes of one user id share its process limit.
        slot = os.getpid() * _SLOTS_APART
        while True:
            events = {key.data for key, _ in selector.select(_REAP_SECONDS)}
            if "orphaned" in events:
                return
            if "request" in events:
                message, handles, _, _ = socket.recv_fds(control, 1 << 16, 1)
                if not message:
                    return
                slot += 1
                _start_keeper(control, selector, socket.socket(fileno=handles[0]), stage, message, slot)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _start_keeper(
    control: socket.socket,
    selector: selectors.BaseSelector,
    sock: socket.socket,
    stage: Stage,
    message: bytes,
    slot: int,
) -> None:
    config: dict[str, Any] = json.loads(message)
    config["slot"] = slot
    if os.fork():
        sock.close()
        return
    try:
        selector.close()
        control.close()
        os.close(0)
        os.open("/dev/null", os.O_RDWR)
        keep(sock, stage, config)
    finally:
        os._exit(0)
