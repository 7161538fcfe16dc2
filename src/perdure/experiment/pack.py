"""One archive of a run that replays elsewhere: its folder, its plug-ins, the data of its environment."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from perdure.core.errors import RunFolderError, StorageError
from perdure.experiment.identity import Declared, Reference
from perdure.experiment.kept_files import KeptFiles, keep_data
from perdure.experiment.plugin_files import PluginFiles
from perdure.experiment.registry import load_plugin
from perdure.experiment.run_folder import CONFIG_FILE, config_text, read_config
from perdure.experiment.runs import Run
from perdure.storage.files import FolderLock

_LEFT_OUT = {".lock"}


def pack(run: Run, archive: Path) -> None:
    """Write a run folder as `.tar.gz`; the same folder makes the same archive.

    Of data only what the environment reads is packed: no model is asked by `replay`, and weights are large.
    Raises UsageError where the environment's data changed since it was played, StorageError.
    """
    if archive.exists():
        raise StorageError(f"{str(archive)!r} is there already; give another --out")
    lock = FolderLock(run.folder)
    try:
        data = keep_data(_data_of(run))
        partial = archive.with_name(f".{archive.name}.{os.getpid()}.tmp")
        try:
            with (
                partial.open("wb") as file,
                gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
                tarfile.open(fileobj=packed, mode="w") as tar,
            ):
                for name, content in _contents(run.folder, data):
                    entry = tarfile.TarInfo(f"{run.folder.resolve().name}/{name}")
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))
            partial.replace(archive)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"cannot pack into {str(archive)!r}: {error.strerror or error}") from error
    finally:
        lock.release()


def _data_of(run: Run) -> list[Reference]:
    """What the parameters of the environment name, as it was played. Raises UsageError."""
    section = run.own_config().environment
    files = PluginFiles()
    declared = Declared(run.base, files)
    found = load_plugin("environment", section.name, base=run.base, files=files)
    declared.plugin("environment", section.name, found, section.parameters)
    played = run.identity.get("data", {})
    for part, digest in declared.data.items():
        if played.get(part) != digest:
            raise RunFolderError(f"{part} of {str(run.folder)!r} is not what it was when the run was played")
    missing = sorted(part for part in played if part.startswith("environment.") and part not in declared.data)
    if missing:
        raise RunFolderError(f"{missing[0]} of {str(run.folder)!r} is no longer there")
    return declared.references


def _contents(folder: Path, data: KeptFiles) -> Iterator[tuple[str, bytes]]:
    """Files of the archive by their path in it; every `config.toml` says where the copies are."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and path.name not in _LEFT_OUT and name not in data.contents:
            if path.name == CONFIG_FILE and not name.startswith("plugins/"):
                yield name, _moved(path, up="../" * name.count("/"), data=data)
            else:
                yield name, path.read_bytes()
    yield from sorted(data.contents.items())


def _moved(path: Path, *, up: str, data: KeptFiles) -> bytes:
    """A run's configuration for another place: nothing in it leads out of the archive but to models."""
    config, recorded = read_config(path.parent)
    execution = config.execution.model_copy(update={"out": None})
    values = {key: f"{up}{place}" for key, place in data.values.items()}
    recorded = {**recorded, "base": ".", "kept": {**recorded.get("kept", {}), **values}}
    return config_text(config.model_copy(update={"execution": execution}), recorded).encode()
