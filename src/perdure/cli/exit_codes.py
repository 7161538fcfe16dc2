"""What each kind of failure becomes: an exit code and one line on stderr."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec

import typer

from perdure.errors import InfrastructureError, PerdureError, StorageError, UsageError

FAILED = 1
USAGE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
"""128 + SIGPIPE, as any filter that lost its reader."""

P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """A command whose package errors end in one line; another exception is a bug and keeps its traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
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
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # The interpreter flushes stdout once more at exit: give it somewhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None

    return run


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
    parts = [message or str(error), *getattr(error, "__notes__", [])]
    line = "; ".join(" ".join(part.split()) for part in parts)
    label = "" if message else "error: "
    typer.echo(f"{label}{line}".encode("utf-8", "backslashreplace").decode(), err=True)
