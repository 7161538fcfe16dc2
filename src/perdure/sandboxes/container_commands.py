"""Commands in a container by the engine's exec call: one bash for each, or one for all.

A command's output and errors arrive on the call's first stream, its exit code on the second: so its end is
known though a background process holds the first one open. Ending a command is not in the engine's interface;
what it started carries a mark in its environment and is killed by it, from a second call.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from perdure.core.errors import EnvironmentUnavailable
from perdure.sandboxes.isolation.bounded_output import BoundedOutput
from perdure.sandboxes.sandbox import ExecResult

MARK = "PERDURE_COMMAND"

_HEADER = struct.Struct(">BxxxL")
_CODES = 2
_CHUNK = 1 << 16
_QUIET_SECONDS = 0.05
_ENDING_SECONDS = 10.0

_FRESH = 'exec 3>&2 2>&1; bash -c "$1" bash </dev/null 3>&-; printf \'%s\\n\' "$?" >&3'
# A longer script than the kernel takes as an argument (131,071 bytes, man 2 execve) comes by the input.
_LONGEST_ARGUMENT = 100_000
_FRESH_FROM_INPUT = (
    "exec 3>&2 2>&1; IFS= read -r -d '' _next; (eval \"$_next\") </dev/null 3>&-; printf '%s\\n' \"$?\" >&3"
)
_PERSISTENT = (
    "exec 3>&2 2>&1; while IFS= read -r -d '' _next; do"
    ' eval "$_next" </dev/null 3>&-; printf \'%s\\n\' "$?" >&3; done'
)
# Builtins alone, because nothing else may be left to start; everything stands still meanwhile.
_KILL = (
    "exec 2> /dev/null; for round in 1 2; do kill -STOP -1; for folder in /proc/[0-9]*; do"
    ' mapfile -d \'\' -t variables < "$folder/environ"; for variable in "${variables[@]}"; do'
    f' if [[ $variable == "{MARK}=$1" ]]; then kill -9 "${{folder#/proc/}}"; fi;'
    " done; done; kill -CONT -1; done; exit 0"
)
_KILLED = 137
_FLOODED = b"\n[ended: too much output]\n"
_LOST = b"\n[the shell has ended; the next command gets a new one]\n"


class Call:
    """One exec call of the engine: its connection, and what has been read of it but not used."""

    def __init__(
        self, api: Any, container: str, command: list[str], mark: str, *, stdin: bool = False
    ) -> None:
        made = api.exec_create(container, command, environment={MARK: mark}, stdin=stdin, workdir="/")
        self._api = api
        self._id = made["Id"]
        self._connection = api.exec_start(self._id, socket=True)
        self._sock: socket.socket = getattr(self._connection, "_sock", self._connection)
        self._pending = b""
        self._deadline = 0.0

    def send(self, data: bytes, timeout: float) -> None:
        """Write to the input of the call."""
        self._sock.settimeout(timeout)
        self._sock.sendall(data)

    def follow(self, output: BoundedOutput, timeout: float, flood: int) -> int | str:
        """Read into `output`; the exit code, or why there is none: timeout, flood, gone."""
        self._deadline = time.monotonic() + timeout
        code: int | None = None
        try:
            for kind, data in self._frames():
                if kind == _CODES and data.strip().isdigit():
                    code = int(data)
                    self._deadline = time.monotonic() + _QUIET_SECONDS
                else:
                    output.feed(data)
                if output.total > flood:
                    return "flood"
        except TimeoutError:
            return "timeout" if code is None else code
        return "gone" if code is None else code

    def exit_code(self) -> int:
        """Exit code of the call's own program, once it is gone; 137 where the engine does not know it."""
        deadline = time.monotonic() + _ENDING_SECONDS
        while time.monotonic() < deadline:
            facts = self._api.exec_inspect(self._id)
            if not facts["Running"]:
                return _KILLED if facts["ExitCode"] is None else int(facts["ExitCode"])
            time.sleep(_QUIET_SECONDS)
        return _KILLED

    def close(self) -> None:
        """Drop the connection."""
        close_connection(self._connection)

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        """Frames of Docker's attach protocol: stream number, then bytes. Raises TimeoutError."""
        while (head := self._take(_HEADER.size)) is not None:
            kind, length = _HEADER.unpack(head)
            data = self._take(length)
            if data is None:
                return
            yield kind, data

    def _take(self, size: int) -> bytes | None:
        """Exactly this many bytes, or None at the end of the stream."""
        while len(self._pending) < size:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._sock.settimeout(remaining)
            data = self._sock.recv(_CHUNK)
            if not data:
                return None
            self._pending += data
        taken, self._pending = self._pending[:size], self._pending[size:]
        return taken


def close_connection(connection: Any) -> None:
    """Close what the client gives as a socket: a wrapper, the socket in it, and the response it came from."""
    inner, response = (getattr(connection, name, None) for name in ("_sock", "_response"))
    for part in (response, connection, inner):
        if part is not None:
            part.close()


def run_fresh(
    api: Any, container: str, script: str, timeout: float, max_output: int, flood: int
) -> ExecResult:
    """Run a script in a bash of its own."""
    mark = f"{time.monotonic_ns():x}"
    content = script.encode("utf-8", "surrogateescape")
    is_long = len(content) > _LONGEST_ARGUMENT
    command = ["bash", "-c", _FRESH_FROM_INPUT] if is_long else ["bash", "-c", _FRESH, "bash", script]
    call = Call(api, container, command, mark, stdin=is_long)
    output = BoundedOutput(max_output)
    try:
        if is_long:
            call.send(content + b"\0", _ENDING_SECONDS)
        end = call.follow(output, timeout, flood)
        if end in ("timeout", "flood"):
            # First: an engine that waits for us to read tells no other call's end (Docker 20.10).
            call.close()
            end_marked(api, container, mark)
        return _result(output, call.exit_code() if end == "gone" else end)
    finally:
        call.close()


class ContainerShell:
    """One bash for all commands of a container; started when first needed, and again after it has ended."""

    def __init__(self, api: Any, container: str) -> None:
        self._api = api
        self._container = container
        self._numbers = count()
        self._mark = ""
        self._call: Call | None = None

    def run(self, script: str, timeout: float, max_output: int, flood: int) -> ExecResult:
        """Run a script in the shell."""
        if self._call is None:
            self._mark = f"shell{next(self._numbers)}"
            self._call = Call(self._api, self._container, ["bash", "-c", _PERSISTENT], self._mark, stdin=True)
        call, output = self._call, BoundedOutput(max_output)
        call.send(script.encode("utf-8", "surrogateescape") + b"\0", timeout)
        end = call.follow(output, timeout, flood)
        if isinstance(end, int):
            return _result(output, end)
        call.close()
        end_marked(self._api, self._container, self._mark)
        result = _result(output, call.exit_code() if end == "gone" else end)
        self.close()
        return replace(result, output=result.output + _LOST)

    def close(self) -> None:
        """Drop the connection; the shell ends with its container."""
        if self._call is not None:
            self._call.close()
            self._call = None


def end_marked(api: Any, container: str, mark: str) -> None:
    """Kill every process whose environment carries a mark; tried again while no call can be started.

    Raises EnvironmentUnavailable when that does not succeed in time.
    """
    deadline = time.monotonic() + _ENDING_SECONDS
    while time.monotonic() < deadline:
        call = Call(api, container, ["bash", "-c", _KILL, "bash", mark], "")
        try:
            call.follow(BoundedOutput(0), deadline - time.monotonic(), _CHUNK)
            if call.exit_code() == 0:
                return
        finally:
            call.close()
        time.sleep(_QUIET_SECONDS)
    raise EnvironmentUnavailable("the container does not let its processes be ended")


def _result(output: BoundedOutput, end: int | str) -> ExecResult:
    if end == "timeout":
        return ExecResult(None, output.render(), output.truncated, timed_out=True)
    if isinstance(end, str):
        return ExecResult(_KILLED, output.render() + _FLOODED, output.truncated)
    return ExecResult(end, output.render(), output.truncated)
