"""How often the answered label is right: accuracy and macro-F1, with failures in the denominator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zs_assets.stats.vectors import Floats, Integers


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Outcome counts of each declared label, int64 (K,) each.

    A failed example is a miss (`false_negative`) for its label and a false positive for none.
    """

    true_positive: Integers
    false_positive: Integers
    false_negative: Integers

    @property
    def f1(self) -> Floats:
        """float64 (K,): 2 tp / (2 tp + fp + fn); a label that nobody meant and nobody chose scores 0."""
        denominator = 2 * self.true_positive + self.false_positive + self.false_negative
        return np.divide(
            2.0 * self.true_positive,
            denominator,
            out=np.zeros(len(denominator)),
            where=denominator > 0,
        )


def accuracy(gold: Integers, predicted: Integers) -> float:
    """Share of all planned examples answered right.

    Parameters
    ----------
    gold, predicted : int64 (n,)
        `predicted` is -1 for a failed example, which stays in the denominator.
    """
    return float(np.mean(gold == predicted))


def class_counts(gold: Integers, predicted: Integers, n_classes: int) -> ClassCounts:
    """True positives, false positives and false negatives of each declared label.

    Parameters
    ----------
    gold, predicted : int64 (n,)
        `predicted` is -1 for a failed example.
    n_classes : int
        Number of declared labels K.
    """
    hits = np.bincount(gold[gold == predicted], minlength=n_classes)
    chosen = np.bincount(predicted[predicted >= 0], minlength=n_classes)
    return ClassCounts(hits, chosen - hits, np.bincount(gold, minlength=n_classes) - hits)


def macro_f1(gold: Integers, predicted: Integers, n_classes: int) -> float:
    """Mean F1 over the declared labels.

    Averaging over the labels that happen to occur (scikit-learn's default) would let a system gain from
    labels absent in the sample; here they score 0 for everyone.

    Parameters
    ----------
    gold, predicted : int64 (n,)
    n_classes : int
    """
    return float(np.mean(class_counts(gold, predicted, n_classes).f1))
