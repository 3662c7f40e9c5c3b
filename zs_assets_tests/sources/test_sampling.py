"""Seeded draws: size, order, balance and determinism, for any labels and seed."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.study import Sample
from zs_assets.sources.base import make_example
from zs_assets.sources.sampling import draw

N_LABELS = 5
KINDS = ("balanced", "uniform", "stratified")


def examples_with(labels):
    return [make_example(str(i), f"text {i}", label) for i, label in enumerate(labels)]


@st.composite
def draws(draw_from):
    labels = draw_from(st.lists(st.integers(0, N_LABELS - 1), min_size=1, max_size=60))
    size = draw_from(st.integers(1, len(labels)))
    return labels, size, draw_from(st.integers(0, 2**32))


@pytest.mark.parametrize("kind", KINDS)
@given(case=draws())
def test_a_draw_has_its_size_no_repeats_source_order_and_repeats_itself(kind, case):
    labels, size, seed = case
    examples, sample = examples_with(labels), Sample(kind=kind, size=size, seed=seed)
    drawn = draw(examples, sample, N_LABELS)
    positions = [int(example.example_id) for example in drawn]
    assert len(drawn) == size
    assert positions == sorted(set(positions))
    assert draw(examples, sample, N_LABELS) == drawn


@given(case=draws())
def test_balanced_labels_differ_by_one_at_most_unless_a_label_ran_out(case):
    labels, size, seed = case
    drawn = draw(examples_with(labels), Sample(kind="balanced", size=size, seed=seed), N_LABELS)
    available, taken = Counter(labels), Counter(example.target_index for example in drawn)
    most = max(taken.values())
    for label in available:
        assert taken[label] >= min(available[label], most - 1)


@given(case=draws())
def test_stratified_labels_keep_their_share_to_within_one(case):
    labels, size, seed = case
    drawn = draw(examples_with(labels), Sample(kind="stratified", size=size, seed=seed), N_LABELS)
    available, taken = Counter(labels), Counter(example.target_index for example in drawn)
    for label in available:
        assert abs(taken[label] - Fraction(size * available[label], len(labels))) < 1


def test_stratified_left_overs_go_to_the_largest_remainders():
    # Shares of 10 among 6, 5 and 3 of 14: 4.29, 3.57, 2.14, so the one left over goes to the second label.
    drawn = draw(examples_with([0] * 6 + [1] * 5 + [2] * 3), Sample(kind="stratified", size=10, seed=1), 3)
    assert Counter(example.target_index for example in drawn) == {0: 4, 1: 4, 2: 2}


def test_uniform_is_pythons_own_sample():
    drawn = draw(examples_with([None] * 3080), Sample(kind="uniform", size=500, seed=42), 77)
    assert [int(e.example_id) for e in drawn] == sorted(random.Random(42).sample(range(3080), 500))


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_is_another_sample(kind):
    examples = examples_with([i % N_LABELS for i in range(100)])
    first, second = (draw(examples, Sample(kind=kind, size=20, seed=seed), N_LABELS) for seed in (1, 2))
    assert first != second


def test_all_takes_every_example_even_without_labels():
    examples = examples_with([0, None, 1])
    assert draw(examples, Sample(), 2) == tuple(examples)


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_beyond_the_data_names_both_numbers(kind):
    with pytest.raises(SourceError, match="asks for 4 examples, the dataset has 3 valid ones"):
        draw(examples_with([0, 1, 1]), Sample(kind=kind, size=4), 2)


@pytest.mark.parametrize("kind", ["balanced", "stratified"])
def test_draws_by_label_refuse_examples_without_one(kind):
    with pytest.raises(SourceError, match=f"A {kind} sample needs gold labels and example '1' has none"):
        draw(examples_with([0, None, 1]), Sample(kind=kind, size=2), 2)


def test_a_label_beyond_the_declared_ones_is_refused():
    with pytest.raises(SourceError, match="Example '2' has label number 2, but the dataset declares 2"):
        draw(examples_with([0, 1, 2]), Sample(kind="balanced", size=2), 2)
