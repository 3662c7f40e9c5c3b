"""Rankings that reverse by dataset are found, in the direction of the metric."""

from __future__ import annotations

from zs_assets.stats import Metric, ranking_reversals, ranks

VALUES = {
    "agnews": {"jev": 0.91, "gliner": 0.70, "uniform": 0.25},
    "emotion": {"jev": 0.40, "gliner": 0.44, "uniform": 0.17},
}


def test_a_reversal_names_the_pair_and_the_datasets() -> None:
    (reversal,) = ranking_reversals(VALUES, Metric.ACCURACY)
    assert (reversal.backend_a, reversal.backend_b) == ("jev", "gliner")
    assert (reversal.a_ahead, reversal.b_ahead) == (("agnews",), ("emotion",))
    assert round(reversal.a_largest_lead, 10) == 0.21
    assert round(reversal.b_largest_lead, 10) == 0.04


def test_lower_is_better_turns_the_order_round() -> None:
    (reversal,) = ranking_reversals(VALUES, Metric.BRIER)
    assert (reversal.a_ahead, reversal.b_ahead) == (("emotion",), ("agnews",))


def test_ties_and_missing_values_reverse_nothing() -> None:
    values = {"x": {"a": 0.5, "b": 0.4}, "y": {"a": 0.5, "b": 0.5}, "z": {"a": None, "b": 0.9}}
    assert ranking_reversals(values, Metric.ACCURACY) == ()


def test_equal_values_share_a_rank_and_missing_ones_have_none() -> None:
    values = {"a": 0.5, "b": 0.9, "c": 0.5, "d": None, "e": 0.1}
    assert ranks(values, Metric.ACCURACY) == {"a": 2, "b": 1, "c": 2, "e": 4}
    assert ranks(values, Metric.NLL) == {"a": 2, "b": 4, "c": 2, "e": 1}
