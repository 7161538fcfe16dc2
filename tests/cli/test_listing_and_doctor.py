"""`perdure list` and `perdure doctor`."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import distribution, metadata

import pytest

from perdure.cli import machine
from perdure.experiment import registry
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


def test_a_kind_may_be_singular(perdure: Perdure) -> None:
    for plural, singular in (("callbacks", "callback"), ("strategies", "strategy"), ("datasets", "dataset")):
        assert perdure("list", singular).stdout == perdure("list", plural).stdout


def test_an_empty_list_says_so(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "plugin_names", lambda kind: [])
    assert perdure("list", "sandboxes").stdout == "no sandboxes are installed\n"
    assert json.loads(perdure("list", "sandboxes", "--json").stdout) == []


def test_doctor_tells_about_every_part_and_who_needs_it(perdure: Perdure) -> None:
    body = json.loads(perdure("doctor", "--json").stdout)
    parts = {finding["part"]: finding for finding in body}
    assert parts["Python"]["found"] == ".".join(map(str, sys.version_info[:3]))
    assert parts["perdure"]["works"]
    assert parts["SQLite"]["used_by"] == "everything"
    assert parts["local runtime"]["used_by"] == parts["packaged model"]["used_by"] == "model local"
    assert parts["pytest"]["used_by"] == "tests that `new` writes"
    assert all(finding["works"] or finding["remedy"] for finding in body)


def test_doctor_names_only_plugins_that_are_there() -> None:
    kinds: list[registry.Kind] = ["model", "environment", "sandbox"]
    known = {f"{kind} {name}" for kind in kinds for name in registry.plugin_names(kind)}
    users = {user for finding in machine.examine() for user in finding.used_by.split(", ")}
    assert users - known == {"", "everything", "tests that `new` writes"}


def test_doctor_leaves_out_what_no_plugin_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    want = machine.Want("engine", ("models.absent", "absent.at_all"), lambda: (False, "not found"), "get it")
    monkeypatch.setattr(machine, "wants", lambda: iter([want]))
    assert "engine" not in {finding.part for finding in machine.examine()}
    used = machine.Want("engine", ("models.absent", "models.scripted"), lambda: (False, "no"), "get it")
    monkeypatch.setattr(machine, "wants", lambda: iter([used]))
    [finding] = [finding for finding in machine.examine() if finding.part == "engine"]
    assert finding == machine.Finding("engine", "model scripted", False, "no", "get it")


@pytest.mark.parametrize(
    ("checkout", "command"), [(True, "pip install -e '.[local]'"), (False, "pip install 'perdure[local]'")]
)
def test_a_source_checkout_is_extended_where_it_is(
    monkeypatch: pytest.MonkeyPatch, checkout: bool, command: str
) -> None:
    monkeypatch.setattr(machine, "is_checkout", lambda: checkout)
    [runtime] = [finding for finding in machine.examine() if finding.part == "local runtime"]
    assert runtime.remedy == command


def test_an_editable_install_is_a_checkout() -> None:
    origin = distribution("perdure").read_text("direct_url.json") or ""
    assert machine.is_checkout() is ('"editable":true' in origin.replace(" ", ""))


def test_doctor_shows_remedies_only_where_needed(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = machine.Want("engine", ("models.scripted",), lambda: (False, "not found"), "apt-get install it")
    there = machine.Want("wheel", ("models.scripted",), lambda: (True, "found"), "apt-get install round")
    monkeypatch.setattr(machine, "wants", lambda: iter([absent, there]))
    result = perdure("doctor")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert rows["engine"].endswith("apt-get install it")
    assert "(model scripted)" in rows["engine"]
    assert "round" not in result.stdout
    assert rows["Python"].split()[2:4] == ["yes", ".".join(map(str, sys.version_info[:3]))]


def test_doctor_without_anything_on_the_path(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", "tcp://example:2375")
    looks = {want.part: want.look() for want in machine.wants()}
    assert looks["Docker engine"] == (True, "DOCKER_HOST=tcp://example:2375")
    assert perdure("doctor").exit_code == 0


def test_every_command_for_an_extra_names_one_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "is_checkout", lambda: False)
    provided = set(metadata("perdure").get_all("Provides-Extra") or ())
    named = {found for want in machine.wants() for found in re.findall(r"perdure\[(\w+)\]", want.remedy)}
    assert {"local", "os", "kg", "docker"} <= named <= provided
