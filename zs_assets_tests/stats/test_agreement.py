"""Two systems share errors only where both named the same wrong label; a failure agrees with nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.stats import SharedError, TierDisagreement, agreement
from zs_assets_tests.sources.real_data import TEST_DATA, needs_real_data

FAILED = -1


def counts_of(found) -> tuple[int, ...]:
    return (
        found.both_correct,
        found.both_wrong_same,
        found.both_wrong_different,
        found.primary_only,
        found.fallback_only,
    )


def published_answers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Label 0 everywhere; who is right as the study counted it on Banking77."""
    sizes = (367, 75, 9, 22, 27)
    return np.repeat([0, 1, 1, 0, 1], sizes), np.repeat([0, 1, 2, 1, 0], sizes), np.zeros(500, dtype=int)


def test_published_counts() -> None:
    found = agreement(*published_answers())
    assert counts_of(found) == (367, 75, 9, 22, 27)
    assert (found.both_wrong, found.oracle_correct, found.n) == (84, 416, 500)


@needs_real_data
def test_published_counts_are_those_on_file() -> None:
    published = json.loads((TEST_DATA / "automation" / "published.json").read_text(encoding="utf-8"))["banking77"]
    names = ("both_correct", "both_wrong_same", "both_wrong_diff", "jev_only", "deepseek_only")
    found = agreement(*published_answers())
    assert counts_of(found) == tuple(published["agreement"][name] for name in names)
    assert (found.oracle_correct, found.both_wrong) == (published["oracle"]["correct"], published["oracle"]["neither"])


def test_two_failures_are_not_the_same_wrong_answer() -> None:
    found = agreement(np.array([FAILED, FAILED]), np.array([FAILED, 0]), np.array([0, 0]))
    assert counts_of(found) == (0, 0, 1, 0, 1)
    assert found.shared_errors == ()


def test_shared_errors_are_ordered_by_count_then_label_index() -> None:
    gold = np.array([5, 2, 2, 0, 0, 1, 9, 2])
    wrong = np.array([6, 3, 1, 4, 4, 4, 9, 1])
    assert agreement(wrong, wrong, gold).shared_errors == (
        SharedError(0, 4, 2),
        SharedError(2, 1, 2),
        SharedError(1, 4, 1),
        SharedError(2, 3, 1),
        SharedError(5, 6, 1),
    )


def test_errors_split_inside_and_across_parent_domains() -> None:
    # Labels 0 and 1 share a parent, 2 and 3 another.
    parents, gold = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 2, 2, 3])
    primary, fallback = np.array([1, 2, FAILED, 3, 0, 3]), np.array([1, 1, 2, 3, 2, 3])
    found = agreement(primary, fallback, gold, parents=parents).parents
    assert found is not None
    # Rows 0, 1, 2, 3 are wrong for both; the primary also errs on row 4.
    primary_shared, fallback_shared, same = found.shared_primary, found.shared_fallback, found.same
    assert (primary_shared.inside, primary_shared.across, primary_shared.failed) == (2, 1, 1)
    assert (fallback_shared.inside, fallback_shared.across, fallback_shared.failed) == (3, 1, 0)
    assert (same.inside, same.across, same.failed) == (2, 0, 0)
    assert (found.primary.n, found.primary.inside, found.primary.across, found.primary.failed) == (4, 2, 2, 1)
    assert found.primary.inside_share == 0.5


def test_no_error_has_no_share_inside() -> None:
    right = np.array([0, 1])
    found = agreement(right, right, right, parents=np.array([0, 0])).parents
    assert found is not None and found.primary.inside_share is None


def test_disagreements_by_tier_say_who_wins() -> None:
    gold, tier = np.array([0, 0, 0, 0, 0, 0]), np.array([0, 0, 2, 2, 2, -1])
    primary, fallback = np.array([0, 0, 1, 0, FAILED, 1]), np.array([0, 1, 0, 1, FAILED, 0])
    assert agreement(primary, fallback, gold, tier=tier).tiers == (
        TierDisagreement(tier=0, n=2, disagreements=1, primary_wins=1, fallback_wins=0, neither=0),
        TierDisagreement(tier=1, n=0, disagreements=0, primary_wins=0, fallback_wins=0, neither=0),
        TierDisagreement(tier=2, n=3, disagreements=3, primary_wins=1, fallback_wins=1, neither=1),
    )


ANSWERS = st.lists(st.tuples(st.integers(-1, 5), st.integers(-1, 5), st.integers(0, 5)), max_size=40)


@given(ANSWERS)
def test_counts_add_up_and_swap_with_the_systems(rows: list[tuple[int, int, int]]) -> None:
    primary, fallback, gold = np.array(rows, dtype=int).reshape(-1, 3).T
    found = agreement(primary, fallback, gold, parents=np.array([0, 0, 1, 1, 2, 2]), tier=np.zeros(len(rows), int))
    swapped = agreement(fallback, primary, gold)
    assert sum(counts_of(found)) == found.n == len(rows)
    assert sum(error.count for error in found.shared_errors) == found.both_wrong_same
    assert (swapped.primary_only, swapped.fallback_only) == (found.fallback_only, found.primary_only)
    assert (swapped.both_wrong_same, swapped.shared_errors) == (found.both_wrong_same, found.shared_errors)
    assert found.parents is not None
    assert found.parents.same.n == found.both_wrong_same
    assert found.parents.shared_primary.n + found.parents.shared_primary.failed == found.both_wrong
    for tier in found.tiers:
        assert (tier.primary_wins, tier.fallback_wins) == (found.primary_only, found.fallback_only)
        assert tier.disagreements == found.n - found.both_correct - found.both_wrong_same


@pytest.mark.parametrize(
    ("primary", "gold", "tier", "sentence"),
    [
        ([0], [0, 1], None, "primary_predicted must be 2 integers"),
        ([0, 2], [0, 1], None, "primary_predicted must be label indices"),
        ([0, 1], [0, -1], None, "gold must be label indices from 0"),
        ([0, 1], [0, 1], [0], "tier must be 2 integers"),
    ],
)
def test_broken_arrays_are_refused(primary: list, gold: list, tier: list | None, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        agreement(
            np.array(primary),
            np.array([0, 1]),
            np.array(gold),
            parents=np.array([0, 0]),
            tier=None if tier is None else np.array(tier),
        )
