"""Top-label ECE: exact bins on a decimal grid, the published float edges, and levels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.stats import (
    Answers,
    calibration_bins,
    confidence_levels,
    ece_by_level,
    ece_noise_floor,
    equal_width_bin,
    top_label_ece,
    top_label_ece_linspace,
    top_probability,
)
from zs_assets_tests.stats.rows import flags, on_hundredths, plain_floats

E1 = [0.25, 0.30, 0.35, 0.60, 0.65, 0.70, 0.75, 0.95, 1, 1], [0, 1, 0, 1, 0, 0, 1, 1, 0, 1]
E2 = [0.10, 0.20, 0.30, 0.30, 0.60, 0.70, 0.70, 0.95, 1, 1], [0, 1, 0, 0, 1, 1, 0, 1, 0, 1]
E3 = [0.95, 1.0], [1, 0]


@pytest.mark.parametrize("scale", [on_hundredths, plain_floats])
@pytest.mark.parametrize(("rows", "ece"), [(E1, 0.225), (E2, 0.325), (E3, 0.475)])
def test_ece_has_exact_edges(scale, rows, ece: float) -> None:
    assert top_label_ece(scale(rows[0]), flags(rows[1])) == pytest.approx(ece, abs=1e-12)


@pytest.mark.parametrize(("rows", "ece"), [(E1, 0.375), (E2, 0.205)])
def test_ece_as_published_has_linspace_edges(rows, ece: float) -> None:
    assert top_label_ece_linspace(on_hundredths(rows[0]), flags(rows[1])) == pytest.approx(ece)


@pytest.mark.parametrize(("rows", "ece"), [(E1, 0.435), (E2, 0.335)])
def test_ece_by_level(rows, ece: float) -> None:
    assert ece_by_level(on_hundredths(rows[0]), flags(rows[1])) == pytest.approx(ece)


def test_ece_by_level_does_not_apply_off_the_grid() -> None:
    assert ece_by_level(plain_floats(E1[0]), flags(E1[1])) is None


def test_every_hundredth_falls_into_the_bin_of_its_integer() -> None:
    hundredths = np.arange(101)
    expected = np.minimum(hundredths // 10, 9)
    assert np.array_equal(equal_width_bin(on_hundredths(hundredths / 100)), expected)
    assert np.array_equal(equal_width_bin(plain_floats(hundredths / 100)), expected)


@pytest.mark.parametrize("k", range(1, 10))
def test_a_plain_float_beside_an_edge_keeps_its_side(k: int) -> None:
    edge = k / 10
    below, above = np.nextafter(edge, 0), np.nextafter(edge, 1)
    assert equal_width_bin(plain_floats([below, edge, above])).tolist() == [k - 1, k, k]


def test_a_renormalised_level_is_the_fraction_of_hundredths() -> None:
    vectors = np.array([[0.69, 0.30], [0.33, 0.66], [0.70, 0.31]])
    confidence = top_probability(vectors, renormalised=True, decimals=2)
    fractions = list(zip(confidence.numerator.tolist(), confidence.denominator.tolist(), strict=True))
    assert fractions == [(69, 99), (66, 99), (70, 101)]
    assert confidence.levels.tolist() == [69 / 99, 66 / 99, 70 / 101]
    # 70 hundredths alone would be bin 7; 70/101 = .693 is bin 6.
    assert equal_width_bin(confidence).tolist() == [6, 6, 6]


def test_a_fraction_on_an_edge_is_not_lost_to_its_float() -> None:
    vector = np.array([[0.76, 0.07, 0.07, 0.05]])
    confidence = top_probability(vector, renormalised=True, decimals=2)
    assert confidence.values[0] < 0.8 == 76 / 95
    assert equal_width_bin(confidence).tolist() == [8]


def test_raw_vectors_are_fractions_of_one_hundred() -> None:
    confidence = top_probability(np.array([[0.7, 0.31]]), renormalised=False, decimals=2)
    assert (confidence.numerator[0], confidence.denominator[0]) == (70, 100)
    assert equal_width_bin(confidence).tolist() == [7]


def test_float_noise_makes_no_new_level() -> None:
    correct = flags([1, 0])
    levels = confidence_levels(on_hundredths([0.21, 0.21000000000000002]), correct)
    assert (levels.level.tolist(), levels.count.tolist()) == ([0.21], [2])


def test_equal_fractions_are_one_level() -> None:
    vectors = np.array([[0.66, 0.33], [0.68, 0.34]])
    confidence = top_probability(vectors, renormalised=True, decimals=2)
    assert confidence.levels.tolist() == [2 / 3, 2 / 3]


def test_a_system_off_its_grid_is_treated_as_plain_floats() -> None:
    assert not on_hundredths([0.125, 0.5]).on_grid


def test_the_table_of_bins_gives_the_same_ece() -> None:
    table = calibration_bins(on_hundredths(E1[0]), flags(E1[1]))
    filled = table.count > 0
    gaps = np.abs(table.mean_confidence - table.accuracy)[filled]
    assert (table.count[filled] * gaps).sum() / 10 == pytest.approx(0.225)
    assert np.isnan(table.accuracy[~filled]).all()
    assert table.lower[3] == 0.3


def test_the_noise_floor_is_zero_when_nothing_is_random() -> None:
    assert ece_noise_floor(on_hundredths([1.0] * 20), 50, np.random.default_rng(0)) == (0.0, 0.0)


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 20), st.booleans()), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_ece_is_a_share_and_forgets_the_order_of_rows(rows, random) -> None:
    def figures(of):
        confidence = on_hundredths([h / 100 for h, _, _ in of])
        correct = flags([right for _, _, right in of])
        return [
            top_label_ece(confidence, correct),
            top_label_ece_linspace(confidence, correct),
            ece_by_level(confidence, correct),
        ]

    before = figures(rows)
    assert all(0 <= ece <= 1 + 1e-12 for ece in before)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert figures(shuffled) == pytest.approx(before, abs=1e-12)


@given(st.integers(1, 100), st.integers(0, 100), st.integers(0, 3))
def test_the_exact_bin_is_that_of_the_fraction(top: int, rest: int, extra: int) -> None:
    rest = min(rest, top)
    vectors = np.array([[top / 100, rest / 100, min(extra, top) / 100]])
    confidence = top_probability(vectors, renormalised=True, decimals=2)
    exact = Fraction(top, top + rest + min(extra, top))
    assert equal_width_bin(confidence)[0] == min(int(10 * exact), 9)


def test_the_study_may_score_the_reported_confidence() -> None:
    answers = Answers(
        np.array([0, 1]),
        np.array([0, 1]),
        np.array([True, True]),
        2,
        probabilities=np.array([[1.0, 0.0], [0.2, 0.8]]),
        confidence=np.array([0.99, 0.8]),
        decimals=2,
    )
    assert answers.scored_confidence.levels.tolist() == [0.99, 0.8]
