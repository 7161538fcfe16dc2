"""Loads a state schema from `file.py:Name`."""

from __future__ import annotations

import sys
from hashlib import blake2b
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from perdure.core.errors import ConfigError


def load_schema_file(reference: str) -> Any:
    """What stands under a name of a Python file. Raises ConfigError."""
    file, _, name = reference.rpartition(":")
    path = _existing(file)
    if path is None:
        raise ConfigError(f"state_schema = {reference!r:.200}: no such file; give 'file.py:Name'")
    # Annotations of a pydantic model are looked up in its module, so the module must be registered.
    module_name = f"perdure_schema_{path.stem}_{blake2b(path.read_bytes(), digest_size=8).hexdigest()}"
    module = sys.modules.get(module_name)
    if module is None:
        spec = spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise ConfigError(f"state_schema = {reference!r}: {file!r} is not a Python file")
        module = module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[module_name]
            if isinstance(error, Exception | SystemExit):
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                raise ConfigError(f"state_schema = {reference!r}: {reason}") from error
            raise
    if not hasattr(module, name):
        raise ConfigError(f"state_schema = {reference!r}: {path.name} has no {name!r}")
    return getattr(module, name)


def _existing(file: str) -> Path | None:
    try:
        path = Path(file).expanduser()
        return path if file and path.is_file() else None
    except (OSError, RuntimeError):  # a name that is too long; a home of nobody
        return None
