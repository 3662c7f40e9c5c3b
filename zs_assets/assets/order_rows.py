"""Systems of one dataset -> the rows of the choice-order tables. No statistic is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.order_cells import OrderCell, PlannedSamples
from zs_assets.assets.order_detail_rows import averaging_rows, coverage_rows, exclusion_rows, score_rows, verified_rows
from zs_assets.protocol.analyses import OrderSensitivityAnalysis
from zs_assets.protocol.names import AssetName
from zs_assets.stats import (
    ClusterDraws,
    CompletenessRule,
    OrderScores,
    OrderShuffles,
    RepeatControls,
    SampleSensitivity,
    exact_edge_interval,
    order_shuffles,
    position_means,
    range_histogram,
    repeat_controls,
    sample_sensitivity,
    shared_samples,
    summarise_ranges,
)
from zs_assets.storage.order_schemas import ORDER_TABLES

Rows = Iterator[dict[str, Any]]
Tables = dict[AssetName, list[dict[str, Any]]]


def order_tables(
    graph: StudyGraph,
    analysis: OrderSensitivityAnalysis,
    dataset: str,
    samples: PlannedSamples,
    cells: Sequence[OrderCell],
) -> dict[AssetName, pa.Table]:
    """Tables of ORDER_TABLES for one dataset, all its systems together."""
    rows: Tables = {asset: [] for asset in ORDER_TABLES}
    public = not graph.spec.dataset(dataset).private
    if len(samples.orders) < 2:
        rows[AssetName.REPEAT_VERIFICATION] += verified_rows(samples, cells, public=public)
    else:
        rows[AssetName.ORDER_COVERAGE] += coverage_rows(samples, cells)
        rows[AssetName.ORDER_EXCLUSIONS] += exclusion_rows(samples, cells)
        compared = [cell for cell in cells if cell.why_not is None]
        if public:
            rows[AssetName.ORDER_SCORES] += score_rows(samples, compared)
        if compared:
            _add_shared(rows, analysis, samples, compared)
    return {
        asset: pa.Table.from_pylist([{"dataset": dataset, **row} for row in rows[asset]], schema=schema)
        for asset, schema in ORDER_TABLES.items()
    }


def _add_shared(
    rows: Tables, analysis: OrderSensitivityAnalysis, samples: PlannedSamples, compared: Sequence[OrderCell]
) -> None:
    """Every figure of the samples that all compared systems share, by completeness rule and sample group."""
    figures = {cell.backend: _Figures(cell, analysis) for cell in compared}
    for rule in CompletenessRule:
        shared = shared_samples({cell.backend: cell.scores for cell in compared}, rule)
        for group, members in samples.groups.items():
            chosen = shared & members
            where = {"rule": rule.value, "sample_group": group}
            if not chosen.any():
                # A row without figures says that nothing is shared; an absent one would say nothing.
                empty = {"samples": 0, "texts": 0, **_plan_columns(samples, analysis)}
                rows[AssetName.ORDER_SENSITIVITY] += [where | {"backend": name} | empty for name in figures]
                continue
            draws = ClusterDraws(samples.texts[chosen], analysis.seed, analysis.resamples)
            for name, found in figures.items():
                row = where | {"backend": name}
                part = found.of(chosen)
                rows[AssetName.ORDER_SENSITIVITY].append(
                    row | _plan_columns(samples, analysis) | part.sensitivity(draws)
                )
                rows[AssetName.ORDER_RANGES] += [row | bin_ for bin_ in part.histogram()]
                rows[AssetName.ORDER_POSITIONS] += [row | position for position in part.positions(draws)]
                gold = None if samples.gold is None else samples.gold[chosen]
                rows[AssetName.ORDER_AVERAGING] += [
                    row | step for step in averaging_rows(part.scores, gold, analysis, draws, found.cell.cost_usd)
                ]
            for a, b in analysis.pairs:
                if a in figures and b in figures:
                    rows[AssetName.ORDER_DIFFERENCES] += [
                        where | {"backend_a": a, "backend_b": b} | difference
                        for difference in _differences(figures[a].of(chosen), figures[b].of(chosen), draws)
                    ]


def _plan_columns(samples: PlannedSamples, analysis: OrderSensitivityAnalysis) -> dict[str, Any]:
    return {
        "options": samples.orders.shape[1],
        "orders": len(samples.orders),
        "repeats": samples.repeats,
        "threshold_points": analysis.threshold_points,
    }


class _Figures:
    """One system's figures, sample by sample, over its score-complete samples: computed once, read by every group."""

    def __init__(self, cell: OrderCell, analysis: OrderSensitivityAnalysis):
        self.cell = cell
        self.analysis = analysis
        self.complete = cell.scores.score_complete

    @cached_property
    def scores(self) -> OrderScores:
        return self.cell.scores.of(self.complete)

    @cached_property
    def ranges(self) -> SampleSensitivity:
        return sample_sensitivity(self.scores)

    @cached_property
    def controls(self) -> RepeatControls:
        return repeat_controls(self.scores)

    @cached_property
    def shuffles(self) -> OrderShuffles:
        rng = np.random.default_rng(self.analysis.seed)
        return order_shuffles(self.scores, permutations=self.analysis.permutations, rng=rng)

    @cached_property
    def positions(self) -> np.ndarray:
        return position_means(self.scores)

    def of(self, chosen: np.ndarray) -> _Part:
        """`chosen`: bool (n,) over all samples of the manifest, every one of them complete here."""
        return _Part(self, chosen[self.complete])


@dataclass(frozen=True, eq=False)
class _Part:
    """A system's figures on the samples of one rule and group."""

    whole: _Figures
    at: np.ndarray  # bool over the system's complete samples

    @cached_property
    def scores(self) -> OrderScores:
        return self.whole.scores.of(self.at)

    @cached_property
    def large(self) -> np.ndarray:
        return self.whole.ranges.reaches(self.whole.analysis.threshold_points)[self.at]

    @cached_property
    def changes(self) -> np.ndarray:
        return self.whole.ranges.winner_change[self.at]

    @cached_property
    def range_points(self) -> np.ndarray:
        return self.whole.ranges.range_points[self.at]

    def sensitivity(self, draws: ClusterDraws) -> dict[str, Any]:
        summary = summarise_ranges(self.range_points)
        assert summary is not None  # a part has samples
        tied = self.whole.ranges.tied[self.at]
        exact = exact_edge_interval(self.large, draws.n_texts) or (None, None)
        return {
            "samples": len(self.range_points),
            "texts": draws.n_texts,
            "median_range": summary.median,
            "p95_range": summary.p95,
            "max_range": summary.maximum,
            **_bounds("median_range", draws.interval(draws.sample_quantiles(self.range_points, 0.5))),
            "large_ranges": int(self.large.sum()),
            "large_share": float(self.large.mean()),
            **_bounds("large_share", draws.interval(draws.sample_weighted(self.large))),
            "large_share_by_text": float(draws.text_mean(self.large)),
            **_bounds("large_share_by_text", draws.interval(draws.text_weighted(self.large))),
            **_bounds("large_share_exact", exact),
            "range_tolerance": self.whole.ranges.range_tolerance,
            "winner_changes": int(self.changes.sum()),
            "winner_change_share": float(self.changes.mean()),
            **_bounds("winner_change_share", draws.interval(draws.sample_weighted(self.changes))),
            "tied_samples": int(tied.sum()),
            "tied_share": float(tied.mean()),
            **self._controls(draws),
            **self._effect(),
        }

    def _controls(self, draws: ClusterDraws) -> dict[str, Any]:
        controls = self.whole.controls
        columns: dict[str, Any] = {"different_order": float(controls.different_order[self.at].mean())}
        if controls.same_order is not None and controls.excess is not None:
            groups = controls.winner_groups[self.at]
            columns |= {
                "same_order": float(controls.same_order[self.at].mean()),
                "excess": float(controls.excess[self.at].mean()),
                **_bounds("excess", draws.interval(draws.sample_weighted(controls.excess[self.at]))),
                "repeat_groups": groups.size,
                "repeat_winner_changes": int(groups.sum()),
                "repeat_change_samples": int(groups.any(axis=1).sum()),
            }
        return columns

    def _effect(self) -> dict[str, Any]:
        effect = self.whole.shuffles.of(self.at).effect(self.whole.analysis.threshold_points)
        assert effect is not None  # a part has samples
        columns: dict[str, Any] = {
            "order_p_value": effect.p_value,
            "order_sample_share": effect.sample_share,
        }
        if effect.noise is not None:
            noise = effect.noise
            for name, band in (("noise_median_range", noise.median_range), ("noise_large_share", noise.large_share)):
                columns |= {name: band.mean, **_bounds(name, (band.low, band.high))}
        return columns

    def histogram(self) -> Rows:
        for low, samples in enumerate(range_histogram(self.range_points)):
            if samples:
                yield {"low": float(low), "high": low + 1.0, "samples": int(samples)}

    def positions(self, draws: ClusterDraws) -> Rows:
        means = self.whole.positions[self.at]
        drawn = draws.sample_weighted(means)
        even = float(means.mean())  # not 100 / K: vectors may sum to 0.99
        for position in range(means.shape[1]):
            yield {
                "position": position,
                "mean_score": float(means[:, position].mean()),
                "even": even,
                **_bounds("mean_score", draws.interval(drawn[:, position])),
            }


def _differences(a: _Part, b: _Part, draws: ClusterDraws) -> Rows:
    """The same draws for both, so that the interval is that of a paired difference; percentage points."""
    for figure in ("large_share", "winner_change_share"):
        first, second = (part.large if figure == "large_share" else part.changes for part in (a, b))
        both = np.stack([first, second], axis=1).astype(float)
        for weighting, point, drawn in (
            ("sample", draws.sample_mean(both), draws.sample_weighted(both)),
            ("text", draws.text_mean(both), draws.text_weighted(both)),
        ):
            yield {
                "figure": figure,
                "weighting": weighting,
                "samples": len(first),
                "texts": draws.n_texts,
                "difference": float(point[0] - point[1]) * 100,
                **_bounds("difference", draws.interval((drawn[:, 0] - drawn[:, 1]) * 100)),
            }


def _bounds(name: str, interval: tuple[float | None, float | None]) -> dict[str, float | None]:
    return {f"{name}_low": interval[0], f"{name}_high": interval[1]}
