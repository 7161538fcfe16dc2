"""AgentBench's os_interaction files: a list of tasks, with scripts inline or in files beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from perdure.core.errors import ConfigError
from perdure.core.types import JSON
from perdure.environments.operating_system.answers import CHECKERS
from perdure.environments.operating_system.tasks import Check, OsTask, Script, TaskSet

_SCRIPT_FOLDERS = ("", "scripts", "../scripts")


class MissingScript(Exception):
    """A task names a script file that is not there."""


def load_folder(folder: Path) -> TaskSet:
    """Every task file below a folder; an id is the file's path without its ending, and the position in it."""
    tasks: dict[str, OsTask] = {}
    skipped: dict[str, str] = {}
    digest = sha256()
    for path in sorted(folder.rglob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"tasks: {str(path)!r} cannot be read: {error}") from error
        digest.update(path.read_bytes())
        entries = content if isinstance(content, list) else [content]
        prefix = str(path.relative_to(folder).with_suffix("")) + "/"
        found, left_out = read_tasks(entries, path.parent, prefix=prefix)
        tasks.update(found)
        skipped.update(left_out)
    if not tasks:
        raise ConfigError(f"tasks: {str(folder)!r} holds no task that can be run")
    return TaskSet(tasks, skipped, digest.hexdigest()[:16])


def read_tasks(
    entries: Sequence[JSON], folder: Path, *, prefix: str
) -> tuple[dict[str, OsTask], dict[str, str]]:
    """Tasks by id, and the ids left out because a script file is absent. Raises ConfigError."""
    tasks: dict[str, OsTask] = {}
    skipped: dict[str, str] = {}
    for position, entry in enumerate(entries):
        id_ = f"{prefix}{position}"
        try:
            tasks[id_] = _read_task(id_, entry, folder)
        except MissingScript as missing:
            skipped[id_] = f"the script {missing} is absent"
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigError(f"tasks: task {id_!r}: {error!r}") from error
    return tasks, skipped


def _read_task(id_: str, entry: Mapping[str, JSON], folder: Path) -> OsTask:
    evaluation = entry["evaluation"]
    example = evaluation.get("example")
    initialization = (entry.get("create") or {}).get("init")
    match = evaluation.get("match")
    return OsTask(
        id=id_,
        goal=entry["description"],
        skills=tuple(entry.get("labels", ())),
        initialization=_script(initialization, folder) if initialization is not None else Script(""),
        background=_script(entry["start"], folder).text if entry.get("start") else "",
        solution=_script(example, folder) if example is not None else None,
        match=match if match is None or isinstance(match, str) else match["answer"],
        checks=_checks(evaluation.get("check"), folder),
    )


def _checks(value: JSON, folder: Path) -> tuple[Check | None, ...]:
    steps = [] if value is None else value if isinstance(value, list) else [value]
    return tuple(None if step is None else _check(step, folder) for step in steps)


def _check(step: JSON, folder: Path) -> Check:
    """The data set's own checkers are recognised by name and run here; others are scripts of the task."""
    if isinstance(step, dict) and "file" in step:
        name = Path(step["file"]).stem
        if name in CHECKERS:
            return Check(checker=name)
    return Check(script=_script(step, folder))


def _script(value: JSON, folder: Path) -> Script:
    """A text, or `{language, code}` or `{language, file}`."""
    if isinstance(value, str):
        return Script(value)
    language = value.get("language", "bash")
    if language not in ("bash", "python"):
        raise ValueError(f"language must be bash or python, not {language!r}")
    if "code" in value:
        return Script(value["code"], language)
    for place in _SCRIPT_FOLDERS:
        for base in (folder, *folder.parents[:3]):
            path = base / place / value["file"]
            if path.is_file():
                return Script(path.read_text(encoding="utf-8"), language)
    raise MissingScript(value["file"])
