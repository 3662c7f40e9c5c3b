"""The bias-corrected interval of calibration error: it covers, and knows what a sample cannot exclude."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zs_assets.stats import (
    Confidence,
    clopper_pearson_interval,
    corrected_ece,
    corrected_ece_by_level,
    ece_by_level,
    reported_confidence,
    top_label_ece,
)
from zs_assets_tests.stats.rows import flags, on_hundredths, plain_floats

BOTH = [corrected_ece, corrected_ece_by_level]


def sample(rng: np.random.Generator, n: int, overconfidence: float) -> tuple[Confidence, np.ndarray]:
    """Confidences spread over 41 levels, answers right less often than stated by a fixed amount."""
    stated = rng.integers(55, 96, n) / 100
    return reported_confidence(stated, decimals=2), rng.random(n) < stated - overconfidence


@pytest.mark.parametrize("figure", BOTH)
@pytest.mark.parametrize("overconfidence", [0.0, 0.1, 0.3])
def test_it_covers_the_true_error(figure, overconfidence: float) -> None:
    # The same shift everywhere makes the true error that shift. 120 samples: 95 % gives 114 +- 2.4.
    rng = np.random.default_rng(20)
    intervals = [figure(*sample(rng, 200, overconfidence), seed=i, simulations=300) for i in range(120)]
    covered = sum(i.low - 1e-12 <= overconfidence <= i.high + 1e-12 for i in intervals)
    assert covered >= 106


def test_the_estimate_by_level_has_lost_most_of_the_bias() -> None:
    rng = np.random.default_rng(21)
    corrected = [corrected_ece_by_level(*sample(rng, 200, 0.1), seed=i, simulations=200) for i in range(60)]
    assert np.mean([c.observed for c in corrected]) > 0.16
    assert np.mean([c.estimate for c in corrected]) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("figure", BOTH)
def test_one_level_gives_nearly_the_exact_interval_of_its_accuracy(figure) -> None:
    # All rows say 0.9 and 60 % of 200 are right: the error is 0.9 less an accuracy.
    accuracy = clopper_pearson_interval(120, 200)
    corrected = figure(on_hundredths([0.9] * 200), flags([1] * 120 + [0] * 80), seed=1, simulations=4000)
    expected = 0.3, 0.9 - accuracy.high, 0.9 - accuracy.low
    assert (corrected.estimate, corrected.low, corrected.high) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("figure", BOTH)
def test_no_error_seen_is_no_proof_of_none(figure) -> None:
    # 20 of 20 right at 1.00. With accuracy q all 20 are right with chance q**20, and the lower curve leaves
    # 0 at .025 = q**20, the exact bound.
    corrected = figure(on_hundredths([1.0] * 20), flags([1] * 20), seed=1, simulations=4000)
    assert (corrected.observed, corrected.estimate, corrected.low) == (0.0, 0.0, 0.0)
    assert corrected.high == pytest.approx(1 - 0.025 ** (1 / 20), abs=0.03)


@pytest.mark.parametrize("figure", BOTH)
def test_all_wrong_at_full_confidence(figure) -> None:
    corrected = figure(on_hundredths([1.0] * 20), flags([0] * 20), seed=1, simulations=4000)
    assert (corrected.observed, corrected.high) == (1.0, 1.0)
    assert corrected.low == pytest.approx(0.025 ** (1 / 20), abs=0.03)


@pytest.mark.parametrize("figure", BOTH)
def test_a_row_that_says_one_half_tells_nothing(figure) -> None:
    corrected = figure(on_hundredths([0.5]), flags([1]), seed=1)
    assert (corrected.observed, corrected.low, corrected.high) == (0.5, 0.0, 0.5)


def test_nothing_to_correct_is_none() -> None:
    assert corrected_ece(on_hundredths([]), flags([]), seed=1) is None
    assert corrected_ece_by_level(on_hundredths([]), flags([]), seed=1) is None
    assert corrected_ece_by_level(plain_floats([0.3]), flags([1]), seed=1) is None
    assert corrected_ece(plain_floats([0.3]), flags([1]), seed=1) is not None


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=1, max_size=30))
def test_the_interval_is_ordered_and_a_share(rows) -> None:
    confidence, correct = on_hundredths([h / 100 for h, _ in rows]), flags([right for _, right in rows])
    for figure, observed in ((corrected_ece, top_label_ece), (corrected_ece_by_level, ece_by_level)):
        corrected = figure(confidence, correct, seed=1, simulations=100)
        assert corrected.observed == pytest.approx(observed(confidence, correct), abs=1e-12)
        assert 0 <= corrected.low <= corrected.estimate <= corrected.high <= 1 + 1e-12


@pytest.mark.parametrize("figure", BOTH)
def test_bad_input_is_refused_in_one_sentence(figure) -> None:
    with pytest.raises(ValueError, match="confidence must hold"):
        figure(Confidence(np.array([2.0])), flags([1]), seed=1)
    with pytest.raises(ValueError, match="correct must be 1 booleans"):
        figure(on_hundredths([0.5]), flags([1, 0]), seed=1)
