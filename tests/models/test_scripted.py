from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import ConfigError, ModelError
from perdure.core.model import LanguageModel, all_outcomes
from perdure.core.types import Completion, Message, Request, SessionStatus
from perdure.core.usage import Usage
from perdure.experiment.construct import construct
from perdure.models.scripted import MODEL, ScriptedModel
from perdure.models.token_estimate import estimate_messages, estimate_text


def ask(text: str) -> Request:
    return Request((Message("user", text),))


def texts(model: LanguageModel, *prompts: str) -> list[str]:
    outcomes = all_outcomes(model, [ask(prompt) for prompt in prompts])
    return [outcome.text if isinstance(outcome, Completion) else str(outcome) for outcome in outcomes]


def test_it_is_a_language_model_and_the_module_says_which_class_to_build() -> None:
    assert MODEL is ScriptedModel
    assert isinstance(ScriptedModel([]), LanguageModel)


def test_a_list_is_handed_out_in_order_across_batches() -> None:
    model = ScriptedModel(["a", "b", "c"])
    assert texts(model, "x", "y") == ["a", "b"]
    assert texts(model, "z") == ["c"]
    assert model.calls == 3


def test_a_used_up_list_is_an_error_as_data_that_counts() -> None:
    model = ScriptedModel(["only"])
    first, second, third = all_outcomes(model, [ask("x"), ask("y"), ask("z")])
    assert isinstance(first, Completion)
    assert isinstance(second, ModelError)
    assert second.status is SessionStatus.AGENT_UNKNOWN_ERROR
    assert str(second) == str(third) == "the script is used up: it has 1 replies"
    assert model.calls == 3


def test_a_cycling_list_starts_again() -> None:
    assert texts(ScriptedModel(["a", "b"], cycle=True), *"12345") == ["a", "b", "a", "b", "a"]


def test_an_empty_list_cannot_cycle() -> None:
    with pytest.raises(ConfigError, match="empty list"):
        ScriptedModel([], cycle=True)


def test_a_function_sees_the_request() -> None:
    model = ScriptedModel(lambda request: request.messages[-1].text.upper())
    assert texts(model, "abc", "def") == ["ABC", "DEF"]


def test_completions_and_errors_pass_through_unchanged() -> None:
    completion = Completion("x", "length", Usage(7, 8, 9, 1))
    error = ModelError("full", SessionStatus.AGENT_CONTEXT_LIMIT)
    assert all_outcomes(ScriptedModel([completion, error]), [ask("a"), ask("b")]) == [completion, error]


def test_a_function_is_loaded_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("def reply(request):\n    return request.messages[0].text[::-1]\n")
    model = construct(ScriptedModel, {"replies": "script.py:reply"}, where="models.m", base=tmp_path)
    assert texts(model, "abc") == ["cba"]


def test_a_list_of_replies_is_no_list_of_files(tmp_path: Path) -> None:
    model = construct(ScriptedModel, {"replies": ["edit x.py:f"]}, where="models.m", base=tmp_path)
    assert texts(model, "abc") == ["edit x.py:f"]


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("reply", "models.m.replies: give 'file.py:name', got 'reply'"),
        ("nowhere.py:reply", "there is no file"),
        ("script.py:missing", "no 'missing' in script.py; it has: reply"),
        ("script.txt:reply", "give 'file.py:name'"),
    ],
)
def test_a_function_that_cannot_be_loaded(tmp_path: Path, reference: str, complaint: str) -> None:
    (tmp_path / "script.py").write_text("def reply(request): ...\n")
    (tmp_path / "script.txt").write_text("reply = str\n")
    with pytest.raises(ConfigError, match=complaint):
        construct(ScriptedModel, {"replies": reference}, where="models.m", base=tmp_path)


def test_usage_is_the_same_every_time() -> None:
    outcomes = [all_outcomes(ScriptedModel(["12345678"]), [ask("1234")])[0] for _ in range(2)]
    assert outcomes[0] == outcomes[1] == Completion("12345678", usage=Usage(5, 2))


@given(st.text(), st.text())
def test_an_estimate_never_shrinks_as_a_text_grows(start: str, more: str) -> None:
    assert estimate_text(start) <= estimate_text(start + more)
    count = estimate_messages([Message("user", start)])
    assert not count.exact
    assert count.tokens < estimate_messages([Message("user", start), Message("agent", more)]).tokens


def test_replies_of_another_kind_are_one_clear_line() -> None:
    with pytest.raises(ConfigError, match=r"replies: a list or 'file\.py:function', got 3"):
        ScriptedModel(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("replies", [["a", 1], b"ab", [None], [["a"]]])
def test_a_reply_of_another_kind_is_one_clear_line(replies: Any) -> None:
    with pytest.raises(ConfigError, match=r"^replies\[\d\]: a text, got "):
        ScriptedModel(replies)
