"""`perdure list` and `perdure doctor`."""

from __future__ import annotations

import json
import sys
from importlib.metadata import metadata

import pytest

from perdure.cli import machine
from tests.cli.conftest import Perdure


def test_list_names_what_is_there_with_its_first_line(perdure: Perdure) -> None:
    body = json.loads(perdure("list", "--json").stdout)
    named = {(row["kind"], row["name"]): row for row in body}
    for kind, name in [("environment", "counter"), ("strategy", "full_history"), ("model", "scripted")]:
        assert named[kind, name]["what"].endswith(".")
        assert named[kind, name]["from"].startswith("perdure.")


def test_list_of_one_kind(perdure: Perdure) -> None:
    body = json.loads(perdure("list", "strategies", "--json").stdout)
    assert {row["kind"] for row in body} == {"strategy"}
    table = perdure("list", "strategies").stdout
    assert "full_history" in table
    assert "counter" not in table


def test_doctor_tells_about_every_part(perdure: Perdure) -> None:
    body = json.loads(perdure("doctor", "--json").stdout)
    parts = {finding["part"]: finding for finding in body}
    assert parts["Python (needed)"]["found"] == ".".join(map(str, sys.version_info[:3]))
    assert parts["perdure (needed)"]["works"]
    for extra in ("local", "mysql", "docker", "ray"):
        assert f"pip install 'perdure[{extra}]'" in parts[f"extra {extra!r}"]["remedy"]
    for part in ("SQLite (needed)", "bubblewrap", "Docker engine", "Podman engine", "MariaDB server"):
        assert part in parts
    assert all(finding["works"] or finding["remedy"] for finding in body)


def test_doctor_shows_remedies_only_where_needed(perdure: Perdure) -> None:
    result = perdure("doctor")
    assert result.exit_code == 0
    assert "pip install 'perdure[transformers]'" in result.stdout
    python = next(line for line in result.stdout.splitlines() if "Python (needed)" in line)
    assert python.split()[2:4] == ["yes", ".".join(map(str, sys.version_info[:3]))]


def test_doctor_without_anything_on_the_path(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", "tcp://example:2375")
    findings = {finding.part: finding for finding in machine.examine()}
    assert findings["Docker engine"].found == "DOCKER_HOST=tcp://example:2375"
    assert perdure("doctor").exit_code == 0


def test_every_extra_of_the_installed_package_is_looked_for() -> None:
    provided = set(metadata("perdure").get_all("Provides-Extra") or ()) - {"dev"}
    assert {"local", "mysql", "docker", "ray"} <= provided
    parts = {finding.part for finding in machine.examine()}
    assert {f"extra {extra!r}" for extra in provided} <= parts
