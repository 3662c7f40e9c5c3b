"""Gates of a predictions partition, asked as the producing step, every reader and publication ask them."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from zs_assets.gates import Expected, one_model_across_datasets, one_prompt_across_backends, predictions_verdicts
from zs_assets.protocol.names import Gate, Outcome
from zs_assets_tests.prediction_rows import OPTIONS, predictions_table, row

EXPECTED = Expected(
    option_ids=OPTIONS,
    presentations=[(f"d:{i}/o0r0", f"hash{i}") for i in range(4)],
    prompt_hash="prompt",
    sum_tolerance=0.02,
    max_invalid_rate=0.25,
    warn_failure_rate=0.25,
)


def verdict(table: pa.Table, gate: Gate):
    return {v.gate: v for v in predictions_verdicts(table, EXPECTED)}[gate]


def test_a_sound_partition_passes_every_gate():
    table = predictions_table([row(i) for i in range(4)])
    assert [v.gate for v in predictions_verdicts(table, EXPECTED) if not v.passed] == []


@pytest.mark.parametrize(
    "vector",
    [
        [0.5, 0.3],
        [0.5, 0.3, 0.1, 0.1],
        [0.9, 0.3, -0.2],
        [1.2, -0.1, -0.1],
        [math.nan, 0.5, 0.5],
        [math.inf, 0.0, 0.0],
        [0.5, 0.3, 0.0],
        [0.5, 0.3, 0.23],
    ],
)
def test_a_row_stored_as_ok_with_a_broken_vector_stops_the_partition(vector: list[float]):
    table = predictions_table([row(0), row(1, probabilities=vector), row(2), row(3)])
    found = verdict(table, Gate.VECTOR_INTEGRITY)
    assert found.stops
    assert found.counts == {"ok": 4, "broken": 1}
    assert found.first_offenders == ("d:1/o0r0",)


@pytest.mark.parametrize("vector", [[0.5, 0.3, 0.19], [0.5, 0.3, 0.22], [0.5, 0.3, 0.18]])
def test_sums_within_the_tolerance_pass(vector: list[float]):
    table = predictions_table([row(i, probabilities=vector) for i in range(4)])
    assert verdict(table, Gate.VECTOR_INTEGRITY).passed


def test_broken_vectors_of_invalid_rows_are_for_the_rate_gate_not_the_integrity_gate():
    table = predictions_table([row(0), row(1), row(2), row(3, outcome=Outcome.INVALID, probabilities=[9.0])])
    assert verdict(table, Gate.VECTOR_INTEGRITY).passed
    assert verdict(table, Gate.MAX_INVALID_RATE).passed  # 1 of 4 is the limit


def test_more_invalid_replies_than_the_limit_stop_the_partition():
    bad = [row(i, outcome=Outcome.INVALID, problem="sum 0.8") for i in (2, 3)]
    found = verdict(predictions_table([row(0), row(1), *bad]), Gate.MAX_INVALID_RATE)
    assert found.stops
    assert "2 of 4" in found.sentence
    assert "sum 0.8" in found.sentence


def test_a_label_only_row_needs_a_choice_among_the_options():
    good = predictions_table([row(i, probabilities=None, choice="b") for i in range(4)])
    bad = predictions_table([row(i, probabilities=None, choice="elsewhere" if i == 3 else "b") for i in range(4)])
    assert verdict(good, Gate.VECTOR_INTEGRITY).passed
    assert verdict(bad, Gate.VECTOR_INTEGRITY).first_offenders == ("d:3/o0r0",)


@pytest.mark.parametrize(
    ("rows", "counted"),
    [
        ([row(0), row(1), row(2)], "missing"),
        ([row(0), row(1), row(2), row(3), row(7)], "foreign"),
        ([row(0), row(1), row(2), row(3), row(3)], "double"),
        ([row(0), row(1), row(2), row(3, text_sha256="another")], "other_text"),
    ],
)
def test_every_planned_presentation_has_exactly_one_prediction_of_its_text(rows, counted):
    found = verdict(predictions_table(rows), Gate.MANIFEST_COVERAGE)
    assert found.stops
    assert found.counts[counted] == 1


def test_two_prompts_in_one_partition_are_refused():
    table = predictions_table([row(0), row(1), row(2), row(3, prompt_hash="other")])
    assert verdict(table, Gate.ONE_PROMPT).stops


def test_two_resolved_models_in_one_partition_are_refused_and_failed_rows_do_not_count():
    failed = row(2, outcome=Outcome.ERROR, probabilities=None, model_resolved=None)
    assert verdict(predictions_table([row(0), row(1), failed, row(3)]), Gate.ONE_MODEL).passed
    moved = predictions_table([row(0), row(1), failed, row(3, model_resolved="m-2")])
    assert verdict(moved, Gate.ONE_MODEL).stops


def test_failures_warn_and_do_not_stop():
    errors = [row(i, outcome=Outcome.ERROR, probabilities=None, model_resolved=None) for i in (1, 2)]
    found = verdict(predictions_table([row(0), *errors, row(3)]), Gate.FAILURE_RATE)
    assert not found.passed
    assert not found.stops
    assert "2 error" in found.sentence


def test_a_truncated_input_is_a_warning_that_names_it():
    found = verdict(predictions_table([row(0), row(1, truncated=True), row(2), row(3)]), Gate.TRUNCATION)
    assert (found.passed, found.stops, found.first_offenders) == (False, False, ("d:1/o0r0",))


def test_a_partition_that_does_not_apply_passes_every_gate():
    rows = [row(i, outcome=Outcome.NOT_APPLICABLE, probabilities=None, model_resolved=None) for i in range(4)]
    assert all(v.passed for v in predictions_verdicts(predictions_table(rows), EXPECTED))


def test_one_model_must_answer_on_every_dataset():
    assert one_model_across_datasets("jev", {"a": "jev-1.13.0", "b": "jev-1.13.0", "c": None}).passed
    moved = one_model_across_datasets("jev", {"a": "jev-1.13.0", "b": "jev-1.14.0"})
    assert moved.stops
    assert "a: jev-1.13.0, b: jev-1.14.0" in moved.sentence


def test_every_backend_of_a_dataset_must_be_asked_the_same():
    assert one_prompt_across_backends("d", {"jev": "aa", "deepseek": "aa"}).passed
    split = one_prompt_across_backends("d", {"jev": "aa", "deepseek": "bb"})
    assert split.stops
    assert split.counts == {"prompts": 2, "backends": 2}
    assert "jev: aa, deepseek: bb" in split.sentence
