"""Whether a run folder can be one."""

from __future__ import annotations

import os
from pathlib import Path

from perdure.core.errors import ConfigError


def check_folder(folder: Path) -> None:
    """Refuse a path that is a file or lies below one, or that no text can hold. Raises ConfigError."""
    try:
        str(folder).encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(f"--out {str(folder)!r}: the name is no valid UTF-8") from None
    for part in (folder, *folder.parents):
        if os.path.exists(part) and not os.path.isdir(part):
            raise ConfigError(f"--out {str(folder)!r}: {str(part)!r} is a file, not a folder")
