"""A saved run as a backend: our own predictions table (`native`), the JSONL of jev-benchmarks, Janus or SemIf.

The body is the recorded row itself (a native row holds the original raw reply, its latency, tokens and date), so that
reading it needs neither the file nor the system that once answered. A row of another text or prompt is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zs_assets.backends.base import Backend, CallFault, RawReply, Reading, Remedy
from zs_assets.backends.local import read_settings
from zs_assets.backends.recorded_rows import RecordedSettings, count, number, text
from zs_assets.backends.recording import Recording, read_recording
from zs_assets.backends.recording_semif import model_of
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation, Question


class RecordedBackend(Backend):
    """Answers from a file. Latency measured while reading it means nothing: the recorded one is read instead."""

    measures_latency = False

    def __init__(self, spec: SystemSpec, question: Question, *, folder: Path | None = None):
        super().__init__(spec, question)
        self.settings = read_settings(spec, RecordedSettings)
        self._knows_orders = self.settings.format in ("native", "semif")
        self._path = (folder or Path()) / self.settings.path
        self._manifest = (folder or Path()) / self.settings.manifest if self.settings.manifest else None
        self._recording = Recording()

    async def __aenter__(self) -> RecordedBackend:
        self._recording = self.load()
        return self

    def load(self) -> Recording:
        """The recording's rows; raises BackendUnavailable where the file cannot be replayed."""
        if not self._path.exists():
            raise BackendUnavailable(
                f"Backend '{self.spec.name}' reads {self._path}, which is not there: correct settings.path."
            )
        try:
            recording = read_recording(self.settings, self._path, self._manifest, self.question)
        except OSError as error:
            raise BackendUnavailable(f"{error.filename or self._path} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError as error:
            raise BackendUnavailable(f"{self._path} is not UTF-8 ({error.reason}): save it as UTF-8.") from None
        if not recording.rows:
            reason = (
                "all its rows were recorded with other labels or another prompt, first "
                + next(iter(recording.foreign.values()))
                if recording.foreign
                else "no row matches the dataset, backend and model of its settings"
            )
            raise BackendUnavailable(f"Backend '{self.spec.name}' finds nothing to replay in {self._path}: {reason}.")
        return recording

    def identity(self) -> dict[str, str]:
        return {**super().identity(), "recording_format": self.settings.format, **self._recording.pins}

    async def ask(self, presentation: Presentation) -> RawReply:
        example = presentation.example
        order_index = presentation.order_index if self._knows_orders else 0  # the others: one order per example
        row = self._recording.rows.get((example.example_id, order_index, presentation.order, presentation.repeat))
        if row is None:
            where = self._recording.foreign.get(example.example_id)
            if where is not None:
                raise _refused(where, "was recorded with other labels or another prompt")
            raise CallFault("not_recorded", Remedy.GIVE_UP, detail=f"the recording holds no {presentation.id}")
        if row.text_sha256 is not None and row.text_sha256 != example.text_sha256:
            raise _refused(row.where, f"has text {row.text_sha256[:12]}..., the manifest {example.text_sha256[:12]}...")
        if None not in (row.target_index, example.target_index) and row.target_index != example.target_index:
            raise _refused(row.where, f"has gold option {row.target_index}, the manifest {example.target_index}")
        if row.failure is not None:
            raise CallFault("recorded_error", Remedy.GIVE_UP, detail=row.failure)
        return RawReply(row.body)

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        try:
            row = json.loads(reply.body)
        except (ValueError, RecursionError):
            return Reading(Outcome.INVALID, problem="the recorded row is not JSON")
        if not isinstance(row, dict):
            return Reading(Outcome.INVALID, problem="the recorded row is not a JSON object")
        return self._readers[self.settings.format](self, row)

    def _read_native(self, row: dict[str, Any]) -> Reading:
        try:
            outcome = Outcome(row.get("outcome"))
        except ValueError:
            return Reading(Outcome.INVALID, problem=f"unknown outcome {ascii(row.get('outcome'))[:60]}")
        choice, problem, probabilities = text(row.get("choice")), text(row.get("problem")), None
        if outcome is Outcome.OK and row.get("probabilities") is not None:
            probabilities, problem = self._vector(self.question.ids, row["probabilities"])
        elif outcome is Outcome.OK and choice not in self.question.index_of:
            problem = "the row has neither a vector nor a choice among the options"
        return Reading(
            Outcome.INVALID if outcome is Outcome.OK and problem else outcome,
            probabilities,
            choice,
            number(row.get("confidence")),
            text(row.get("model_resolved")),
            truncated=row["truncated"] if isinstance(row.get("truncated"), bool) else None,
            problem=problem,
            **_recorded_facts(row),
        )

    def _read_jev_benchmarks(self, row: dict[str, Any]) -> Reading:
        names = {option.sentence: option.id for option in self.question.options}
        labels = row.get("labels")
        known = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
        ids = [names.get(label, label) for label in labels or ()] if known else []
        probabilities, problem = self._vector(ids, row.get("probabilities"))
        if row.get("error") is not None:  # their validation found the reply broken: billed, kept, never a success
            probabilities, problem = None, text(row["error"]) or "recorded as an error"
        seconds = number(row.get("latency_seconds"))
        return Reading(
            Outcome.OK if problem is None else Outcome.INVALID,
            probabilities,
            model=text(row.get("model_resolved")),
            input_tokens=count(row.get("input_tokens")),
            latency_ms=None if seconds is None else seconds * 1e3,
            problem=problem,
        )

    def _read_janus(self, row: dict[str, Any]) -> Reading:
        """A row with a vector, or of a label-only system, whose vector and confidence stay null."""
        choice, confidence, probabilities, problem = text(row.get("prediction")), row.get("confidence"), None, None
        if row.get("probabilities") is not None:
            probabilities, problem = read_vector(row["probabilities"], self.question, self.sum_tolerance)
        value = number(confidence)
        if choice not in self.question.index_of:
            problem = problem or f"prediction {ascii(row.get('prediction'))[:60]} is not among the options"
        if confidence is not None and (value is None or not 0.0 <= value <= 1.0):
            problem = problem or f"confidence {ascii(confidence)[:60]} is no number in [0,1]"
        return Reading(
            Outcome.OK if problem is None else Outcome.INVALID,
            probabilities,
            choice,
            value,
            text(row.get("model_id")),
            problem=problem,
            **_recorded_facts(row),
        )

    def _read_semif(self, row: dict[str, Any]) -> Reading:
        """A row names no choice and no confidence: the label is the vector's."""
        ids = row.get("option_ids")
        known = isinstance(ids, list) and all(isinstance(name, str) for name in ids)
        probabilities, problem = self._vector(ids if known else [], row.get("probabilities"))
        seconds = number(row.get("total_seconds"))
        return Reading(
            Outcome.OK if problem is None else Outcome.INVALID,
            probabilities,
            model=model_of(row),
            input_tokens=count(row.get("input_tokens")),
            latency_ms=None if seconds is None else seconds * 1e3,
            problem=problem,
        )

    def _vector(self, ids: Any, values: Any) -> tuple[tuple[float, ...] | None, str | None]:
        if not isinstance(values, list) or len(values) != len(ids):
            return None, f"the row has no list of {len(ids)} probabilities"
        return read_vector(dict(zip(ids, values, strict=True)), self.question, self.sum_tolerance)

    _readers: dict[str, Callable[[RecordedBackend, dict[str, Any]], Reading]] = {  # noqa: RUF012 (never changed)
        "native": _read_native,
        "jev_benchmarks": _read_jev_benchmarks,
        "janus": _read_janus,
        "semif": _read_semif,
    }


def _recorded_facts(row: dict[str, Any]) -> dict[str, Any]:
    """What was measured and billed when the reply came, in the columns our tables and Janus's rows share."""
    counts = ("input_tokens", "output_tokens", "cache_hit_tokens", "cache_miss_tokens", "reasoning_tokens")
    return {
        **{name: count(row.get(name)) for name in counts},
        **{name: _amount(row.get(name)) for name in ("cost_usd", "latency_ms")},
        **{name: text(row.get(name)) for name in ("run_date", "pricing_tier")},
    }


def _amount(value: Any) -> float | None:
    """A finite number that is not negative; None, which is unknown, for everything else."""
    amount = number(value)
    return amount if amount is not None and 0 <= amount < float("inf") else None


def _refused(where: str, reason: str) -> CallFault:
    """Another text or prompt means another sample: going on would publish a mixture."""
    return CallFault(
        "recording_mismatch", Remedy.STOP, detail=f"{where} {reason}: use the recording of this study's manifest"
    )
