"""Gates of one predictions partition (a dataset x backend)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.gates.verdict import SHOWN_OFFENDERS, Verdict, first
from zs_assets.protocol.names import Gate, Outcome

_FAILURES = (Outcome.INVALID, Outcome.REFUSAL, Outcome.NO_CALL, Outcome.ERROR)


@dataclass(frozen=True)
class Expected:
    """What the manifest, the plan and the study promise about the partition."""

    option_ids: tuple[str, ...]
    presentations: Sequence[tuple[str, str]]  # (presentation_id, text_sha256), one per planned presentation
    prompt_hash: str
    sum_tolerance: float
    max_invalid_rate: float
    warn_failure_rate: float


def predictions_verdicts(predictions: pa.Table, expected: Expected) -> tuple[Verdict, ...]:
    """Every gate's verdict on the partition, blocking gates first."""
    return (
        vector_integrity(predictions, expected),
        max_invalid_rate(predictions, expected),
        manifest_coverage(predictions, expected),
        one_prompt(predictions, expected),
        one_model(predictions),
        failure_rate(predictions, expected),
        truncation(predictions),
    )


def vector_integrity(predictions: pa.Table, expected: Expected) -> Verdict:
    """A row stored as ok has exactly the declared options, finite, in [0,1], |sum - 1| within the tolerance.

    A label-only row (no vector) has a choice among the options instead.
    """
    ok = predictions.select(["outcome", "presentation_id", "probabilities", "choice"])
    ok = ok.filter(pc.equal(ok["outcome"], Outcome.OK.value)).combine_chunks()
    rows = ok.num_rows
    bad, has_vector = _broken(ok, expected) if rows else (np.zeros(0, dtype=bool), np.zeros(0, dtype=bool))
    count, with_vector = int(bad.sum()), int(has_vector.sum())
    offenders = _named(ok["presentation_id"], bad)
    sentence = (
        _integrity_sentence(with_vector, rows - with_vector, expected)
        if not count
        else f"{count} of {rows} rows stored as ok break integrity, first {offenders[0]}"
    )
    return Verdict(Gate.VECTOR_INTEGRITY, not count, True, sentence, {"ok": rows, "broken": count}, offenders)


def _broken(ok: pa.Table, expected: Expected) -> tuple[np.ndarray, np.ndarray]:
    """Of rows stored as ok, (n,): which break integrity, and which have a vector."""
    lists = ok["probabilities"].chunk(0)
    options = len(expected.option_ids)
    has_vector = np.asarray(lists.is_valid())
    complete = has_vector & (np.asarray(pc.fill_null(pc.list_value_length(lists), 0)) == options)
    bad = has_vector & ~complete
    flat = lists.filter(pa.array(complete)).flatten()
    values = flat.to_numpy(zero_copy_only=False).astype(float).reshape(-1, options)
    with np.errstate(invalid="ignore"):
        sound = np.isfinite(values).all(axis=1) & (values >= 0).all(axis=1) & (values <= 1).all(axis=1)
        sound &= np.abs(values.sum(axis=1) - 1.0) <= expected.sum_tolerance + 1e-9
    bad[np.flatnonzero(complete)[~sound]] = True
    known = np.asarray(pc.fill_null(pc.is_in(ok["choice"], pa.array(expected.option_ids)), False))
    return bad | (~has_vector & ~known), has_vector


def _named(names: pa.ChunkedArray, which: np.ndarray) -> tuple[str, ...]:
    """The first few of the names marked in `which`: only they become Python strings."""
    return first(names.take(pa.array(np.flatnonzero(which)[:SHOWN_OFFENDERS])).to_pylist())


def _integrity_sentence(with_vector: int, label_only: int, expected: Expected) -> str:
    """What was checked: rows without a vector have no sum to be within anything."""
    vectors = (
        f"all {with_vector} ok rows with a vector hold the {len(expected.option_ids)} declared options, in [0,1], sum "
        f"within {expected.sum_tolerance:g} of 1"
    )
    labels = f"all {label_only} ok rows without a vector name one of the {len(expected.option_ids)} options"
    return "; ".join(said for said, rows in ((vectors, with_vector), (labels, label_only)) if rows) or "no row is ok"


def max_invalid_rate(predictions: pa.Table, expected: Expected) -> Verdict:
    """Invalid replies stay within the study's limit, as a share of the planned presentations asked."""
    rows = predictions.select(["outcome", "presentation_id", "problem"])
    rows = rows.filter(pc.equal(rows["outcome"], Outcome.INVALID.value))
    asked = predictions.num_rows
    rate = rows.num_rows / asked if asked else 0.0
    passed = rate <= expected.max_invalid_rate
    shown = rows.select(["presentation_id", "problem"]).slice(0, SHOWN_OFFENDERS).to_pylist()
    offenders = first(f"{row['presentation_id']}: {row['problem']}" for row in shown)
    sentence = f"{rows.num_rows} of {asked} replies are invalid, limit {expected.max_invalid_rate:.0%}"
    if not passed:
        sentence += f"; first {offenders[0]}"
    return Verdict(Gate.MAX_INVALID_RATE, passed, True, sentence, {"invalid": rows.num_rows, "rate": rate}, offenders)


def manifest_coverage(predictions: pa.Table, expected: Expected) -> Verdict:
    """One prediction per planned presentation, with the text hash of the manifest."""
    text_of = dict(expected.presentations)
    planned = pa.array(text_of.keys(), pa.string())
    stored = predictions["presentation_id"]
    place = pc.index_in(stored, value_set=planned)
    is_foreign = np.asarray(place.is_null())
    is_missing = ~np.asarray(pc.is_in(planned, value_set=stored.combine_chunks()))
    planned_text = pa.array(text_of.values(), pa.string()).take(place)
    is_other_text = ~is_foreign & np.asarray(pc.fill_null(pc.not_equal(predictions["text_sha256"], planned_text), True))
    missing, foreign, other_text = (int(rows.sum()) for rows in (is_missing, is_foreign, is_other_text))
    twice = predictions.num_rows - pc.count_distinct(stored, mode="all").as_py()
    passed = not (missing or foreign or twice or other_text)
    offenders = first([*_named(planned, is_missing), *_named(stored, is_foreign), *_named(stored, is_other_text)])
    sentence = (
        f"one prediction for each of {len(planned)} planned presentations"
        if passed
        else f"{missing} planned presentations have no prediction, {foreign} predictions were not planned, "
        f"{twice} are double, {other_text} have another text"
    )
    counts = {"planned": len(planned), "missing": missing, "foreign": foreign, "double": twice}
    return Verdict(Gate.MANIFEST_COVERAGE, passed, True, sentence, {**counts, "other_text": other_text}, offenders)


def one_prompt(predictions: pa.Table, expected: Expected) -> Verdict:
    """Every row was asked with the prompt of the manifest."""
    hashes = set(pc.unique(predictions["prompt_hash"]).to_pylist())
    passed = hashes <= {expected.prompt_hash}
    sentence = (
        f"prompt {expected.prompt_hash[:12]} throughout"
        if passed
        else f"rows were asked with prompt {', '.join(sorted(h[:12] for h in hashes))}, "
        f"the manifest's is {expected.prompt_hash[:12]}"
    )
    return Verdict(Gate.ONE_PROMPT, passed, True, sentence, {"prompts": len(hashes)}, first(sorted(hashes)))


def one_model(predictions: pa.Table) -> Verdict:
    """All replies of the partition came from one resolved model."""
    models = sorted(set(pc.unique(predictions["model_resolved"]).to_pylist()) - {None})
    passed = len(models) <= 1
    sentence = f"model {models[0]} throughout" if len(models) == 1 else f"{len(models)} models answered: {models}"
    return Verdict(Gate.ONE_MODEL, passed, True, sentence, {"models": len(models)}, first(models))


def failure_rate(predictions: pa.Table, expected: Expected) -> Verdict:
    """Warning: presentations without a valid answer, all causes together."""
    found = {each["values"]: each["counts"] for each in predictions["outcome"].value_counts().to_pylist()}
    counts = {outcome.value: found.get(outcome.value, 0) for outcome in _FAILURES}
    failures = sum(counts.values())
    rate = failures / predictions.num_rows if predictions.num_rows else 0.0
    parts = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
    sentence = f"{failures} of {predictions.num_rows} presentations have no valid answer ({parts})"
    return Verdict(Gate.FAILURE_RATE, rate <= expected.warn_failure_rate, False, sentence, {**counts, "rate": rate})


def truncation(predictions: pa.Table) -> Verdict:
    """Warning: the system gave evidence that it cut the input."""
    cut = predictions.select(["presentation_id", "truncated"])
    cut = cut.filter(pc.fill_null(cut["truncated"], False))
    sentence = f"{cut.num_rows} inputs were cut by the system" if cut.num_rows else "no sign of cut inputs"
    offenders = first(cut["presentation_id"].slice(0, SHOWN_OFFENDERS).to_pylist())
    return Verdict(Gate.TRUNCATION, not cut.num_rows, False, sentence, {"truncated": cut.num_rows}, offenders)
