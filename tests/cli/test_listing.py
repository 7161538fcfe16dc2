"""`perdure list`."""

from __future__ import annotations

import json

import pytest

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
