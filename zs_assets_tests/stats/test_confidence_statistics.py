"""Margin, entropy and ratio: closed forms, exact ties on a grid, no trace of the order of options."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from zs_assets.stats import confidence_statistics
from zs_assets_tests.sources.real_data import needs_real_data
from zs_assets_tests.stats.automation_rows import automation_answers

HUNDREDTHS = st.lists(st.integers(0, 100), min_size=3, max_size=3)
PAIR = st.lists(HUNDREDTHS, min_size=2, max_size=2)


def hundredths(*rows: list[int]) -> np.ndarray:
    return np.array(rows) / 100


def test_a_one_hot_vector_is_as_certain_as_can_be() -> None:
    statistics = confidence_statistics(np.eye(3)[:1], 2)
    assert (statistics.margin_top2[0], statistics.entropy_norm[0], statistics.ratio_top2[0]) == (1.0, 0.0, 200.0)
    assert math.copysign(1, statistics.entropy_norm[0]) == 1
    assert (statistics.grid.margin[0], statistics.grid.entropy_norm[0], statistics.grid.ratio[0]) == (100, 0.0, 200.0)


@pytest.mark.parametrize("k", [2, 4, 5, 10])
def test_the_uniform_vector_has_entropy_one_for_any_number_of_options(k: int) -> None:
    statistics = confidence_statistics(np.full((1, k), 1 / k), 2)
    assert statistics.entropy_norm[0] == pytest.approx(1.0)
    assert statistics.grid.entropy_norm[0] == pytest.approx(1.0)
    assert statistics.margin_top2[0] == 0.0
    assert statistics.ratio_top2[0] == 1.0


def test_the_published_example() -> None:
    # 0.59 / 0.41 and 0.38 / 0.33 / 0.23 / 0.06, two questions of the study's probe.
    statistics = confidence_statistics(hundredths([38, 33, 23, 6]), 2)
    assert statistics.grid.margin[0] == 5
    assert Fraction(int(statistics.grid.ratio_numerator[0]), int(statistics.grid.ratio_denominator[0])) == Fraction(
        38, 33
    )
    assert confidence_statistics(hundredths([41, 59]), 2).grid.margin[0] == 18


def test_a_margin_has_one_value_on_the_grid_and_several_in_floats() -> None:
    statistics = confidence_statistics(hundredths([90, 10, 0], [80, 10, 5], [85, 5, 5]), 2)
    assert statistics.grid.margin.tolist() == [80, 70, 80]
    assert statistics.margin_top2[0] != statistics.margin_top2[2]


def test_equal_fractions_tie() -> None:
    grid = confidence_statistics(hundredths([66, 22, 12], [63, 21, 16]), 2).grid
    assert grid.ratio[0] == grid.ratio[1] == 3.0


def test_equal_entropies_of_different_vectors_tie() -> None:
    # 4**4 = 2**2 * 2**2 * 2**2 * 2**2, so a 4 and four ones hold as much entropy as four twos.
    grid = confidence_statistics(hundredths([92, 4, 1, 1, 1, 1], [92, 2, 2, 2, 2, 0]), 2).grid
    assert grid.entropy_norm[0] == grid.entropy_norm[1]


def test_a_second_probability_of_zero_counts_as_half_a_step() -> None:
    statistics = confidence_statistics(hundredths([99, 0], [50, 1]), 2)
    assert statistics.ratio_top2.tolist() == [198.0, 50.0]
    assert statistics.grid.ratio.tolist() == [198.0, 50.0]


@pytest.mark.parametrize("decimals", [1, 2, 3, 4, 6])
def test_the_exact_ratio_follows_the_definition_on_any_grid(decimals: int) -> None:
    step = 10**-decimals
    vectors = np.round(np.array([[0.7, 0.0], [0.6, 0.4], [0.9, step]]), decimals)
    statistics = confidence_statistics(vectors, decimals)
    assert statistics.grid.ratio == pytest.approx(statistics.ratio_top2, rel=1e-12)


def test_off_the_grid_there_is_no_exact_form() -> None:
    assert confidence_statistics(np.array([[0.125, 0.875]]), 2).grid is None
    assert confidence_statistics(np.array([[0.25, 0.75]]), None).grid is None


@given(PAIR)
def test_the_exact_ratio_is_ordered_as_its_fraction(rows) -> None:
    def ratio(row: list[int]) -> Fraction:
        first, second = sorted(row, reverse=True)[:2]
        return Fraction(first, 100) / max(Fraction(second, 100), Fraction(1, 200))

    ours = confidence_statistics(hundredths(*rows), 2).grid.ratio
    one, other = map(ratio, rows)
    assert (ours[0] < ours[1], ours[0] == ours[1]) == (one < other, one == other)


@given(PAIR)
def test_the_exact_entropy_is_ordered_as_the_integers_say(rows) -> None:
    def key(row: list[int]) -> Fraction:
        # exp(100 H) = 100**S / prod(h**h)
        return Fraction(100 ** sum(row), math.prod(h**h for h in row))

    ours = confidence_statistics(hundredths(*rows), 2).grid.entropy_norm
    one, other = map(key, rows)
    assert (ours[0] == ours[1]) == (one == other)
    if abs(ours[0] - ours[1]) > 1e-12:
        assert (ours[0] < ours[1]) == (one < other)


@given(HUNDREDTHS)
def test_both_forms_agree_and_entropy_is_that_of_scipy(row) -> None:
    statistics = confidence_statistics(hundredths(row), 2)
    assert statistics.grid.margin[0] / 100 == pytest.approx(statistics.margin_top2[0], abs=1e-12)
    assert statistics.grid.ratio[0] == pytest.approx(statistics.ratio_top2[0], rel=1e-12)
    assert statistics.grid.entropy_norm[0] == pytest.approx(statistics.entropy_norm[0], abs=1e-12)
    if sum(row) == 100:
        assert statistics.entropy_norm[0] == pytest.approx(entropy(hundredths(row)[0], base=3), abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.permutations(range(4)))
def test_the_order_of_the_options_changes_no_bit(row, order) -> None:
    vector = np.array([row])
    one, other = confidence_statistics(vector, None), confidence_statistics(vector[:, order], None)
    for field in ("margin_top2", "entropy_norm", "ratio_top2"):
        assert getattr(one, field) == getattr(other, field)


@pytest.mark.parametrize("vector", [[0.5, np.nan], [1.2, 0.0], [-0.1, 1.0]])
def test_a_probability_that_is_none_is_refused(vector) -> None:
    with pytest.raises(ValueError, match="probabilities in"):
        confidence_statistics(np.array([vector]), None)


def test_one_option_has_no_second() -> None:
    with pytest.raises(ValueError, match="K >= 2"):
        confidence_statistics(np.ones((3, 1)), 2)


@needs_real_data
def test_the_published_rows_have_78_margins_that_floats_make_104() -> None:
    answers = automation_answers()
    off_atom = answers.scored_confidence.levels < 1
    statistics = confidence_statistics(answers.raw_vectors[off_atom], 2)
    assert len(np.unique(statistics.grid.margin)) == 78
    assert len(np.unique(statistics.margin_top2)) == 104
