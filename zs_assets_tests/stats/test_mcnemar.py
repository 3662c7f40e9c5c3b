"""McNemar's exact test looks only at examples that one of the two has right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from zs_assets.stats import mcnemar_exact
from zs_assets_tests.stats.rows import flags


def paired(only_a: int, only_b: int, both: int = 3, neither: int = 2):
    a = [1] * only_a + [0] * only_b + [1] * both + [0] * neither
    b = [0] * only_a + [1] * only_b + [1] * both + [0] * neither
    return flags(a), flags(b)


def test_closed_form_of_one_against_seven() -> None:
    # 2 * (C(8,0) + C(8,1)) / 2**8, and the middle one less C(8,1) / 2**8
    test = mcnemar_exact(*paired(1, 7))
    assert (test.only_a, test.only_b) == (1, 7)
    assert test.p_value == pytest.approx(18 / 256)
    assert test.mid_p == pytest.approx(10 / 256)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 9))
def test_it_is_the_binomial_test_of_the_examples_right_apart(only_a: int, only_b: int, both: int) -> None:
    test = mcnemar_exact(*paired(only_a, only_b, both))
    if only_a + only_b:
        assert test.p_value == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)
    assert 0 < test.mid_p <= test.p_value <= 1
    mirrored = mcnemar_exact(*reversed(paired(only_a, only_b, both)))
    assert (mirrored.p_value, mirrored.mid_p) == (test.p_value, test.mid_p)


@pytest.mark.parametrize("apart", [0, 4])
def test_no_difference_is_p_one(apart: int) -> None:
    test = mcnemar_exact(*paired(apart, apart))
    assert test.p_value == 1.0
    assert test.mid_p == pytest.approx(1.0, abs=1e-12)


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="correct must be 2 booleans"):
        mcnemar_exact(flags([1, 0]), flags([1]))
