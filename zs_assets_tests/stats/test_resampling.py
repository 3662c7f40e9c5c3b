"""The published stream is reproduced draw by draw; ours is independent per dataset."""

from __future__ import annotations

import numpy as np
import pytest

from zs_assets.stats import (
    dataset_stream,
    plain_indices,
    published_stream,
    resample_counts,
    sorted_by_id,
    stratified_indices,
)

SEED = 20260917


@pytest.mark.parametrize("n_classes", [1, 4, 6, 72])
def test_the_stratified_stream_equals_the_published_loop(n_classes: int) -> None:
    gold = np.random.default_rng(n_classes).permutation(np.arange(100) % n_classes)
    fast = stratified_indices(gold, 200, published_stream(SEED))
    rng = np.random.default_rng(SEED)
    strata = [np.flatnonzero(gold == label) for label in np.unique(gold)]
    for resample in fast:
        plain = np.concatenate([rng.choice(rows, size=len(rows), replace=True) for rows in strata])
        assert np.array_equal(resample, plain)


def test_every_stratified_resample_keeps_the_label_counts() -> None:
    gold = np.array([0, 2, 2, 5, 0, 2])
    drawn = gold[stratified_indices(gold, 50, published_stream(SEED))]
    assert (np.sort(drawn, axis=1) == np.sort(gold)).all()


def test_plain_draws_are_one_stream_however_they_are_batched() -> None:
    rng = np.random.default_rng(SEED)
    one_by_one = [rng.integers(0, 100, 100) for _ in range(20)]
    assert np.array_equal(plain_indices(100, 20, published_stream(SEED)), one_by_one)


def test_counts_say_how_often_each_row_was_drawn() -> None:
    counts = resample_counts(np.array([[0, 0, 2], [1, 1, 1]]), 3)
    assert counts.tolist() == [[2, 0, 1], [0, 3, 0]]


def test_ids_are_sorted_as_strings() -> None:
    assert sorted_by_id(["a:9", "a:10", "a:2"]).tolist() == [1, 2, 0]


def test_repeated_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="all be different"):
        sorted_by_id(["a", "a"])


def test_a_dataset_stream_depends_on_seed_and_name_only() -> None:
    first = dataset_stream(SEED, "agnews").integers(0, 2**62, 8)
    assert np.array_equal(first, dataset_stream(SEED, "agnews").integers(0, 2**62, 8))
    assert not np.array_equal(first, dataset_stream(SEED, "banking77").integers(0, 2**62, 8))
    assert not np.array_equal(first, dataset_stream(SEED + 1, "agnews").integers(0, 2**62, 8))


def test_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="needs rows"):
        plain_indices(0, 10, published_stream(SEED))
