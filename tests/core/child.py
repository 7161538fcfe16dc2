"""Runs something in a forked child and tells how it ended: for limits that a process cannot take back."""

from __future__ import annotations

import os
from collections.abc import Callable


def outcome_in_child(body: Callable[[], object]) -> str:
    """`done`, or `ExceptionType: message`."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            body()
            told = "done"
        except BaseException as error:  # noqa: BLE001 - the child must never return into pytest
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode("utf-8", "backslashreplace"))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(pid, 0)
    return told
