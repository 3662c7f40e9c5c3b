"""The gates over 42,000 rows: the verdicts that counting row by row gives, in a fraction of a second."""

from __future__ import annotations

import math
import time
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zs_assets.gates import Expected, predictions_verdicts
from zs_assets.protocol.names import Gate, Outcome
from zs_assets.storage.schemas import PREDICTIONS
from zs_assets_tests.prediction_rows import OPTIONS, predictions_table, row

PLANNED = 4
ROWS = 42_000
SECONDS = 1.5  # measured 0.1 s; the limit only has to tell it from a loop over pairs of rows, which took a minute


def expected(planned: int) -> Expected:
    return Expected(
        option_ids=OPTIONS,
        presentations=[(f"d:{i}/o0r0", f"hash{i}") for i in range(planned)],
        prompt_hash="prompt",
        sum_tolerance=0.02,
        max_invalid_rate=0.25,
        warn_failure_rate=0.25,
    )


VECTORS = st.none() | st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, -0.5, 1.5, math.nan, None]), max_size=4)
STORED = st.lists(
    st.builds(
        lambda index, **changes: row(index, **changes),
        st.integers(0, PLANNED + 1),
        outcome=st.sampled_from([Outcome.OK, Outcome.OK, Outcome.INVALID, Outcome.ERROR, Outcome.REFUSAL]),
        probabilities=VECTORS,
        choice=st.sampled_from(["a", "c", "elsewhere", None]),
        text_sha256=st.sampled_from(["hash0", "hash1", "hash2"]),
        prompt_hash=st.sampled_from(["prompt", "prompt", "other"]),
        model_resolved=st.sampled_from(["m-1", "m-1", None, "m-2"]),
        truncated=st.sampled_from([None, False, True]),
    ),
    max_size=8,
)


def breaks_integrity(stored: dict) -> bool:
    """The rule of the gate, for one row stored as ok."""
    vector = stored["probabilities"]
    if vector is None:
        return stored["choice"] not in OPTIONS
    if len(vector) != len(OPTIONS) or any(p is None or not 0 <= p <= 1 for p in vector):
        return True
    return abs(sum(vector) - 1) > 0.02 + 1e-9


@settings(max_examples=150, deadline=None)
@given(rows=STORED, chunks=st.integers(1, 3))
def test_the_verdicts_are_those_of_counting_row_by_row(rows: list[dict], chunks: int):
    edges = [len(rows) * k // chunks for k in range(chunks + 1)]
    table = pa.concat_tables([predictions_table(rows[a:b]) for a, b in pairwise(edges)])
    found = {verdict.gate: verdict for verdict in predictions_verdicts(table, expected(PLANNED))}

    broken = [each["presentation_id"] for each in rows if each["outcome"] == "ok" and breaks_integrity(each)]
    assert found[Gate.VECTOR_INTEGRITY].counts["broken"] == len(broken)
    assert found[Gate.VECTOR_INTEGRITY].first_offenders == tuple(broken[:5])

    text_of = dict(expected(PLANNED).presentations)
    stored = [each["presentation_id"] for each in rows]
    missing = [name for name in text_of if name not in stored]
    foreign = [name for name in stored if name not in text_of]
    texts = [(each["presentation_id"], each["text_sha256"]) for each in rows]
    other = [name for name, digest in texts if text_of.get(name, digest) != digest]
    coverage = found[Gate.MANIFEST_COVERAGE]
    assert coverage.counts == {
        "planned": PLANNED,
        "missing": len(missing),
        "foreign": len(foreign),
        "double": len(stored) - len(set(stored)),
        "other_text": len(other),
    }
    assert coverage.first_offenders == tuple([*missing, *foreign, *other][:5])
    assert coverage.passed == (not missing and not foreign and not other and len(stored) == len(set(stored)))

    invalid = [each for each in rows if each["outcome"] == "invalid"]
    assert found[Gate.MAX_INVALID_RATE].passed == (len(invalid) <= 0.25 * len(rows))
    failures = sum(each["outcome"] != "ok" for each in rows)
    assert found[Gate.FAILURE_RATE].passed == (failures <= 0.25 * len(rows))
    assert found[Gate.ONE_PROMPT].passed == all(each["prompt_hash"] == "prompt" for each in rows)
    assert found[Gate.ONE_MODEL].passed == (len({each["model_resolved"] for each in rows} - {None}) <= 1)
    assert found[Gate.TRUNCATION].counts["truncated"] == sum(each["truncated"] is True for each in rows)


@pytest.fixture(scope="module")
def large() -> pa.Table:
    """42,000 sound rows, built by column."""
    columns = {name: pa.nulls(ROWS, field.type) for name, field in zip(PREDICTIONS.names, PREDICTIONS, strict=True)}
    sample = predictions_table([row(0)])
    for name in PREDICTIONS.names:
        if sample[name].null_count == 0:
            columns[name] = pa.concat_arrays([sample[name].combine_chunks()] * ROWS)
    columns["presentation_id"] = pa.array([f"d:{i}/o0r0" for i in range(ROWS)])
    columns["text_sha256"] = pa.array([f"hash{i}" for i in range(ROWS)])
    return pa.table(columns, schema=PREDICTIONS)


def changed(table: pa.Table, at: int, **changes) -> pa.Table:
    one = predictions_table([table.slice(at, 1).to_pylist()[0] | changes])
    return pa.concat_tables([table.slice(0, at), one, table.slice(at + 1)])


def test_all_gates_of_42000_rows_take_a_fraction_of_a_second(large: pa.Table):
    promised = expected(ROWS)
    started = time.process_time()
    verdicts = predictions_verdicts(large, promised)
    assert time.process_time() - started < SECONDS
    assert [verdict.gate for verdict in verdicts if not verdict.passed] == []


def test_one_bad_row_of_42000_is_found_and_named(large: pa.Table):
    at = 31_337
    cases = {
        Gate.VECTOR_INTEGRITY: {"probabilities": [0.5, 0.3, 0.1]},
        Gate.MANIFEST_COVERAGE: {"text_sha256": "another"},
        Gate.ONE_PROMPT: {"prompt_hash": "another"},
        Gate.ONE_MODEL: {"model_resolved": "another"},
    }
    for gate, changes in cases.items():
        verdicts = predictions_verdicts(changed(large, at, **changes), expected(ROWS))
        stops = [verdict.gate for verdict in verdicts if verdict.stops]
        assert stops == [gate]
    broken = changed(large, at, probabilities=[0.5, 0.3, np.nan])
    found = {verdict.gate: verdict for verdict in predictions_verdicts(broken, expected(ROWS))}
    assert found[Gate.VECTOR_INTEGRITY].first_offenders == (f"d:{at}/o0r0",)
