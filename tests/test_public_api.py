from __future__ import annotations

import subprocess
import sys

import perdure

EXPORTED = [
    "Absorbed",
    "Agent",
    "Callback",
    "CallbackContext",
    "Completion",
    "ContextStrategy",
    "ContextView",
    "Environment",
    "Evaluation",
    "EvaluationOutcome",
    "FromFile",
    "HistoryFactory",
    "InteractionHistory",
    "LanguageModel",
    "Message",
    "ModelAgent",
    "ModelHandle",
    "ModelPool",
    "Observation",
    "Opening",
    "Operational",
    "PastSession",
    "PerdureError",
    "Readers",
    "Refusal",
    "Reply",
    "Request",
    "Run",
    "Sampling",
    "Session",
    "SessionController",
    "SessionRecord",
    "SessionStatus",
    "StateAgent",
    "StateSupport",
    "Step",
    "Task",
    "Trial",
    "Usage",
    "World",
    "load",
    "run",
]


def test_exactly_these_names_are_exported() -> None:
    assert sorted(perdure.__all__) == EXPORTED
    assert all(hasattr(perdure, name) for name in EXPORTED)


def test_every_exported_name_is_documented() -> None:
    assert [name for name in EXPORTED if not getattr(perdure, name).__doc__] == []


def test_importing_the_package_is_cheap() -> None:
    heavy = ["pydantic", "httpx", "rich", "typer", "sqlglot", "pandas", "numpy", "asyncio"]
    script = f"import sys, perdure; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_package_ships_its_types() -> None:
    from importlib.resources import files

    assert files("perdure").joinpath("py.typed").is_file()
