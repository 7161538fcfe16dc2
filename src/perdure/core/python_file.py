"""Loads a Python file that a configuration names, once, as a module of its own."""

from __future__ import annotations

import importlib.util
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from perdure.core.errors import ConfigError


def load_python_file(path: Path, what: str) -> ModuleType:
    """The module that a file defines. `what` says in errors who wants it.

    The same file is loaded once; a changed one, or a copy elsewhere, anew. Its folder goes to the end of the
    import path, so that it may import what lies beside it, as a script may. Raises ConfigError.
    """
    if not path.is_file():
        raise ConfigError(f"{what}: there is no file {str(path)!r}")
    digest = sha256(f"{path.resolve()}\0".encode() + path.read_bytes()).hexdigest()[:16]
    name = f"perdure_file_{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{what}: {str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception | SystemExit):
            raise ConfigError(f"{what}: {type(error).__name__}: {' '.join(str(error).split())}") from error
        raise
    return module
