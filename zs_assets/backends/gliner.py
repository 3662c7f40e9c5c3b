"""GLiNER2.5 through gliner2's Classifier: the whole exclusive distribution, from a folder at a pinned revision.

Two traps of gliner2 2.1.0 are stepped around. `revision=` does not pin the tokenizer: the snapshot is resolved first
and loaded as a folder. The classifier's own compile cache forgets label order: schemas are compiled without it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from zs_assets.backends.local import LocalBackend, Settings, sha256_file
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.question import Presentation, Question

FOLDER_VARIABLE = "ZS_GLINER_DIR"
_FILES = ("config.json", "encoder_config/*", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
_WEIGHTS = "model.safetensors"
_TASK = "label"
_FORBIDDEN = re.compile(r"[()]|\[(?:P|L|C|E|R|DESCRIPTION|EXAMPLE|OUTPUT)\]")  # gliner2 parses its prompt by these


class GlinerSettings(Settings):
    """`folder` (or ZS_GLINER_DIR) replaces the download; `threads` null leaves torch's choice."""

    threads: int | None = Field(default=None, ge=1)
    parentheses: Literal["refuse", "rewrite"] = "refuse"
    folder: str | None = None


class GlinerBackend(LocalBackend):
    """The labels sent are the description sentences themselves, as in the pilot; option ids are never shown."""

    extra = "gliner"
    distributions = ("gliner2", "torch", "transformers", "tokenizers")
    settings_model = GlinerSettings

    def __init__(self, spec: SystemSpec, question: Question, *, folder: Path | None = None):
        super().__init__(spec, question)
        self._local_folder = _local_folder(self.settings, folder)
        if self._local_folder is None and not (spec.model and spec.revision):
            raise StudyError(
                f"Backend '{spec.name}' names no pinned model: set model and revision, or settings.folder, "
                f"or {FOLDER_VARIABLE}."
            )
        self._labels = _labels(spec, question, self.settings.parentheses)
        self._id_of = dict(zip(self._labels, question.ids, strict=True))
        self._schemas: dict[tuple[int, ...], Any] = {}
        self._classifier: Any = None
        self._weights_sha256 = ""
        self._threads = self.settings.threads

    @property
    def model_resolved(self) -> str:
        # A local folder cannot vouch for a revision; its weights' hash can.
        if self._local_folder is not None:
            return f"{self.model_requested}@sha256:{self._weights_sha256 or 'not_loaded'}"
        return f"{self.model_requested}@{self.spec.revision}"

    def load(self) -> None:
        import torch

        if self.settings.threads is not None:
            torch.set_num_threads(self.settings.threads)
        self._threads = torch.get_num_threads()
        folder = self._local_folder or _snapshot(self.spec)
        self._classifier, self._weights_sha256 = _load_classifier(str(folder), self.settings.threads)

    def vector(self, presentation: Presentation) -> list[float]:
        answer = self.answer(presentation)
        return [answer[self.question.ids[index]] for index in presentation.order]

    def answer(self, presentation: Presentation) -> dict[str, float]:
        result = self._classifier.classify(presentation.example.text, self._schema(presentation.order))
        task = result.tasks.get(_TASK)
        # A record the library fails to prepare is silently replaced by a dummy: labels it returns that were never
        # sent keep their own name, and missing ones stay missing, so that reading finds the vector invalid.
        returned = {} if task is None else task.probabilities
        return {self._id_of.get(label, label): float(p) for label, p in returned.items()}

    def truncated(self, presentation: Presentation) -> bool:
        return False  # max_len is left at None, and then the library cuts nothing

    def model_identity(self) -> dict[str, str]:
        rewritten = {
            option.id: label
            for option, label in zip(self.question.options, self._labels, strict=True)
            if label != option.sentence
        }
        known = {
            "revision": "local folder" if self._local_folder is not None else str(self.spec.revision),
            "threads": "torch default" if self._threads is None else str(self._threads),
            "label_rewrites": json.dumps(rewritten, ensure_ascii=False, separators=(",", ":")),
        }
        return {**known, "weights_sha256": self._weights_sha256} if self._weights_sha256 else known

    def _schema(self, order: tuple[int, ...]) -> Any:
        """The compiled prompt of one label order; keyed by the order, which the library's own cache ignores."""
        from gliner2.classification import ClassificationSchema, compile_schema

        if order not in self._schemas:
            labels = [self._labels[index] for index in order]
            self._schemas[order] = compile_schema(ClassificationSchema().single(_TASK, labels))
        return self._schemas[order]


def rewrite_label(label: str) -> str:
    """The label without the characters gliner2 rejects: parentheses become commas, markers lose their brackets."""
    while (bare := _FORBIDDEN.sub(lambda found: found[0].strip("[]"), label)) != label:
        label = bare  # again, because "[[P]]" becomes "[P]"
    label = re.sub(r"\s*\)\s*(?=[.,;:!?)]|$)", "", label)
    label = re.sub(r"\s*[()]+\s*", ", ", label)
    return label.strip().removeprefix(",").removesuffix(",").strip()


def _labels(spec: SystemSpec, question: Question, parentheses: str) -> tuple[str, ...]:
    """What is sent for each option, in declared order; refuses what the library would reject or confuse."""
    labels = []
    for option in question.options:
        label = option.sentence
        if _FORBIDDEN.search(label):
            if parentheses == "refuse":
                raise BackendUnavailable(
                    f"Backend '{spec.name}' cannot send label {label!r}: gliner2 rejects {_FORBIDDEN.search(label)[0]}"  # type: ignore[index]
                    " in labels; set settings.parentheses to rewrite, or change the label."
                )
            label = rewrite_label(label)
        if not label.strip():
            raise BackendUnavailable(f"Backend '{spec.name}' cannot send option '{option.id}': its label is empty.")
        labels.append(label)
    twice = [label for label, count in Counter(labels).items() if count > 1]
    if twice:
        raise BackendUnavailable(f"Backend '{spec.name}' would send label {twice[0]!r} twice: make the labels differ.")
    return tuple(labels)


def _local_folder(settings: GlinerSettings, study_folder: Path | None) -> Path | None:
    if settings.folder is not None:
        return (study_folder or Path()) / settings.folder
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def _snapshot(spec: SystemSpec) -> Path:
    """The folder of the pinned revision, from the cache or the Hub (HF_ENDPOINT and HF_HUB_OFFLINE hold)."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(str(spec.model), revision=spec.revision, allow_patterns=list(_FILES)))
    except Exception as error:  # the Hub client raises half a dozen unrelated families for "not to be had"
        raise BackendUnavailable(
            f"Backend '{spec.name}' cannot get {spec.model} at {spec.revision} ({type(error).__name__}): check the "
            f"connection, HF_ENDPOINT and HF_HUB_OFFLINE, or name a local folder in {FOLDER_VARIABLE}."
        ) from error


@cache
def _load_classifier(folder: str, threads: int | None) -> tuple[Any, str]:
    """Classifier and sha256 of its weights. `threads` is part of the key: torch fixes its pools at first use."""
    from gliner2.classification import Classifier

    weights = Path(folder) / _WEIGHTS
    if not weights.is_file():
        raise BackendUnavailable(f"{folder} holds no {_WEIGHTS}: name a folder with {', '.join(_FILES)}.")
    return Classifier.from_pretrained(folder, device="cpu").eval(), sha256_file(weights)
