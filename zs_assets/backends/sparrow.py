"""sparrow-decider: a decision model of a few megabytes whose weights ship inside the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from zs_assets.backends.local import LocalBackend, sha256_file
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.question import Presentation, Question

_DEFAULT_MODEL = "sparrow-nano-general-v1.1"


class SparrowBackend(LocalBackend):
    """Sends `name: description` criteria; `probs` keeps every digit where the library's `ask` rounds to four."""

    extra = "demo"
    distributions = ("sparrow-decider", "numpy")

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        # A criterion's name is read like its description, so a placeholder's name is replaced by the sentence.
        self._criteria = [
            (option.sentence, "") if option.is_placeholder else (option.id, option.description or "")
            for option in question.options
        ]
        if len(dict(self._criteria)) < max(len(question), 2):
            raise BackendUnavailable(
                f"Backend '{spec.name}' needs at least two options with different ids and descriptions: "
                "leave it out of this study or change the labels."
            )
        self._decider: Any = None
        self._weights_sha256 = ""

    @property
    def model_requested(self) -> str:
        return self.spec.model or _DEFAULT_MODEL

    def load(self) -> None:
        self._decider, self._weights_sha256 = _load_decider(self.model_requested)

    def vector(self, presentation: Presentation) -> list[float]:
        criteria = dict(self._criteria[index] for index in presentation.order)
        question = {"type": "choice", "instructions": self.question.instructions, "criteria": criteria}
        return self._decider.probs(presentation.example.text, question)[3].tolist()

    def model_identity(self) -> dict[str, str]:
        return {"weights_sha256": self._weights_sha256} if self._weights_sha256 else {}


@cache
def _load_decider(model: str) -> tuple[Any, str]:
    """The bundled model of exactly this name: the library's own search would take the newest that starts so."""
    import sparrow_decider

    path = Path(sparrow_decider.__file__).parent / "models" / f"{model}.sparrow"
    if not path.is_file():
        bundled = ", ".join(sorted(file.stem for file in path.parent.glob("*.sparrow")))
        raise BackendUnavailable(f"sparrow-decider ships no model '{model}': use one of {bundled}.")
    return sparrow_decider.Decider.load(str(path)), sha256_file(path)
