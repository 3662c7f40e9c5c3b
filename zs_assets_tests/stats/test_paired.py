"""Paired differences: both systems on the same resamples, both schemes side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from zs_assets.stats import (
    FAILED,
    Metric,
    Scheme,
    dataset_stream,
    equal_weight_mean,
    evaluate,
    mean_difference,
    paired_differences,
    plain_indices,
    published_stream,
    sorted_by_id,
    stratified_indices,
)
from zs_assets_tests.stats.rows import labelled, random_answers
from zs_assets_tests.stats.test_proper_scores import BUDGET

SEED = 20260917
PAIRED_METRICS = [
    Metric.ACCURACY,
    Metric.MACRO_F1,
    Metric.BRIER,
    Metric.NLL,
    Metric.NLL_HALF_STEP,
    Metric.ECE,
]


def ids(n: int) -> list[str]:
    return [f"demo:{i}" for i in range(n)]


def compare(a, b, scheme: Scheme, resamples: int = 200):
    return paired_differences(
        a,
        b,
        example_ids=ids(len(a)),
        scheme=scheme,
        resamples=resamples,
        rng=published_stream(SEED),
    )


@pytest.mark.parametrize("scheme", Scheme)
def test_a_system_against_itself_is_zero_from_zero_to_zero(scheme: Scheme) -> None:
    answers = random_answers(60, 6, seed=1, decimals=2, fail_rate=0.1)
    intervals = compare(answers, answers, scheme).intervals()
    assert [interval.metric for interval in intervals] == PAIRED_METRICS
    for interval in intervals:
        assert (interval.point, interval.low, interval.high) == (0, 0, 0)
        assert not interval.supported


def test_the_point_is_the_difference_of_the_scores_on_shared_items() -> None:
    a = random_answers(80, 4, seed=1, decimals=2, fail_rate=0.1)
    b = random_answers(80, 4, seed=2, fail_rate=0.1)
    differences = compare(a, b, Scheme.PLAIN)
    shared = np.flatnonzero(a.valid & b.valid)
    of_a, of_b = (evaluate(answers.take(shared), budget=BUDGET) for answers in (a, b))
    assert (differences.n, differences.left_out) == (len(shared), 80 - len(shared))
    assert differences.left_out > 0
    for metric in PAIRED_METRICS:
        expected = getattr(of_a, metric.value) - getattr(of_b, metric.value)
        assert differences.point[metric] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scheme", Scheme)
def test_every_resample_equals_scoring_its_rows(scheme: Scheme) -> None:
    a = random_answers(50, 9, seed=3, decimals=2, fail_rate=0.1)
    b = random_answers(50, 9, seed=4, fail_rate=0.1)
    differences = compare(a, b, scheme, resamples=30)
    order = sorted_by_id(ids(50))
    shared = order[(a.valid & b.valid)[order]]
    rng = published_stream(SEED)
    if scheme is Scheme.PLAIN:
        draws = plain_indices(len(shared), 30, rng)
    else:
        draws = stratified_indices(a.gold[shared], 30, rng)
    for resample, rows in enumerate(draws):
        of_a, of_b = (evaluate(answers.take(shared[rows]), budget=BUDGET) for answers in (a, b))
        for metric in PAIRED_METRICS:
            if metric is Metric.MACRO_F1:
                continue
            expected = getattr(of_a, metric.value) - getattr(of_b, metric.value)
            assert differences.resampled[metric][resample] == pytest.approx(expected, abs=1e-9)
        # scikit-learn's default is the labels that occur; the published form is all declared ones.
        labels = range(9) if scheme is Scheme.TARGET_STRATIFIED else None
        f1 = [
            f1_score(x.gold, x.predicted, labels=labels, average="macro", zero_division=0)
            for x in (a.take(shared[rows]), b.take(shared[rows]))
        ]
        assert differences.resampled[Metric.MACRO_F1][resample] == pytest.approx(f1[0] - f1[1])


def test_an_interval_does_not_depend_on_the_order_of_rows() -> None:
    a, b = random_answers(40, 4, seed=1), random_answers(40, 4, seed=2)
    shuffle = np.random.default_rng(0).permutation(40)
    straight = compare(a, b, Scheme.TARGET_STRATIFIED)
    shuffled = paired_differences(
        a.take(shuffle),
        b.take(shuffle),
        example_ids=[ids(40)[i] for i in shuffle],
        scheme=Scheme.TARGET_STRATIFIED,
        resamples=200,
        rng=published_stream(SEED),
    )
    for one, other in zip(straight.intervals(), shuffled.intervals(), strict=True):
        assert (one.point, one.low, one.high) == pytest.approx((other.point, other.low, other.high))


def test_a_difference_is_supported_when_its_interval_excludes_zero() -> None:
    gold = np.arange(100) % 4
    right_half = np.where(np.arange(100) < 50, gold, (gold + 1) % 4)
    for scheme in Scheme:
        better, _ = compare(labelled(gold, gold, 4), labelled(gold, right_half, 4), scheme).intervals()
        worse, _ = compare(labelled(gold, right_half, 4), labelled(gold, gold, 4), scheme).intervals()
        assert better.low > 0 > worse.high
        assert better.supported
        assert worse.supported


def test_label_only_systems_are_compared_on_labels_only() -> None:
    vectors, labels = random_answers(20, 4, seed=1), labelled(np.arange(20) % 4, [1] * 20, 4)
    differences = compare(vectors, labels, Scheme.PLAIN)
    assert set(differences.point) == {Metric.ACCURACY, Metric.MACRO_F1}


def test_no_shared_item_gives_no_interval() -> None:
    a, b = labelled([0, 1], [0, FAILED], 2), labelled([0, 1], [FAILED, 1], 2)
    differences = compare(a, b, Scheme.PLAIN)
    assert (differences.n, differences.left_out, differences.intervals()) == (0, 2, ())


def test_stratified_intervals_of_tiny_strata_are_marked_weak() -> None:
    wide = compare(random_answers(100, 72, 1), random_answers(100, 72, 2), Scheme.TARGET_STRATIFIED)
    assert "72 strata for 100 rows (44 of one row" in wide.weak[Metric.ACCURACY]
    assert "0.53 times as wide" in wide.weak[Metric.ACCURACY]
    few = compare(random_answers(100, 6, 1), random_answers(100, 6, 2), Scheme.TARGET_STRATIFIED)
    assert list(few.weak) == [Metric.ECE]


def test_plain_macro_f1_is_marked_weak_where_resamples_lose_labels() -> None:
    wide = compare(random_answers(100, 72, 1), random_answers(100, 72, 2), Scheme.PLAIN)
    assert set(wide.weak) == {Metric.MACRO_F1, Metric.ECE}
    few = compare(random_answers(100, 4, 1), random_answers(100, 4, 2), Scheme.PLAIN)
    assert list(few.weak) == [Metric.ECE]


@pytest.mark.parametrize("scheme", Scheme)
def test_ece_differences_are_always_marked_weak(scheme: Scheme) -> None:
    differences = compare(random_answers(100, 4, 1), random_answers(100, 4, 2), scheme)
    assert "biased upwards" in differences.weak[Metric.ECE]


def test_stratified_intervals_of_singletons_have_no_width() -> None:
    a, b = labelled([0, 1, 2], [0, 1, 0], 3), labelled([0, 1, 2], [0, 0, 0], 3)
    interval, _ = compare(a, b, Scheme.TARGET_STRATIFIED).intervals()
    assert interval.low == interval.high == pytest.approx(1 / 3)
    assert "0.00 times as wide" in interval.weak


def test_systems_must_have_answered_the_same_examples() -> None:
    with pytest.raises(ValueError, match="same examples"):
        compare(labelled([0, 1], [0, 1], 2), labelled([1, 1], [0, 1], 2), Scheme.PLAIN)
    with pytest.raises(ValueError, match="same labels"):
        compare(labelled([0, 1], [0, 1], 2), labelled([0, 1], [0, 1], 3), Scheme.PLAIN)


def three_datasets(scheme: Scheme, stream) -> list:
    return [
        paired_differences(
            random_answers(100, k, 10 + k),
            random_answers(100, k, 20 + k),
            example_ids=ids(100),
            scheme=scheme,
            resamples=500,
            rng=stream(k),
        )
        for k in (4, 6, 72)
    ]


def test_a_dataset_mean_weights_datasets_equally() -> None:
    datasets = three_datasets(Scheme.PLAIN, lambda k: dataset_stream(SEED, str(k)))
    mean = mean_difference(datasets)
    for metric in PAIRED_METRICS:
        expected = np.mean([d.point[metric] for d in datasets])
        assert mean.point[metric] == pytest.approx(expected)
    assert mean.n == 300
    assert set(mean.weak) == {Metric.MACRO_F1, Metric.ECE}


def test_independent_streams_give_the_mean_the_variance_of_a_mean() -> None:
    datasets = three_datasets(Scheme.PLAIN, lambda k: dataset_stream(SEED, str(k)))
    resampled = [d.resampled[Metric.BRIER] for d in datasets]
    independent = np.sqrt(sum(np.var(r) for r in resampled)) / 3
    assert mean_difference(datasets).resampled[Metric.BRIER].std() == pytest.approx(independent, rel=0.1)


def test_a_mean_over_the_restarted_stream_is_marked_weak() -> None:
    mean = mean_difference(three_datasets(Scheme.TARGET_STRATIFIED, lambda _: published_stream(SEED)))
    assert all("not independent" in reason for reason in mean.weak.values())
    assert set(mean.weak) == set(PAIRED_METRICS)


def test_a_dataset_without_a_value_is_left_out_of_the_mean() -> None:
    mean = equal_weight_mean([0.5, None, 1.0])
    assert (mean.value, mean.datasets) == (0.75, 2)
    assert equal_weight_mean([None]).value is None


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 8), st.integers(8, 30), st.integers(0, 1000), st.sampled_from(list(Scheme)))
def test_swapping_the_systems_mirrors_every_interval(k: int, n: int, seed: int, scheme: Scheme) -> None:
    a, b = random_answers(n, k, seed), random_answers(n, k, seed + 1, decimals=2)
    for one, other in zip(compare(a, b, scheme, 40).intervals(), compare(b, a, scheme, 40).intervals(), strict=True):
        mirrored = (-other.point, -other.high, -other.low)
        assert (one.point, one.low, one.high) == pytest.approx(mirrored, abs=1e-12)
