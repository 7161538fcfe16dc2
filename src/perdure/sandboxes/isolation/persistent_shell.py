"""One bash for all commands of a sandbox, so that its folder and variables last. Runs in the keeper."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from typing import Any

from .command import Outcome, Watch, start
from .process_tree import ProcessTree

# Commands arrive on descriptor 3, exit codes leave on 4; a command sees neither, and reads nothing from 0.
_LOOP = (
    "while IFS= read -r -d '' _next <&3; do"
    ' eval "$_next" </dev/null 3<&- 4>&-; printf \'%s\\n\' "$?" >&4; done'
)
_MERCY_SECONDS = 0.3
_LOST = "the shell has ended; the next command gets a new one"


class PersistentShell:
    """Starts its bash when first needed, and again after a command made it exit or would not let go of it."""

    def __init__(self, tree: ProcessTree, config: dict[str, Any]) -> None:
        self._tree = tree
        self._config = config
        self._process: int | None = None
        self._commands = self._codes = self._stream = -1

    @property
    def processes(self) -> frozenset[int]:
        """The shell itself, if it runs."""
        return frozenset() if self._process is None else frozenset({self._process})

    def run(self, watch: Watch, script: str) -> Outcome:
        """Run a script in the shell. Raises HostGone."""
        if self._process is None:
            self._start(watch)
        process = self._process or 0
        before = self._tree.members()
        with contextlib.suppress(BrokenPipeError):
            _write_all(self._commands, os.fsencode(script) + b"\0")
        reason = watch.follow(self._codes, self._stream)
        if reason:
            self._tree.end(before, within=[process])
        line = self._read_code(_MERCY_SECONDS if reason else None)
        if line:
            watch.drain(self._stream)
            return watch.outcome(int(line), reason)
        exit_code = self._end(process)
        watch.drain(self._stream)
        os.close(self._stream)
        outcome = watch.outcome(exit_code, reason)
        outcome.note = f"{outcome.note}; {_LOST}".removeprefix("; ")
        return outcome

    def _start(self, watch: Watch) -> None:
        commands, codes, stream = os.pipe(), os.pipe(), os.pipe()
        try:
            streams, extra = (stream[1], stream[1]), (commands[0], codes[1])
            self._process = watch.make_room(lambda: start(_LOOP, streams, self._config, extra))
        finally:
            for descriptor in (commands[0], codes[1], stream[1]):
                os.close(descriptor)
        self._commands, self._codes, self._stream = commands[1], codes[0], stream[0]
        os.set_blocking(self._stream, False)

    def _read_code(self, patience: float | None) -> bytes:
        """The exit code of the command; empty when the shell is gone or does not come back in time."""
        if not select.select([self._codes], [], [], patience)[0]:
            return b""
        return os.read(self._codes, 64).strip()

    def _end(self, process: int) -> int:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        self._process = None
        os.close(self._commands)
        os.close(self._codes)
        return os.waitstatus_to_exitcode(status)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
