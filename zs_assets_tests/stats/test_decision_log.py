"""A log without gold labels yields agreement with a reference, beside what a constant answer would reach."""

from __future__ import annotations

import dataclasses
import inspect
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.stats import decision_log

FORBIDDEN = re.compile(r"accura|correct|ground.?truth|error.?rate|wrong|right\b", re.IGNORECASE)


def test_agreement_is_a_share_with_its_wilson_interval() -> None:
    found = decision_log(np.repeat([0, 1], [389, 111]), np.zeros(500, dtype=int)).overall
    assert (found.n, found.agree, found.share) == (500, 389, 0.778)
    assert (found.low, found.high) == pytest.approx((0.73953, 0.81223), abs=5e-6)


def test_the_majority_baseline_is_what_one_constant_decision_reaches() -> None:
    # The log says 0 on 5 of 6 rows; the reference says 0 on 4 of 6.
    found = decision_log(np.array([0, 0, 0, 0, 0, 1]), np.array([0, 0, 0, 1, 2, 0]))
    assert (found.majority_decision, found.majority_baseline.agree) == (0, 4)
    assert found.overall.agree == 3
    # Agreement below the baseline is a fact of the log, and the sentence carries both.
    assert "3 of 6" in found.sentence() and "66.7 %" in found.sentence()


def test_every_logged_decision_has_its_row() -> None:
    found = decision_log(np.array([2, 2, 0, 0, 0]), np.array([2, 1, 0, 0, 1]))
    rows = [(row.decision, row.agreement.n, row.agreement.agree) for row in found.by_decision]
    assert rows == [(0, 3, 2), (2, 2, 1)]


def test_equally_frequent_decisions_give_the_lower_index_as_majority() -> None:
    assert decision_log(np.array([3, 1, 3, 1]), np.array([3, 3, 3, 3])).majority_decision == 1


def test_a_row_without_a_decision_is_counted_apart() -> None:
    found = decision_log(np.array([0, -1, 1, -1]), np.array([0, 0, -1, -1]))
    assert (found.overall.n, found.overall.agree) == (1, 1)
    assert (found.logged_failed, found.reference_failed) == (2, 2)


def test_nothing_to_compare_is_no_agreement_and_no_division() -> None:
    found = decision_log(np.array([-1]), np.array([0]))
    assert (found.overall.share, found.majority_decision, found.by_decision) == (None, None, ())
    assert found.sentence().startswith("No row has a decision of both")
    assert decision_log(np.array([], dtype=int), np.array([], dtype=int)).overall.n == 0


def test_tiers_are_stratified_by_decision() -> None:
    # The top tier holds one decision only: its high agreement says nothing about confidence.
    found = decision_log(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), tier=np.array([0, 0, 2, 2]))
    assert [tier.agreement.n for tier in found.tiers] == [2, 0, 2]
    assert [row.decision for row in found.tiers[0].by_decision] == [0]
    assert [(row.decision, row.agreement.share) for row in found.tiers[2].by_decision] == [(0, 0.0), (1, 1.0)]
    assert found.tiers[1].agreement.share is None


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4), st.integers(-1, 3)), max_size=40))
def test_rows_by_decision_and_by_tier_add_up(rows: list[tuple[int, int, int]]) -> None:
    decisions, reference, tier = np.array(rows, dtype=int).reshape(-1, 3).T
    found = decision_log(decisions, reference, tier=tier)
    assert sum(row.agreement.n for row in found.by_decision) == found.overall.n
    assert sum(row.agreement.agree for row in found.by_decision) == found.overall.agree
    in_a_tier = ((decisions >= 0) & (reference >= 0) & (tier >= 0)).sum()
    assert sum(row.agreement.n for row in found.tiers) == in_a_tier


def test_no_name_or_sentence_claims_more_than_agreement() -> None:
    module = inspect.getmodule(decision_log)
    classes = [c for _, c in inspect.getmembers(module, dataclasses.is_dataclass) if c.__module__ == module.__name__]
    names = [field.name for c in classes for field in dataclasses.fields(c)] + [c.__name__ for c in classes]
    docs = [inspect.getdoc(item) or "" for item in [module, decision_log, *classes]]
    full, empty = decision_log(np.array([0, 1]), np.array([0, 0])), decision_log(np.array([-1]), np.array([0]))
    assert len(classes) == 4
    for text in [*names, *docs, full.sentence(), empty.sentence()]:
        assert not FORBIDDEN.search(text), text


@pytest.mark.parametrize(
    ("decisions", "reference", "tier", "sentence"),
    [
        ([0, 1], [0], None, "reference must be 2 integers"),
        ([0.5, 1.0], [0, 1], None, "decisions must be 2 integers"),
        ([-2, 1], [0, 1], None, "decisions must be 2 integers from -1"),
        ([0, 1], [0, 1], [0], "tier must be 2 integers"),
    ],
)
def test_broken_arrays_are_refused(decisions: list, reference: list, tier: list | None, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        decision_log(np.array(decisions), np.array(reference), tier=None if tier is None else np.array(tier))
