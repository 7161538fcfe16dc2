"""What a run folder says about itself: its resolved configuration, its identity, and whether it may go on."""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from perdure.core.errors import RunFolderError
from perdure.core.types import JSON
from perdure.experiment.config import RunConfig, config_hash, explain, flatten
from perdure.storage.files import replace_atomically

CONFIG_FILE = "config.toml"
_META = "recorded"
"""Table of `config.toml` that is not configuration: hash, versions, base folder, identity."""
_RECORDED = {"hash": str, "base": str, "identity": dict, "planned": int}


def default_folder(name: str, digest: str) -> Path:
    """`runs/<name>-<8 hex digits>`: the same configuration finds its folder again."""
    return Path("runs") / f"{name}-{digest[:8]}"


def write_config(
    folder: Path, config: RunConfig, identity: Mapping[str, JSON], base: Path, *, planned: int
) -> None:
    """Write `config.toml`, and again when the run is taken up with another execution section.

    `planned` is how many sessions the schedule holds. Secrets never enter the file: keys are named by
    environment variables.
    """
    path = folder / CONFIG_FILE
    recorded: dict[str, JSON] = {
        "hash": config_hash(identity),
        "schema": 1,
        "perdure": version("perdure"),
        "python": platform.python_version(),
        "base": str(base),
        "identity": dict(identity),
    }
    if path.exists():
        before, recorded = read_config(folder)
        if before.execution == config.execution and recorded.get("planned") == planned:
            return
    import tomli_w

    body = config.model_dump(mode="json", exclude_none=True)
    body[_META] = {**recorded, "planned": planned}
    replace_atomically(path, tomli_w.dumps(body))


def read_config(folder: Path) -> tuple[RunConfig, dict[str, JSON]]:
    """The configuration of a run and what was recorded beside it. Raises RunFolderError."""
    path = folder / CONFIG_FILE
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        recorded = data.pop(_META, None)
        _check_recorded(recorded)
        return RunConfig.model_validate(data), recorded
    except FileNotFoundError:
        raise RunFolderError(f"{str(folder)!r} is not a run folder: it has no {CONFIG_FILE}") from None
    except OSError as error:
        raise RunFolderError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise RunFolderError(f"{str(path)!r} cannot be read: {explain(error, RunConfig)}") from error
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"{str(path)!r} cannot be read: {error}") from error


def _check_recorded(recorded: JSON) -> None:
    """Raise ValueError unless what a run folder needs of itself is there."""
    if not isinstance(recorded, dict):
        raise ValueError(f"it has no table [{_META}]")
    for key, kind in _RECORDED.items():
        if key not in recorded:
            raise ValueError(f"{_META}.{key}: missing")
        if not isinstance(recorded[key], kind):
            raise ValueError(f"{_META}.{key}: cannot be {recorded[key]!r:.80}")


def check_identity(folder: Path, identity: Mapping[str, JSON]) -> None:
    """Refuse to continue a run whose configuration changed, naming every changed key."""
    if not os.path.exists(
        folder / CONFIG_FILE
    ):  # False for a folder that may not be read: writing will say so
        sessions = folder / "sessions.jsonl"
        if os.path.exists(sessions) and sessions.stat().st_size:
            raise RunFolderError(f"{str(folder)!r} holds sessions but no {CONFIG_FILE}; give another --out")
        return
    _, recorded = read_config(folder)
    if recorded["hash"] == config_hash(identity):
        return
    old, new = flatten(recorded["identity"]), flatten(identity)
    changed = [
        f"{key}: {old.get(key)!r} → {new.get(key)!r}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]
    raise RunFolderError(
        f"{str(folder)!r} holds a run of another configuration; give another --out. Changed: "
        + "; ".join(changed)
    )
