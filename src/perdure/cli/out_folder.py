"""Whether a run folder can be one."""

from __future__ import annotations

import os
from pathlib import Path

from perdure.core.errors import ConfigError


def check_folder(folder: Path) -> None:
    """Refuse a path that is a file or lies below one. Raises ConfigError."""
    for part in (folder, *folder.parents):
        if os.path.exists(part) and not os.path.isdir(part):
            raise ConfigError(f"--out {str(folder)!r}: {str(part)!r} is a file, not a folder")
