"""Where things are kept that can be made again (XDG base directories 0.8)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from perdure.core.errors import ConfigError


def cache_folder(kind: str, environment: Mapping[str, str] | None = None) -> Path:
    """`$XDG_CACHE_HOME/perdure/<kind>`, or the same below `~/.cache`; it need not exist yet.

    The specification ignores a relative `XDG_CACHE_HOME`. Raises ConfigError where neither it nor a home is
    known.
    """
    given = (os.environ if environment is None else environment).get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):
        return Path(given) / "perdure" / kind
    try:
        return Path.home() / ".cache" / "perdure" / kind
    except RuntimeError:
        raise ConfigError(
            f"perdure has no place for {kind}: neither HOME nor XDG_CACHE_HOME is set, and this user has no "
            "account; set XDG_CACHE_HOME to a folder"
        ) from None
