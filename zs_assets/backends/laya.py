"""Laya in this process, by the `laya` package: the same System One body as its server gives, without the server.

Two traps of the package are stepped around. Without `revision` it loads whatever the Hub's main branch holds: a pinned
revision or a folder is required. `LAYA_REVISION` and a user's calibration file would change the weights' answers
unseen, so neither is used: the revision is passed, and a calibration is not. A text beyond 512 tokens is cut without an
error; `usage.truncated` says so and is kept. Source: laya 0.4.15 (`load`, `Agent.system_one`).
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from zs_assets.backends.base import CallFault, RawReply, Reading, Remedy
from zs_assets.backends.local import LocalBackend, Settings, sha256_file
from zs_assets.backends.reply_json import BrokenReply, parse_strictly
from zs_assets.backends.systemone_reply import read_answer
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.question import Presentation, Question

FOLDER_VARIABLE = "ZS_LAYA_DIR"
QUESTION_ID = "label"


class LayaSettings(Settings):
    """`folder` (or ZS_LAYA_DIR) replaces the download. `max_len` and `head_max_len` null: as released.

    The head holds the options in 192 tokens: with 77 labels each keeps four, and two may become the same. A larger
    `head_max_len` mends that and is no longer the released setting, so it is part of the entry.
    """

    folder: str | None = None
    threads: int | None = Field(default=None, ge=1)
    max_len: int | None = Field(default=None, ge=16)
    head_max_len: int | None = Field(default=None, ge=16)


class LayaBackend(LocalBackend):
    """One choice question about the state {"text": ...}; probabilities as the package gives them, at four decimals."""

    extra = "laya"
    distributions = ("laya", "torch", "transformers")
    settings_model = LayaSettings

    def __init__(self, spec: SystemSpec, question: Question, *, folder: Path | None = None):
        super().__init__(spec, question)
        self._local_folder = _local_folder(self.settings, folder)
        if self._local_folder is None and not (spec.model and spec.revision):
            raise StudyError(
                f"Backend '{spec.name}' names no pinned model: set model and revision, or settings.folder, "
                f"or {FOLDER_VARIABLE}."
            )
        # "id: description" is what the model reads, so the id of a placeholder is replaced by the sentence.
        self._criteria = [
            (option.sentence, None) if option.is_placeholder else (option.id, option.description)
            for option in question.options
        ]
        self._id_of = {name: option.id for (name, _), option in zip(self._criteria, question.options, strict=True)}
        if len(self._id_of) < max(len(question), 2):
            raise BackendUnavailable(
                f"Backend '{spec.name}' needs at least two options with different ids and descriptions: "
                "leave it out of this study or change the labels."
            )
        self._agent: Any = None
        self._weights_sha256 = ""

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
        if self._local_folder is not None:
            self._agent, self._weights_sha256 = _load_folder(str(self._local_folder))
        else:
            self._agent = _load_pinned(str(self.spec.model), str(self.spec.revision))

    def answer(self, presentation: Presentation) -> dict[str, float]:
        return self._result(presentation)["answers"][QUESTION_ID]["probabilities"]

    def vector(self, presentation: Presentation) -> list[float]:
        answer = self.answer(presentation)
        return [answer[self.question.ids[index]] for index in presentation.order]

    def model_identity(self) -> dict[str, str]:
        known = {"revision": "local folder" if self._local_folder is not None else str(self.spec.revision)}
        known |= {name: str(getattr(self.settings, name)) for name in ("max_len", "head_max_len", "threads")}
        return {**known, "weights_sha256": self._weights_sha256} if self._weights_sha256 else known

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        try:
            body = parse_strictly(reply.body)
        except BrokenReply as broken:
            return Reading.invalid(str(broken))
        return read_answer(body, self.question, QUESTION_ID, self.sum_tolerance)

    def _result(self, presentation: Presentation) -> dict[str, Any]:
        criteria = dict(self._criteria[index] for index in presentation.order)
        asked = {"type": "choice", "instructions": self.question.instructions, "criteria": criteria}
        budget = {name: getattr(self.settings, name) for name in ("max_len", "head_max_len")}
        given = {name: value for name, value in budget.items() if value is not None}
        result = self._agent.system_one({"text": presentation.example.text}, {QUESTION_ID: asked}, **given)
        answer = dict(result["answers"][QUESTION_ID])
        # Labels that were never sent keep their own name: reading finds them.
        answer["choice"] = self._id_of.get(answer["choice"], answer["choice"])
        answer["probabilities"] = {self._id_of.get(name, name): p for name, p in answer["probabilities"].items()}
        return {**result, "answers": {QUESTION_ID: answer}}

    def _reply(self, presentation: Presentation) -> RawReply:
        try:
            body = {**self._result(presentation), "model": self.model_resolved}
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        except Exception as error:  # whatever the library raises on one text is that text's outcome, not the run's end
            first_line = (str(error).strip().splitlines() or ["no message"])[0][:200]
            raise CallFault("model_failed", Remedy.GIVE_UP, f"{type(error).__name__}: {first_line}") from error
        return RawReply(text)


def _local_folder(settings: LayaSettings, study_folder: Path | None) -> Path | None:
    if settings.folder is not None:
        return (study_folder or Path()) / settings.folder
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


@cache
def _load_pinned(model: str, revision: str) -> Any:
    import laya

    try:
        return laya.load(model, device="cpu", revision=revision)
    except Exception as error:  # the Hub client raises half a dozen unrelated families for "not to be had"
        raise BackendUnavailable(
            f"Laya's checkpoint {model} at {revision} cannot be had ({type(error).__name__}): check the connection, "
            f"HF_ENDPOINT and HF_HUB_OFFLINE, or name a local folder in {FOLDER_VARIABLE}."
        ) from error


@cache
def _load_folder(folder: str) -> tuple[Any, str]:
    """The agent and the sha256 of its weights, whatever their file is called."""
    import laya

    weights = sorted(Path(folder).glob("*.safetensors"))
    if not weights:
        raise BackendUnavailable(f"{folder} holds no *.safetensors: name a folder of a Laya checkpoint.")
    return laya.load(folder, device="cpu"), sha256_file(weights[0])
