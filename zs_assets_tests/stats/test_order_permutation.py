"""Permutation test and noise band: exact cases, a loop over shuffles, and behaviour with and without an effect."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zs_assets.stats import OrderScores, order_effect, order_shuffles, sample_sensitivity
from zs_assets_tests.stats.order_cases import favours_first, order_blind, order_scores, small_scores

UNROUNDED = np.random.default_rng(31).dirichlet(np.ones(7), 40)


def shuffled_one_by_one(values: np.ndarray, permutations: int, seed: int) -> np.ndarray:
    """float64 (N, n): ranges of sums after writing out every shuffle of each sample's O * R replies."""
    rng = np.random.default_rng(seed)
    n, n_orders, n_repeats, n_options = values.shape
    ranges = np.empty((permutations, n))
    for sample, replies in enumerate(values.reshape(n, -1, n_options)):
        cells = np.tile(np.arange(n_orders * n_repeats), (permutations, 1))
        for shuffle, order_of_cells in enumerate(rng.permuted(cells, axis=1)):
            sums = replies[order_of_cells].reshape(values.shape[1:]).sum(axis=1)
            ranges[shuffle, sample] = (sums.max(axis=0) - sums.min(axis=0)).max()
    return ranges


def noisy(rng: np.random.Generator, samples: int, effect: float = 0.0) -> OrderScores:
    """Three options, four orders x two repeats, in hundredths; each order moves more, up to `effect`, to the first."""
    shares = np.full((samples, 4, 2, 3), 1 / 3)
    moved = effect * np.arange(4)[:, None, None] / 3
    shares = (1 - moved) * shares + moved * np.array([1.0, 0, 0])
    return order_scores(rng.multinomial(100, shares) / 100, decimals=2)


@pytest.mark.parametrize("decimals", [None, 2, 4])
def test_a_deterministic_order_blind_system_has_p_1_and_no_noise_at_all(decimals):
    vectors = UNROUNDED if decimals is None else UNROUNDED.round(decimals)
    effect = order_effect(order_blind(vectors, decimals=decimals), rng=np.random.default_rng(0))
    assert effect.p_value == 1
    assert (effect.sample_p_values == 1).all()
    assert effect.sample_share == 0
    for band in (effect.noise.median_range, effect.noise.large_share):
        assert (band.mean, band.low, band.high) == (0, 0, 0)


@pytest.mark.parametrize("repeats", [2, 3, 6])
def test_an_order_effect_without_repeat_noise_has_a_band_of_exactly_zero(repeats):
    """The mean of three equal doubles need not be that double; the residual must be zero all the same."""
    effect = order_effect(favours_first(UNROUNDED * 0.7, 0.3, repeats=repeats), rng=np.random.default_rng(0))
    assert (effect.noise.median_range.high, effect.noise.large_share.high) == (0, 0)
    assert effect.p_value == 1 / 201


@pytest.mark.parametrize("kind", ["grid of 2", "grid of 7", "unrounded"])
def test_ranges_are_what_a_loop_over_shuffles_finds(kind):
    rng = np.random.default_rng(3)
    units = {"grid of 2": 100, "grid of 7": 10**7, "unrounded": None}[kind]
    values = rng.dirichlet(np.ones(5), (6, 4, 3)) if units is None else rng.integers(0, units, (6, 4, 3, 5)) / units
    scores = order_scores(values, decimals=None if units is None else round(math.log10(units)))
    shuffles = order_shuffles(scores, permutations=50, rng=np.random.default_rng(9))
    expected = shuffled_one_by_one(scores.values, 50, 9)
    if units is None:
        assert shuffles.shuffled == pytest.approx(expected, abs=1e-15)
    else:
        assert np.array_equal(shuffles.shuffled, expected)
    means = scores.scores.mean(axis=2, keepdims=True)
    residuals = (scores.scores - means) * math.sqrt(3 / 2)
    assert shuffles.noise_points == pytest.approx(shuffled_one_by_one(residuals, 50, 9) / 3 * 100, rel=1e-9)


@settings(deadline=None)
@given(small_scores(), st.integers(1, 30))
def test_p_values_are_counts_of_shuffles_and_the_observed_range_is_that_of_the_samples(scores, permutations):
    shuffles = order_shuffles(scores, permutations=permutations, rng=np.random.default_rng(2))
    per_unit = 100 / (scores.n_repeats * scores.units_per_score)
    assert shuffles.observed * per_unit == pytest.approx(sample_sensitivity(scores).range_points, abs=1e-12)
    effect = shuffles.effect(10)
    counts = effect.sample_p_values * (1 + permutations)
    assert counts == pytest.approx(np.rint(counts))
    assert ((counts >= 1 - 1e-9) & (counts <= 1 + permutations + 1e-9)).all()
    assert (effect.noise is None) == (scores.n_repeats == 1)


def test_p_values_are_uniform_when_order_does_nothing():
    """400 null data sets, 39 shuffles: p <= .05 in 5 % of them. Ties of a coarse grid only make p larger."""
    rng = np.random.default_rng(6)
    p_values = np.array([order_effect(noisy(rng, 20), permutations=39, rng=rng).p_value for _ in range(400)])
    for level in (0.05, 0.25, 0.5, 0.75):
        standard_error = math.sqrt(level * (1 - level) / 400)
        assert abs((p_values <= level).mean() - level) < 3.5 * standard_error


def test_samples_below_the_level_are_at_most_its_share_when_order_does_nothing():
    rng = np.random.default_rng(7)
    share = order_effect(noisy(rng, 3000), permutations=199, rng=rng).sample_share
    assert 0.025 < share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 3000)


def test_an_order_effect_is_found_and_a_larger_one_in_more_samples():
    shares = []
    for effect in (0.0, 0.2, 0.5):
        rng = np.random.default_rng(8)
        found = order_effect(noisy(rng, 200, effect), permutations=199, rng=rng)
        shares.append(found.sample_share)
        assert found.p_value == 1 / 200 or effect == 0
    assert shares == sorted(shares)
    assert shares[-1] > 0.5


def test_the_band_is_where_ranges_of_pure_noise_lie_whatever_the_orders_do():
    """The band of a system with an order effect is that of the same noise without one."""
    quiet, moved = (
        order_effect(noisy(np.random.default_rng(9), 500, e), rng=np.random.default_rng(0)) for e in (0, 0.3)
    )
    observed = np.median(sample_sensitivity(noisy(np.random.default_rng(10), 500)).range_points)
    band = quiet.noise.median_range
    # Residuals of two repeats are mirror images, which narrows and shifts the band a little.
    assert band.mean == pytest.approx(observed, rel=0.1)
    assert moved.noise.median_range.mean == pytest.approx(band.mean, rel=0.05)


def test_a_group_is_summarised_from_the_shuffles_of_the_whole():
    shuffles = order_shuffles(noisy(np.random.default_rng(11), 40, 0.2), rng=np.random.default_rng(1))
    group = np.arange(40) % 3 == 0
    whole, part = shuffles.effect(10), shuffles.of(group).effect(10)
    assert part.sample_p_values.tolist() == whole.sample_p_values[group].tolist()
    as_wide = shuffles.shuffled[:, group].mean(axis=1) >= shuffles.observed[group].mean()
    assert part.p_value == pytest.approx((1 + as_wide.sum()) / 201)
    medians = np.median(shuffles.noise_points[:, group], axis=1)
    band = part.noise.median_range
    assert (band.mean, band.low, band.high) == pytest.approx((medians.mean(), *np.quantile(medians, [0.025, 0.975])))


def test_samples_do_not_share_their_shuffles():
    """Equal samples with one shuffle would all have equal null ranges, and the mean would be no steadier than one."""
    one = noisy(np.random.default_rng(12), 1, 0.2)
    alike = one.of(np.zeros(100, dtype=int))
    shuffled = order_shuffles(alike, rng=np.random.default_rng(1)).shuffled
    spread_of_mean, spread_of_one = shuffled.mean(axis=1).std(), shuffled.std()
    assert spread_of_mean == pytest.approx(spread_of_one / 10, rel=0.2)


def test_without_samples_there_is_nothing_to_test():
    none = noisy(np.random.default_rng(1), 2).of(np.zeros(2, dtype=bool))
    assert order_effect(none, rng=np.random.default_rng(0)) is None


def test_incomplete_samples_and_no_permutation_are_refused():
    values = np.full((1, 2, 2, 2), 0.5)
    with pytest.raises(ValueError, match="permutations is 0: give at least 1"):
        order_effect(order_scores(values), permutations=0, rng=np.random.default_rng(0))
    values[0, 0, 0] = math.nan
    with pytest.raises(ValueError, match="1 of 1 samples have replies without scores"):
        order_effect(order_scores(values), rng=np.random.default_rng(0))


def test_results_do_not_depend_on_the_size_of_a_block(monkeypatch):
    scores = noisy(np.random.default_rng(5), 7)
    whole = order_shuffles(scores, permutations=23, rng=np.random.default_rng(2))
    monkeypatch.setattr("zs_assets.stats.order_permutation._BLOCK_CELLS", 200)
    blocks = order_shuffles(scores, permutations=23, rng=np.random.default_rng(2))
    assert (blocks.shuffled == whole.shuffled).all() and (blocks.noise_points == whole.noise_points).all()
