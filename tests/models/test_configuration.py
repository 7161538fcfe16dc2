"""Every model is built from a configuration's section by its constructor's signature."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from perdure.core.errors import ConfigError
from perdure.core.model import LanguageModel, all_outcomes
from perdure.core.types import Completion, Message, Request
from perdure.experiment.construct import bind, construct
from perdure.experiment.registry import load_plugin, plugin_names
from tests.core.playing import play

QUESTION = Request((Message("user", "abc"),))


def built(provider: str, parameters: dict[str, Any], base: Path) -> Any:
    target = load_plugin("model", provider).target
    return construct(target, parameters, where="models.agent", base=base)


def test_the_providers_are_found_by_their_modules() -> None:
    assert {"scripted", "recorded", "openai_compatible", "local"} <= set(plugin_names("model"))
    for name in plugin_names("model"):
        assert issubclass(load_plugin("model", name).target, LanguageModel)


def test_a_script_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("def reply(request):\n    return 'from the file'\n")
    [outcome] = all_outcomes(built("scripted", {"replies": "script.py:reply"}, tmp_path), [QUESTION])
    assert isinstance(outcome, Completion)
    assert outcome.text == "from the file"
    model = built("scripted", {"replies": ["a", "b"], "cycle": True}, tmp_path)
    assert [str(getattr(o, "text", o)) for o in all_outcomes(model, [QUESTION] * 3)] == ["a", "b", "a"]


def test_a_server(tmp_path: Path) -> None:
    parameters = {
        "model": "m",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key_env": "SOME_KEY",
        "headers": {"X-Team": "red"},
        "extra_body": {"top_k": 1, "provider": {"order": ["a"]}},
        "max_tokens": 100,
        "max_tokens_field": "max_completion_tokens",
        "sampling_parameters": False,
        "schema_format": "off",
        "context_window": 4096,
        "token_counting": "vllm",
        "timeout": 60,
        "max_concurrency": 4,
        "max_retries": 2,
        "max_wait_seconds": 100,
        "first_pause": 1,
    }
    with closing(built("openai_compatible", parameters, tmp_path)) as model:
        assert model.context_window == 4096


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({}, r"models\.agent\.model: missing"),
        ({"model": "m", "max_tokens_field": "tokens"}, r"models\.agent\.max_tokens_field"),
        ({"model": "m", "timeout": "long"}, r"models\.agent\.timeout"),
        (
            {"model": "m", "base_uri": "x"},
            r"models\.agent\.base_uri: unknown key; choose one of: model, base_url",
        ),
        ({"model": "m", "max_concurrency": 0}, "max_concurrency"),
    ],
)
def test_a_wrong_section_of_a_server(parameters: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=complaint):
        built("openai_compatible", parameters, tmp_path)


def test_a_run_beside_the_configuration(tmp_path: Path) -> None:
    play(tmp_path / "old", tasks=1)
    assert built("recorded", {"run": "old"}, tmp_path).run == tmp_path / "old"


def test_a_local_file_beside_the_configuration(tmp_path: Path) -> None:
    target = load_plugin("model", "local").target
    parameters = {"path": "better.gguf", "threads": 2, "context_window": 8192, "reuse_prompt": True}
    arguments = bind(target, parameters, where="models.agent", base=tmp_path)
    assert arguments["path"] == tmp_path / "better.gguf"


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the local model runtime is not installed")
def test_a_local_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"better\.gguf.*no such file"):
        built("local", {"path": "better.gguf"}, tmp_path)


def documented_sections() -> list[tuple[str, dict[str, Any]]]:
    page = (Path(__file__).parents[2] / "docs/howto/models.md").read_text("utf-8")
    blocks = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [section for block in blocks for section in tomllib.loads(block)["models"].items()]


@pytest.mark.parametrize(("name", "section"), documented_sections())
def test_every_section_of_the_manual_is_accepted(name: str, section: dict[str, Any], tmp_path: Path) -> None:
    target = load_plugin("model", section.pop("provider")).target
    arguments = bind(target, section, where=f"models.{name}", base=tmp_path)
    if target.__module__.endswith("openai_compatible"):
        target(**arguments).close()


def test_every_parameter_of_a_server_is_in_its_docstring() -> None:
    target = load_plugin("model", "openai_compatible").target
    named = set(re.findall(r"`(\w+)`", target.__doc__))
    assert set(inspect.signature(target).parameters) <= named


def test_listing_the_models_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from perdure.experiment.registry import plugin_names\n"
        "plugin_names('model')\n"
        "print(sorted({'httpx', 'xllamacpp', 'pydantic'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
