"""`perdure check`: does a plugin keep to its contract?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli.exit_codes import FAILED

if TYPE_CHECKING:
    from perdure.conformance.result import CheckResult
    from perdure.core.types import JSON, Request
    from perdure.experiment.registry import Plugin


_ORACLE_SECONDS = 60.0
"""How long the oracle of an environment plays on after the sample."""


class Checked(StrEnum):
    """Kinds of plugins with a conformance suite."""

    ENVIRONMENT = "environment"
    STRATEGY = "strategy"
    SANDBOX = "sandbox"
    MODEL = "model"
    CALLBACK = "callback"


def check(
    kind: Annotated[Checked, typer.Argument(help="What the plugin is.", show_default=False)],
    name: Annotated[
        str, typer.Argument(help="A name of `perdure list`, or `file.py:Class`.", show_default=False)
    ],
    sets: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of its constructor. Repeatable."),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    world: Annotated[
        str | None,
        typer.Option(metavar="ENVIRONMENT", help="Whose world the plugin gets, where it wants one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Run the conformance suite of a plugin; exit 1 when a check fails.

    Examples:

    - `perdure check environment database`
    - `perdure new strategy my_strategy`, then `perdure check strategy my_strategy.py:MyStrategy`
    - `perdure new callback my_method`, then `perdure check callback my_method.py:MyMethod`
    - `perdure check model scripted --set 'replies=["yes"]' --set cycle=true`
    - `perdure check model perfect_reader --world warehouse`
    """
    from perdure.experiment.config import apply_set
    from perdure.experiment.registry import load_plugin, load_world
    from perdure.reports.facts import to_json

    parameters: dict[str, JSON] = {}
    for assignment in sets:
        apply_set(parameters, assignment)
    plugin = load_plugin(kind.value, name, base=Path.cwd())
    given = {} if world is None else {"world": load_world(world, base=Path.cwd())}
    results = []
    for result in _suite(kind, plugin, parameters, given):
        results.append(result)
        if not as_json:
            typer.echo(_line(result))
    failed = sum(not result.passed for result in results)
    idle = sum(not result.applicable for result in results)
    if as_json:
        typer.echo(to_json([{**asdict(result), "applicable": result.applicable} for result in results]))
    else:
        tried = len(results) - idle
        remark = f", {idle} not applicable" if idle else ""
        typer.echo(f"{tried - failed}/{tried} checks passed{remark}")
    if failed:
        raise typer.Exit(FAILED)


def _suite(
    kind: Checked, plugin: Plugin, parameters: Mapping[str, JSON], given: Mapping[str, Any]
) -> Iterator[CheckResult]:
    match kind:
        case Checked.ENVIRONMENT:
            return _environment_suite(plugin, parameters)
        case Checked.STRATEGY:
            return _strategy_suite(plugin, parameters, given)
        case Checked.SANDBOX:
            return _sandbox_suite(plugin, parameters)
        case Checked.MODEL:
            return _model_suite(plugin, parameters, given)
        case Checked.CALLBACK:
            return _callback_suite(plugin, parameters)


def _environment_suite(plugin: Plugin, parameters: Mapping[str, JSON]) -> Iterator[CheckResult]:
    from perdure.conformance.environments import check_environment
    from perdure.experiment.registry import EnvironmentPlugin

    assert isinstance(plugin, EnvironmentPlugin)
    yield from check_environment(
        plugin.world, lambda: _build(plugin, parameters), oracle_seconds=_ORACLE_SECONDS
    )


def _strategy_suite(
    plugin: Plugin, parameters: Mapping[str, JSON], given: Mapping[str, Any]
) -> Iterator[CheckResult]:
    from perdure.conformance.strategies import check_strategy

    yield from check_strategy(lambda: _build(plugin, parameters, given))


def _sandbox_suite(plugin: Plugin, parameters: Mapping[str, JSON]) -> Iterator[CheckResult]:
    from perdure.conformance.sandboxes import check_sandbox

    yield from check_sandbox(lambda: _build(plugin, parameters))


def _model_suite(
    plugin: Plugin, parameters: Mapping[str, JSON], given: Mapping[str, Any]
) -> Iterator[CheckResult]:
    from perdure.conformance.models import check_model

    model = _build(plugin, parameters, given)
    try:
        yield from check_model(model)
    finally:
        getattr(model, "close", lambda: None)()


def _callback_suite(plugin: Plugin, parameters: Mapping[str, JSON]) -> Iterator[CheckResult]:
    from perdure.conformance.callbacks import check_callback

    yield from check_callback(plugin.name, parameters)


def _build(plugin: Plugin, parameters: Mapping[str, JSON], given: Mapping[str, Any] | None = None) -> Any:
    """The plugin with its parameters; a strategy that wants a model gets a scripted one."""
    from perdure.core.pool import ModelHandle
    from perdure.experiment.construct import construct
    from perdure.models.scripted import ScriptedModel

    scripted = ModelHandle.of(ScriptedModel(_summary))
    return construct(
        plugin.target,
        parameters,
        where=plugin.kind,
        base=Path.cwd(),
        model_for=lambda _name: scripted,
        offered={"model": scripted} if plugin.kind == "strategy" else {},
        given=given,
    )


def _summary(request: Request) -> str:
    """Another text for another prompt: what leaks into a prompt shows in what comes of it."""
    from perdure.core.types import text_digest

    return f"A summary of {text_digest(repr(request.messages))}."


def _line(result: CheckResult) -> str:
    from perdure.cli.console import printable

    detail = f": {printable(result.detail)}" if result.detail else ""
    mark = "FAIL" if not result.passed else "pass" if result.applicable else "n/a "
    return f"{mark}  {result.name}{detail}"
