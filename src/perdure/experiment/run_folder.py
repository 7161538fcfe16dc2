"""What a run folder says about itself, and the only way in for whoever wants to write: `RunFolder.open`."""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from perdure.core.errors import RunFolderError
from perdure.core.types import JSON
from perdure.experiment.config import RunConfig, config_hash, explain, flatten
from perdure.experiment.kept_files import PLUGINS, KeptFiles
from perdure.storage.files import FolderLock, read_sealed, replace_atomically, seal_lines, unseal_lines
from perdure.storage.run_reader import METRICS_FILE
from perdure.storage.session_index import SessionIndex

CONFIG_FILE = "config.toml"
_META = "recorded"
"""Table of `config.toml` that is not configuration: hash, versions, base folder, identity."""
_RECORDED = {"hash": str, "base": str, "identity": dict, "planned": int, "perdure": str}
_UNDESCRIBED = {".lock", PLUGINS}
"""What a process may leave that dies before its folder is described."""


@dataclass(frozen=True)
class Description:
    """What is written into a run folder when its run begins."""

    config: RunConfig
    identity: Mapping[str, JSON]
    base: Path
    """Where relative paths of the configuration start."""
    planned: int
    """Sessions that the schedule holds."""
    kept: KeptFiles = field(default_factory=KeptFiles)
    may_grow: bool = True
    """Whether a run of fewer sessions may be continued; where probes stand follows from their number."""


class RunFolder:
    """A run folder that this process holds: nobody else writes there, and it is this run's. Close it."""

    def __init__(self, path: Path, lock: FolderLock, planned: int) -> None:
        self.path = path
        self._lock = lock
        self._planned = planned

    @staticmethod
    def check(path: Path, identity: Mapping[str, JSON], *, accept_version: bool = False) -> None:
        """Raise RunFolderError where `open` would for what the folder holds, before anything is built for it.

        Only `open` decides: another process may come between.
        """
        _refuse_strangers(path)
        _check(path, identity, accept_version=accept_version)

    @classmethod
    def open(cls, path: Path, run: Description, *, accept_version: bool = False) -> RunFolder:
        """Lock the folder, check that it is this run's or nobody's, and describe the run there.

        Raises RunFolderError: it is in use, holds something else, a run of another identity, one of another
        version of perdure that was not accepted, or one that may not grow and would; nothing was changed
        then. Raises StorageError.
        """
        _refuse_strangers(path)
        lock = FolderLock(path)
        try:
            _refuse_strangers(path)
            recorded = _check(path, run.identity, accept_version=accept_version)
            if recorded is not None and recorded["planned"] < run.planned and not run.may_grow:
                raise RunFolderError(
                    f"{str(path)!r} has its probes along {recorded['planned']} sessions and cannot go on to "
                    f"{run.planned}; give another --out"
                )
            folder = cls(path, lock, run.planned)
            if folder.pending:  # the metrics of a shorter schedule
                (path / METRICS_FILE).unlink(missing_ok=True)
            _describe(path, run, recorded)
            return folder
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pending(self) -> int:
        """Sessions of the schedule that are not finished."""
        return pending_sessions(self.path, self._planned)

    @property
    def metrics(self) -> dict[str, JSON] | None:
        """What the run came to; None while anything is left to do, if only to write this."""
        try:
            found = {} if self.pending else read_metrics(self.path)
        except RunFolderError:
            return None
        return {"environment": found} if found else None

    def close(self) -> None:
        """Let others in. Idempotent."""
        self._lock.release()


def pending_sessions(path: Path, planned: int) -> int:
    """Sessions of a schedule that a run folder, if it is one, does not hold yet."""
    return max(0, planned - len(SessionIndex(path)))


def default_folder(name: str, digest: str) -> Path:
    """`runs/<name>-<8 hex digits>`: the same configuration finds its folder again."""
    return Path("runs") / f"{name}-{digest[:8]}"


def read_config(folder: Path) -> tuple[RunConfig, dict[str, JSON]]:
    """The configuration of a run and what was recorded beside it. Raises RunFolderError."""
    path = folder / CONFIG_FILE
    try:
        text = unseal_lines(path.read_bytes())
        if text is None:
            raise ValueError("it is not what was written: its crc differs")
        data = tomllib.loads(text)
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


def read_metrics(folder: Path) -> dict[str, JSON]:
    """The environment's metrics of a run that came to its end, else none. Raises RunFolderError."""
    path = folder / METRICS_FILE
    body = read_sealed(path)
    if body is None:
        return {}
    metrics = body.get("environment")
    if not isinstance(metrics, dict):
        raise RunFolderError(f"{str(path)!r} cannot be read: it has no table 'environment'")
    for key, value in metrics.items():
        if not isinstance(value, int | float):
            raise RunFolderError(f"{str(path)!r} cannot be read: {key!r} is {value!r:.80}, not a number")
    return metrics


def config_text(config: RunConfig, recorded: Mapping[str, JSON]) -> str:
    """The content of `config.toml`."""
    import tomli_w

    body = {**config.model_dump(mode="json", exclude_none=True), _META: dict(recorded)}
    return seal_lines(tomli_w.dumps(body))


def _refuse_strangers(path: Path) -> None:
    """Raise RunFolderError for a folder that holds something, but no run."""
    try:
        names = set(os.listdir(path))
    except FileNotFoundError:
        return
    except OSError:
        return  # locking it will say why it cannot be used
    if CONFIG_FILE in names:
        return
    left = {name for name in names if not name.startswith(f".{CONFIG_FILE}.")} - _UNDESCRIBED
    if left:
        what = "holds sessions but" if "sessions.jsonl" in left else f"holds {min(left)!r} and"
        raise RunFolderError(f"{str(path)!r} {what} no {CONFIG_FILE}; give another --out")


def _check(path: Path, identity: Mapping[str, JSON], *, accept_version: bool) -> dict[str, JSON] | None:
    """What is recorded of the run that is there; every changed key is named when it is another one."""
    if not os.path.exists(path / CONFIG_FILE):
        return None
    _, recorded = read_config(path)
    if recorded["hash"] != config_hash(identity):
        old, new = flatten(recorded["identity"]), flatten(identity)
        changed = [
            f"{key}: {old.get(key)!r} → {new.get(key)!r}"
            for key in sorted({*old, *new})
            if old.get(key) != new.get(key)
        ]
        raise RunFolderError(
            f"{str(path)!r} holds a run of another configuration; give another --out. Changed: "
            + "; ".join(changed)
        )
    before, now = recorded["perdure"], version("perdure")
    if before != now:
        if not accept_version:
            raise RunFolderError(
                f"{str(path)!r} was played with perdure {before}, this is {now}; "
                "go on with --accept-version, or give another --out"
            )
        recorded["accepted"] = [*recorded.get("accepted", []), before]
        recorded["perdure"] = now
    return recorded


def _describe(path: Path, run: Description, recorded: dict[str, JSON] | None) -> None:
    """Write what is new: the kept sources, then `config.toml`. Secrets never enter it: keys are named by
    environment variables."""
    if recorded is None:
        for name, content in run.kept.contents.items():
            replace_atomically(path / name, content)
        recorded = {
            "hash": config_hash(run.identity),
            "schema": 1,
            "perdure": version("perdure"),
            "python": platform.python_version(),
            "base": _portable(run.base, path),
            "identity": dict(run.identity),
            "kept": run.kept.values,
        }
    text = config_text(run.config, {**recorded, "planned": run.planned})
    config = path / CONFIG_FILE
    if not config.exists() or config.read_text("utf-8") != text:
        replace_atomically(config, text)


def _portable(base: Path, folder: Path) -> str:
    """The base, relative where the run folder lies in it: both may then be moved together."""
    inside = folder.resolve()
    return os.path.relpath(base, inside) if inside.is_relative_to(base) else str(base)


def _check_recorded(recorded: JSON) -> None:
    """Raise ValueError unless what a run folder needs of itself is there."""
    if not isinstance(recorded, dict):
        raise ValueError(f"it has no table [{_META}]")
    for key, kind in _RECORDED.items():
        if key not in recorded:
            raise ValueError(f"{_META}.{key}: missing")
        if not isinstance(recorded[key], kind):
            raise ValueError(f"{_META}.{key}: cannot be {recorded[key]!r:.80}")
