"""The cascade keeps a row at or above its threshold, pays the primary everywhere, and may say: do not route."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.stats import (
    Alone,
    CascadeRows,
    accuracy_targets,
    best_point,
    best_routed_point,
    cascade_references,
    cascade_sweep,
    route_verdict,
)
from zs_assets_tests.sources.real_data import TEST_DATA, needs_real_data
from zs_assets_tests.stats.cascade_rows import cascade_rows, random_rows, rows_from_counts

FOUR = cascade_rows([0.2, 0.5, 0.5, 0.9], [0, 1, 0, 1], [1, 1, 0, 0], fallback_cost=[1, 2, 4, 8])


def test_a_row_at_the_threshold_is_kept() -> None:
    sweep = cascade_sweep(FOUR)
    assert sweep.threshold.tolist() == [0.2, 0.5, 0.9, 0.91]
    assert sweep.kept.tolist() == [4, 3, 1, 0]
    assert sweep.escalated.tolist() == [0, 1, 3, 4]
    assert sweep.coverage.tolist() == [1.0, 0.75, 0.25, 0.0]
    assert sweep.correct.tolist() == [2, 3, 3, 2]


def test_the_primary_is_paid_on_every_row() -> None:
    sweep = cascade_sweep(FOUR)
    assert sweep.cost.tolist() == [4.0, 5.0, 11.0, 19.0]
    # The fallback alone costs 15: escalating everything costs more than never asking the primary.
    assert sweep.saving == pytest.approx([11 / 15, 10 / 15, 4 / 15, -4 / 15])


def test_an_escalated_row_waits_for_both() -> None:
    sweep = cascade_sweep(FOUR)
    # Type 7 by hand: p95 of [100, 100, 100, 1100] lies .85 of the way from the third to the fourth.
    assert sweep.latency_p50.tolist() == [100.0, 100.0, 1100.0, 1100.0]
    assert sweep.latency_p95 == pytest.approx([100.0, 950.0, 1100.0, 1100.0])


def test_an_unknown_cost_never_disappears_into_a_sum() -> None:
    rows = cascade_rows([0.2, 0.5, 0.9], [1, 1, 1], [1, 1, 1], fallback_cost=[1, math.nan, 1])
    sweep = cascade_sweep(rows)
    assert sweep.cost_unknown.tolist() == [0, 0, 1, 1]
    assert sweep.cost[:2].tolist() == [3.0, 4.0] and np.isnan(sweep.cost[2:]).all()
    # The fallback alone is of unknown cost, and so is every saving against it.
    assert np.isnan(sweep.saving).all()
    assert cascade_references(rows).fallback.cost is None
    assert sweep.point(2).cost is None


def test_an_unknown_cost_of_the_primary_is_in_every_point() -> None:
    sweep = cascade_sweep(cascade_rows([0.2, 0.9], [1, 1], [1, 1], primary_cost=[1, math.nan]))
    assert sweep.cost_unknown.tolist() == [1, 1, 1]
    assert np.isnan(sweep.cost).all()


def test_a_latency_not_measured_makes_the_percentiles_unknown_only_where_it_counts() -> None:
    sweep = cascade_sweep(cascade_rows([0.2, 0.9], [1, 1], [1, 1], fallback_ms=[50, math.nan]))
    assert sweep.latency_p50[:2].tolist() == [100.0, 125.0]
    assert np.isnan(sweep.latency_p50[2]) and np.isnan(sweep.latency_p95[2])


def test_a_row_without_confidence_is_always_escalated() -> None:
    rows = cascade_rows([math.nan, 0.5], [1, 1], [0, 1])
    sweep = cascade_sweep(rows)
    assert sweep.threshold.tolist() == [0.5, 0.51]
    assert sweep.escalated.tolist() == [1, 2]
    assert sweep.correct.tolist() == [1, 1]


def test_without_any_confidence_everything_is_escalated() -> None:
    sweep = cascade_sweep(cascade_rows([math.nan] * 2, [1, 1], [0, 1]))
    assert (sweep.threshold.tolist(), sweep.escalated.tolist(), sweep.correct.tolist()) == ([1.01], [2], [1])


def test_float_noise_does_not_split_a_level() -> None:
    noisy = [0.29, 0.29 + 5.6e-17, 0.28999999999999998, 0.21000000000000002, 0.21]
    rows = cascade_rows(noisy, [1] * 5, [1] * 5, decimals=2)
    assert rows.thresholds.tolist() == [0.21, 0.29, 0.30]


@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([None, 1, 2]))
def test_every_point_equals_the_definition_read_row_by_row(seed: int, n: int, decimals: int | None) -> None:
    rows = random_rows(seed, n, decimals=decimals, without_level=0.1)
    sweep = cascade_sweep(rows)
    for index in range(len(sweep)):
        point = sweep.point(index)
        keep = rows.level >= point.threshold
        latency = np.where(keep, rows.primary_latency_ms, rows.primary_latency_ms + rows.fallback_latency_ms)
        assert point.kept == keep.sum() == n - point.escalated
        assert point.correct == np.where(keep, rows.primary_correct, rows.fallback_correct).sum()
        assert point.cost == pytest.approx(rows.primary_cost.sum() + rows.fallback_cost[~keep].sum(), rel=1e-12)
        assert (point.latency_p50, point.latency_p95) == pytest.approx(tuple(np.quantile(latency, [0.5, 0.95])))


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_the_best_point_is_cheapest_then_lowest_among_the_most_accurate(seed: int, n: int) -> None:
    rows = random_rows(seed, n, decimals=1, without_level=0.1)
    unknown = np.random.default_rng(seed).random(n) < 0.2
    rows = replace(rows, fallback_cost=np.where(unknown, np.nan, np.round(rows.fallback_cost * 2000)))
    sweep = cascade_sweep(rows)
    points = [sweep.point(index) for index in range(len(sweep))]
    expected = min(points, key=lambda p: (-p.correct, p.cost is None, p.cost or 0.0, p.threshold))
    assert best_point(sweep) == expected


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_no_point_beats_the_oracle_and_both_ends_are_the_single_systems(seed: int, n: int) -> None:
    rows = random_rows(seed, n)
    sweep, references = cascade_sweep(rows), cascade_references(rows)
    assert sweep.correct.max() <= references.oracle.correct == n - references.neither
    assert (sweep.correct[0], sweep.correct[-1]) == (references.primary.correct, references.fallback.correct)
    assert sweep.cost[-1] == pytest.approx(rows.primary_cost.sum() + rows.fallback_cost.sum())


def test_the_oracle_escalates_exactly_the_rows_the_primary_gets_wrong() -> None:
    oracle = cascade_references(FOUR).oracle
    assert (oracle.which, oracle.correct, oracle.escalated) == (Alone.ORACLE, 3, 2)
    assert oracle.cost == 4 + 1 + 4
    assert cascade_references(FOUR).neither == 1


def test_published_counts_of_banking77() -> None:
    references = cascade_references(rows_from_counts(both=367, primary_only=22, fallback_only=27, neither=84))
    assert (references.primary.correct, references.fallback.correct, references.oracle.correct) == (389, 394, 416)
    shares = [references.primary.accuracy, references.fallback.accuracy, references.oracle.accuracy]
    assert [round(share, 3) for share in shares] == [0.778, 0.788, 0.832]
    assert references.neither == 84
    assert references.better_single.which is Alone.FALLBACK


@needs_real_data
def test_the_published_threshold_escalates_58_of_the_500_published_rows() -> None:
    lines = (TEST_DATA / "automation" / "jev_banking77_500.compact.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [json.loads(line) for line in lines]
    unknown = np.full(len(replies), np.nan)
    rows = CascadeRows(
        level=np.array([reply["c"] for reply in replies]),
        primary_correct=np.array([reply["pred"] == reply["gold"] for reply in replies]),
        fallback_correct=np.zeros(len(replies), dtype=np.bool_),  # the fallback's rows are not at hand
        primary_cost=np.array([reply["tok"] / 1e6 * 0.042 for reply in replies]),
        fallback_cost=unknown,
        primary_latency_ms=np.array([reply["ms"] for reply in replies]),
        fallback_latency_ms=unknown,
        decimals=2,
    )
    sweep, primary = cascade_sweep(rows), cascade_references(rows).primary
    published = json.loads((TEST_DATA / "automation" / "published.json").read_text(encoding="utf-8"))["banking77"]
    best = sweep.point(int(np.flatnonzero(sweep.threshold == published["cascade_best"]["threshold"])[0]))
    assert len(sweep) == published["jev"]["distinct_levels"] + 1
    assert best.escalated == published["cascade_best"]["escalated"]
    assert best.coverage == published["cascade_best"]["coverage"]
    # 401 published right answers are within what the kept rows and 58 escalated ones can give.
    assert best.correct <= published["cascade_best"]["correct"] <= best.correct + best.escalated
    assert primary.correct == published["jev"]["correct"]
    assert primary.cost == pytest.approx(0.050722, abs=5e-7)
    assert primary.latency_p50 == pytest.approx(published["jev"]["p50_ms"], abs=0.5)
    assert (best.cost, best.cost_unknown) == (None, 58)


def test_targets_out_of_reach_are_reported_with_the_best_reached() -> None:
    rows = rows_from_counts(both=367, primary_only=22, fallback_only=27, neither=84)
    targets = accuracy_targets(rows)
    assert [target.target for target in targets] == [Fraction(9, 10), Fraction(19, 20), Fraction(49, 50)]
    assert all(target.reached_by is None and target.oracle_misses for target in targets)
    assert {target.best_correct for target in targets} == {416}


def test_a_target_is_met_in_integers_by_the_cheapest_point() -> None:
    level = [0.1] * 2 + [0.5] * 2 + [0.9] * 16
    rows = cascade_rows(level, [0, 0, 0, 0] + [1] * 16, [1, 1, 1, 0] + [1] * 16)
    met, next_met, missed = accuracy_targets(rows, ("0.9", "0.95", "0.98"))
    # 18, 19 and 19 of 20 are right: exactly 90 % and 95 % count, and the dearer ways are not chosen.
    assert met.reached_by is not None and met.reached_by.correct == 18
    assert next_met.reached_by is not None and next_met.reached_by.cost == 60.0
    assert missed.reached_by is None and missed.best_accuracy == 0.95 and missed.oracle_misses


def test_a_cheaper_fallback_alone_can_be_the_way_to_a_target() -> None:
    rows = cascade_rows([0.1, 0.9], [0, 1], [1, 1], primary_cost=5.0, fallback_cost=1.0)
    (target,) = accuracy_targets(rows, (Fraction(1),))
    assert target.reached_by == cascade_references(rows).fallback


def test_a_target_as_float_is_refused() -> None:
    with pytest.raises(ValueError, match="Fraction or a decimal string"):
        accuracy_targets(FOUR, (0.95,))  # type: ignore[arg-type]


def test_route_when_a_threshold_beats_both_systems() -> None:
    verdict = route_verdict(FOUR)
    assert (verdict.route, verdict.gain) == (True, 1)
    assert verdict.reason == "Route: the best threshold, 0.5, gets 3/4 right, 1 more than the primary alone (2/4)."


def test_equality_with_the_better_single_system_is_no_route() -> None:
    # Counts of the study's WOS run. The wins of the primary share the level of its losses to the fallback.
    rows = rows_from_counts(both=230, primary_only=34, fallback_only=16, neither=220, level_of_primary_only=0.4)
    references, verdict = cascade_references(rows), route_verdict(rows)
    assert (references.primary.correct, references.fallback.correct) == (264, 246)
    assert (references.oracle.correct, references.neither) == (280, 220)
    assert (verdict.route, verdict.gain) == (False, -18)
    confident = replace(rows, level=np.where(rows.level == 0.6, 0.3, rows.level))
    equal = route_verdict(confident)
    assert (equal.route, equal.gain, equal.best_routed and equal.best_routed.correct) == (False, 0, 264)
    assert equal.reason == (
        "Do not route: the best threshold, 0.4, gets 264/500 right, no more than the primary alone (264/500)."
    )


def test_one_level_leaves_nothing_to_route() -> None:
    rows = cascade_rows([0.5, 0.5], [0, 1], [1, 1])
    assert best_routed_point(cascade_sweep(rows)) is None
    assert "no threshold splits the rows" in route_verdict(rows).reason


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"level": np.array([0.1, 1.2])}, r"level must be numbers in \[0, 1\]"),
        ({"level": np.array([])}, "at least one row"),
        ({"fallback_cost": np.array([-1.0, 1.0])}, "fallback_cost must be finite and not negative"),
        ({"primary_cost": np.array([1.0])}, "primary_cost must be 2 numbers"),
        ({"primary_latency_ms": np.array([1.0, np.inf])}, "primary_latency_ms must be finite"),
        ({"primary_correct": np.array([1, 0])}, "primary_correct must be 2 booleans"),
        ({"fallback_correct": np.array([True])}, "fallback_correct must be 2 booleans"),
    ],
)
def test_broken_rows_are_refused_with_one_sentence(change: dict, sentence: str) -> None:
    rows: CascadeRows = cascade_rows([0.1, 0.2], [1, 1], [1, 1])
    with pytest.raises(ValueError, match=sentence) as error:
        replace(rows, **change)
    assert str(error.value).count(".") >= 1 and "\n" not in str(error.value)
