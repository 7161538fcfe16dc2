"""What each kind of failure becomes: an exit code and one line on stderr."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn, ParamSpec

import typer

from perdure.cli.console import printable
from perdure.core.errors import InfrastructureError, PerdureError, StorageError, UsageError
from perdure.core.plain_json import error_line

FAILED = 1
USAGE = 2
INTERRUPTED = 130
TERMINATED = 143
"""128 + SIGTERM."""
PIPE_CLOSED = 141
"""128 + SIGPIPE, as any filter that lost its reader."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)

P = ParamSpec("P")


class Terminated(KeyboardInterrupt):
    """SIGTERM: whoever cleans up after Ctrl-C does so after this too."""


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """A command whose package errors end in one line; another exception is a bug and keeps its traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _interrupted_by_sigterm(), _no_silent_end():
                command(*args, **kwargs)
                sys.stdout.flush()
        except UsageError as error:
            complain(error)
            raise typer.Exit(USAGE) from None
        except PerdureError as error:
            complain(error)
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt as interrupt:
            complain(interrupt, "interrupted")
            raise typer.Exit(TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED) from None
        except SystemExit as leaving:
            complain(leaving, f"error: a plugin ended the process: sys.exit({leaving.code!r})")
            raise typer.Exit(FAILED) from None
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(PIPE_CLOSED) from None
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            _drop_output()
            complain(error, f"error: cannot write the output: {error.strerror}")
            raise typer.Exit(FAILED) from None

    return run


def _drop_output() -> None:
    """The interpreter flushes stdout once more at exit: give it somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _no_silent_end() -> Iterator[None]:
    """Whoever ends this process by `os._exit` is told of, and it is never taken for success."""
    process, leave = os.getpid(), os._exit

    def tell_and_leave(status: int) -> NoReturn:
        if os.getpid() == process:
            told = f"error: a plugin ended the process: os._exit({status!r}); the same command goes on"
            complain(SystemExit(status), told)
            sys.stderr.flush()
            status = status or FAILED
        leave(status)

    os._exit = tell_and_leave
    try:
        yield
    finally:
        os._exit = leave


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """A service manager's stop ends the work inside as Ctrl-C does; only a main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Whatever stops the work inside says that the same command takes it up again."""
    try:
        yield
    except StorageError:
        raise  # says so itself
    except (InfrastructureError, KeyboardInterrupt) as error:
        error.add_note(f"nothing finished is lost: the same command resumes {str(folder)!r}")
        raise


def complain(error: BaseException, message: str = "") -> None:
    """One line on stderr: the message and the notes that were added on the way."""
    parts = [message or error_line(error), *getattr(error, "__notes__", [])]
    line = "; ".join(" ".join(part.split()) for part in parts)
    label = "" if message else "error: "
    typer.echo(printable(f"{label}{line}"), err=True)
