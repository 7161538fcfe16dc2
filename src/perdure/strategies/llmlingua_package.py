"""Compression by the llmlingua package itself, where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from perdure.core.errors import MissingExtra
from perdure.core.installation import add_extras

_TARGETS = (1.0, 0.8, 0.6, 0.4)
"""Shares of the room that are asked for in turn: the package counts with a tokenizer of its own."""


class LLMLinguaPackage:
    """Asks a `llmlingua.PromptCompressor` (LLMLingua, version 1) until its answer fits."""

    def __init__(self, compressor: Any, label: str) -> None:
        self._compressor = compressor
        self.label = label
        self.misses = 0
        """Results that were larger than what was asked for."""

    @classmethod
    def load(cls, scoring_model: str, *, device: str = "cpu") -> LLMLinguaPackage:
        """With a causal model by name or path. Raises MissingExtra."""
        try:
            from llmlingua import PromptCompressor
        except ImportError:
            raise MissingExtra("llmlingua", add_extras("llmlingua")) from None
        compressor = PromptCompressor(model_name=scoring_model, device_map=device)
        return cls(compressor, f"LLMLingua {version('llmlingua')}")

    def compress(self, turns: Sequence[str], question: str, room: int, fits: Callable[[str], bool]) -> str:
        """The turns in about `room` tokens; the last result of several tries where none fits."""
        compressed = ""
        for share in _TARGETS:
            answer = self._compressor.compress_prompt(
                list(turns),
                question=question,
                target_token=max(1, int(room * share)),
                concate_question=False,  # it is shown verbatim elsewhere
            )
            compressed = str(answer["compressed_prompt"]).strip()
            if fits(compressed):
                return compressed
            self.misses += 1
        return compressed
