"""Accuracy and macro-F1 keep every planned example and every declared label."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from zs_assets.stats import accuracy, class_counts, first_maximum, macro_f1

GOLD = np.array([0, 0, 1, 1, 2, 2])
PREDICTED = np.array([0, 0, 1, 0, 2, 3])


def test_macro_f1_averages_over_declared_labels() -> None:
    assert macro_f1(GOLD, PREDICTED, 5) == pytest.approx(0.42667, abs=5e-6)
    assert macro_f1(GOLD, PREDICTED, 4) == pytest.approx(0.53333, abs=5e-6)


@pytest.mark.parametrize("n_classes", [4, 5, 9])
def test_macro_f1_equals_scikit_learn_with_labels_stated(n_classes: int) -> None:
    theirs = f1_score(GOLD, PREDICTED, labels=range(n_classes), average="macro", zero_division=0)
    assert macro_f1(GOLD, PREDICTED, n_classes) == pytest.approx(theirs, abs=1e-12)


def test_accuracy_equals_scikit_learn() -> None:
    assert accuracy(GOLD, PREDICTED) == accuracy_score(GOLD, PREDICTED)


def test_failed_examples_stay_in_the_denominator() -> None:
    assert accuracy(np.array([0, 1, 1, 0]), np.array([0, 1, -1, -1])) == 0.5


def test_a_failure_is_a_miss_for_its_label_and_a_false_positive_for_none() -> None:
    counts = class_counts(np.array([0, 1, 1]), np.array([0, 1, -1]), 3)
    assert counts.true_positive.tolist() == [1, 1, 0]
    assert counts.false_positive.tolist() == [0, 0, 0]
    assert counts.false_negative.tolist() == [0, 1, 0]
    assert macro_f1(np.array([0, 1, 1]), np.array([0, 1, -1]), 3) == pytest.approx((1 + 2 / 3) / 3)


def test_tied_maxima_predict_the_first_label() -> None:
    assert first_maximum(np.array([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4]])).tolist() == [0, 1]
