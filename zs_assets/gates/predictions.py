"""Gates of one predictions partition (a dataset x backend)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.gates.verdict import Verdict, first
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
    ok = predictions.filter(pc.equal(predictions["outcome"], Outcome.OK.value)).combine_chunks()
    ids = ok["presentation_id"].to_pylist()
    bad = np.zeros(len(ids), dtype=bool)
    if ids:
        lists = ok["probabilities"].combine_chunks()
        lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
        has_vector = np.asarray(lists.is_valid())
        lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
        bad |= has_vector & (lengths != len(expected.option_ids))
        complete = has_vector & (lengths == len(expected.option_ids))
        flat = lists.filter(pa.array(complete)).flatten()
        values = flat.to_numpy(zero_copy_only=False).astype(float).reshape(-1, len(expected.option_ids))
        with np.errstate(invalid="ignore"):
            sound = np.isfinite(values).all(axis=1) & (values >= 0).all(axis=1) & (values <= 1).all(axis=1)
            sound &= np.abs(values.sum(axis=1) - 1.0) <= expected.sum_tolerance + 1e-9
        bad[np.flatnonzero(complete)[~sound]] = True
        known = np.asarray(pc.fill_null(pc.is_in(ok["choice"], pa.array(expected.option_ids)), False))
        bad |= ~has_vector & ~known
    offenders = first(ids[row] for row in np.flatnonzero(bad))
    count = int(bad.sum())
    with_vector = int(np.count_nonzero(has_vector)) if ids else 0
    sentence = (
        _integrity_sentence(with_vector, len(ids) - with_vector, expected)
        if not count
        else f"{count} of {len(ids)} rows stored as ok break integrity, first {offenders[0]}"
    )
    return Verdict(Gate.VECTOR_INTEGRITY, not count, True, sentence, {"ok": len(ids), "broken": count}, offenders)


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
    rows = predictions.filter(pc.equal(predictions["outcome"], Outcome.INVALID.value))
    asked = predictions.num_rows
    rate = rows.num_rows / asked if asked else 0.0
    passed = rate <= expected.max_invalid_rate
    offenders = first(
        f"{name}: {why}"
        for name, why in zip(rows["presentation_id"].to_pylist(), rows["problem"].to_pylist(), strict=True)
    )
    sentence = f"{rows.num_rows} of {asked} replies are invalid, limit {expected.max_invalid_rate:.0%}"
    if not passed:
        sentence += f"; first {offenders[0]}"
    return Verdict(Gate.MAX_INVALID_RATE, passed, True, sentence, {"invalid": rows.num_rows, "rate": rate}, offenders)


def manifest_coverage(predictions: pa.Table, expected: Expected) -> Verdict:
    """One prediction per planned presentation, with the text hash of the manifest."""
    planned = dict(expected.presentations)
    stored = predictions["presentation_id"].to_pylist()
    hashes = predictions["text_sha256"].to_pylist()
    missing = [name for name in planned if name not in set(stored)]
    foreign = [name for name in stored if name not in planned]
    twice = len(stored) - len(set(stored))
    other_text = [name for name, digest in zip(stored, hashes, strict=True) if planned.get(name, digest) != digest]
    passed = not (missing or foreign or twice or other_text)
    offenders = first([*missing, *foreign, *other_text])
    sentence = (
        f"one prediction for each of {len(planned)} planned presentations"
        if passed
        else f"{len(missing)} planned presentations have no prediction, {len(foreign)} predictions were not planned, "
        f"{twice} are double, {len(other_text)} have another text"
    )
    counts = {"planned": len(planned), "missing": len(missing), "foreign": len(foreign), "double": twice}
    return Verdict(Gate.MANIFEST_COVERAGE, passed, True, sentence, {**counts, "other_text": len(other_text)}, offenders)


def one_prompt(predictions: pa.Table, expected: Expected) -> Verdict:
    """Every row was asked with the prompt of the manifest."""
    hashes = set(predictions["prompt_hash"].to_pylist())
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
    models = sorted(set(predictions["model_resolved"].to_pylist()) - {None})
    passed = len(models) <= 1
    sentence = f"model {models[0]} throughout" if len(models) == 1 else f"{len(models)} models answered: {models}"
    return Verdict(Gate.ONE_MODEL, passed, True, sentence, {"models": len(models)}, first(models))


def failure_rate(predictions: pa.Table, expected: Expected) -> Verdict:
    """Warning: presentations without a valid answer, all causes together."""
    outcomes = predictions["outcome"].to_pylist()
    counts = {outcome.value: outcomes.count(outcome.value) for outcome in _FAILURES}
    failures = sum(counts.values())
    rate = failures / len(outcomes) if outcomes else 0.0
    parts = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
    sentence = f"{failures} of {len(outcomes)} presentations have no valid answer ({parts})"
    return Verdict(Gate.FAILURE_RATE, rate <= expected.warn_failure_rate, False, sentence, {**counts, "rate": rate})


def truncation(predictions: pa.Table) -> Verdict:
    """Warning: the system gave evidence that it cut the input."""
    cut = predictions.filter(pc.fill_null(predictions["truncated"], False))
    sentence = f"{cut.num_rows} inputs were cut by the system" if cut.num_rows else "no sign of cut inputs"
    offenders = first(cut["presentation_id"].to_pylist())
    return Verdict(Gate.TRUNCATION, not cut.num_rows, False, sentence, {"truncated": cut.num_rows}, offenders)
