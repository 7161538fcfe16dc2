"""Sandboxes by bubblewrap: namespaces, an overlay over a cached root file system, no daemon and no image.

A fresh one takes about as long as starting an interpreter. Needs Linux 5.14, the `os` extra, and a range of
ids (as root: always; as an ordinary user: /etc/subuid and `newuidmap`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from typing import Any

from perdure.core.errors import EnvironmentUnavailable
from perdure.sandboxes.helper_process import start_keeper
from perdure.sandboxes.isolation.framing import LARGEST, Closed, receive, send
from perdure.sandboxes.limits import Limits, check_bounds
from perdure.sandboxes.root_builder import need_root
from perdure.sandboxes.root_choice import choose_root
from perdure.sandboxes.sandbox import ExecResult

_START_SECONDS = 30.0
_GRACE_SECONDS = 30.0
"""How much longer than a command's own timeout its answer may take before the sandbox counts as lost."""

ENVIRONMENT_VARIABLES = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "TERM": "dumb",
}


class BubblewrapSandbox:
    """A Linux machine of one's own, made in milliseconds and gone without trace.

    `root` names a root file system (see `perdure.sandboxes.root_fs`), built on first use; `auto` chooses one
    without building Debian (see `perdure.sandboxes.root_choice`). With `persistent_shell` all commands run in
    one shell, so that its folder and variables last; otherwise each gets a fresh one.
    Raises EnvironmentUnavailable, MissingExtra, ConfigError.
    """

    def __init__(
        self, *, root: str = "auto", limits: Limits | None = None, persistent_shell: bool = False
    ) -> None:
        limits = limits or Limits()
        config = vars(limits) | {
            "hostname": "sandbox",
            "environment": ENVIRONMENT_VARIABLES,
            "persistent_shell": persistent_shell,
        }
        self._lock = threading.Lock()
        self._sock = start_keeper(need_root(choose_root(root)), config)
        self._open = True
        self._ask_timeout(_START_SECONDS)
        answer = self._receive()[0]
        if "error" in answer:
            self.close()
            raise EnvironmentUnavailable(f"the sandbox cannot start: {answer['error']}")
        self.first_process: int = answer["first"]
        """Process id, outside, of the first process inside."""

    def exec(self, command: str, *, timeout: float, max_output: int) -> ExecResult:
        """Run one bash command; see `perdure.sandboxes.sandbox.Sandbox`.

        What it leaves in the background lives until the sandbox is closed; a timeout ends all it started.
        The middle of an output that is too long is left out, and a line says so.
        """
        check_bounds(timeout, max_output)
        script = os.fsencode(command.replace("\0", ""))
        header = {"op": "exec", "timeout": timeout, "max_output": max_output}
        answer, output = self._ask(header, script, timeout + _GRACE_SECONDS)
        if answer["note"]:
            output += f"\n[{answer['note']}]\n".encode()
        return ExecResult(answer["exit_code"], output, answer["truncated"], answer["timed_out"])

    def read_file(self, path: str) -> bytes:
        """Contents of a regular file. Raises FileNotFoundError, OSError."""
        return self._ask({"op": "read", "path": path, "limit": LARGEST}, b"", _GRACE_SECONDS)[1]

    def write_file(self, path: str, content: bytes) -> None:
        """Create or replace a file, with its folders, owned by root. Raises OSError."""
        self._ask({"op": "write", "path": path}, content, _GRACE_SECONDS)

    def close(self) -> None:
        """End every process and drop every write; returns when they are gone. Idempotent."""
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(OSError):
            self._sock.shutdown(1)
            self._ask_timeout(_GRACE_SECONDS)
            while self._sock.recv(1 << 16):
                pass
        self._sock.close()

    def _ask(self, header: dict[str, Any], payload: bytes, timeout: float) -> tuple[dict[str, Any], bytes]:
        with self._lock:
            if not self._open:
                raise EnvironmentUnavailable("the sandbox is closed")
            answered = False
            try:
                self._ask_timeout(timeout)
                with self._gone_is_unavailable():
                    send(self._sock, header, payload)
                answer, content = self._receive()
                answered = True
            finally:
                if not answered:
                    self.close()
        if answer.get("dead"):
            self.close()
            raise EnvironmentUnavailable("the sandbox has died: its first process is gone")
        if "errno" in answer:
            raise _as_os_error(answer["errno"], answer["message"], header.get("path", ""))
        return answer, content

    def _receive(self) -> tuple[dict[str, Any], bytes]:
        with self._gone_is_unavailable():
            return receive(self._sock)

    @contextlib.contextmanager
    def _gone_is_unavailable(self) -> Any:
        try:
            yield
        except (Closed, TimeoutError) as error:
            self.close()
            raise EnvironmentUnavailable(f"the sandbox has died: {error}") from error

    def _ask_timeout(self, seconds: float) -> None:
        self._sock.settimeout(seconds)


def _as_os_error(code: int | None, message: str, path: str) -> OSError:
    """The subclass that the code stands for (FileNotFoundError, …)."""
    return OSError(code or errno.EIO, message, path)


SANDBOX = BubblewrapSandbox
