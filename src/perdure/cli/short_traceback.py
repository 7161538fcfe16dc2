"""A bug's traceback without the frames that tell its reader nothing."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from perdure.cli.console import printable

_LAUNCHING = frozenset({"__main__", "perdure.cli.main", "perdure.cli.exit_codes"})


def print_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An exception hook (`sys.excepthook`): the usual traceback, cut to frames of plugins and of perdure."""
    error.with_traceback(trace)
    seen: set[int] = set()
    chain: list[BaseException | None] = [error]
    while chain:
        link = chain.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        link.__traceback__ = cut(link.__traceback__)
        chain += [link.__cause__, link.__context__]
    text = "".join(traceback.format_exception(error))
    sys.stderr.write(printable(text))


def cut(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the standard library, typer and what starts a command; whole if nothing remains."""
    kept: list[TracebackType] = []
    entry = trace
    while entry is not None:
        if _tells_something(entry):
            kept.append(entry)
        entry = entry.tb_next
    rebuilt: TracebackType | None = None
    for entry in reversed(kept):
        rebuilt = TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rebuilt or trace


def _tells_something(entry: TracebackType) -> bool:
    module = str(entry.tb_frame.f_globals.get("__name__", ""))
    package = module.partition(".")[0]
    return module not in _LAUNCHING and package != "typer" and package not in sys.stdlib_module_names
