"""The figures of the choice-order study in plain pandas, written from the definitions and not from our arrays.

What an analyst would write in a notebook, with groupby, unstack and a loop over resamples; no Python loop over rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from zs_assets_tests.stats.order_figures import BOOTSTRAPPED, THRESHOLD, Figures

SAMPLE, ORDER, REPEAT = "example_id", "order_index", "repeat"


def pandas_order_figures(
    replies: Mapping[str, pd.DataFrame],
    samples: pd.DataFrame,
    decimals: Mapping[str, int | None],
    *,
    orders: int,
    repeats: int,
    resamples: int,
    seed: int,
) -> Figures:
    """The same figures as `order_figures`, from predictions.

    Parameters
    ----------
    replies : frames of example_id, order_index, repeat, outcome, choice, and one score column per option id
    samples : frame indexed by example_id, with columns text (int) and grouped (bool): in the group or not
    decimals : of each system
    """
    checked = {name: _checked(frame) for name, frame in replies.items()}
    complete = {name: _complete(frame, orders * repeats) for name, frame in checked.items()}
    shared = samples.index[samples["grouped"]]
    for sets in complete.values():
        shared = shared[shared.isin(sets["strict_complete"])]
    figures: Figures = {}
    per_sample = {}
    for name, frame in checked.items():
        used = frame[frame[SAMPLE].isin(shared)]
        summary, columns = _of_system(used, decimals[name], repeats)
        counts = {"scored": int(frame["scored"].sum()), "label_mismatches": int(frame["mismatch"].sum())}
        figures[name] = counts | {rule: len(ids) for rule, ids in complete[name].items()} | summary
        for figure, values in columns.items():
            per_sample[name, figure] = values
    texts = samples.loc[shared, "text"]
    bounds = _intervals(pd.DataFrame(per_sample).loc[shared].astype(float), texts, resamples, seed)
    for name in figures:
        figures[name] |= {"samples": len(shared), "texts": texts.nunique()} | bounds[name]
    return figures


def _options(frame: pd.DataFrame) -> list[str]:
    fixed = {SAMPLE, ORDER, REPEAT, "outcome", "choice", "scored", "mismatch"}
    return [column for column in frame.columns if column not in fixed]


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    scores = frame[_options(frame)]
    scored = frame["outcome"].eq("ok") & scores.notna().all(axis=1)
    own = pd.Series(np.nan, index=frame.index)
    for option in scores.columns:
        named = frame["choice"].eq(option)
        own[named] = scores.loc[named, option]
    mismatch = scored & frame["choice"].notna() & own.ne(scores.max(axis=1))
    return frame.assign(scored=scored, mismatch=mismatch)


def _complete(frame: pd.DataFrame, planned: int) -> dict[str, pd.Index]:
    by_sample = frame.groupby(SAMPLE)[["scored", "mismatch"]].sum()
    scored = by_sample["scored"].eq(planned)
    return {
        "score_complete": by_sample.index[scored],
        "strict_complete": by_sample.index[scored & by_sample["mismatch"].eq(0)],
    }


def _of_system(
    frame: pd.DataFrame, decimals: int | None, repeats: int
) -> tuple[dict[str, float], dict[str, pd.Series]]:
    options = _options(frame)
    unit = 1 if decimals is None else 10**decimals
    keyed = frame.set_index([SAMPLE, ORDER, REPEAT])[options]
    if decimals is not None:
        keyed = (keyed * unit).round().astype("int64")
    sums = keyed.groupby(level=[SAMPLE, ORDER]).sum()
    by_sample = sums.groupby(level=SAMPLE)
    widest = (by_sample.max() - by_sample.min()).max(axis=1)
    ranges = widest * 100 / (repeats * unit)
    tolerance = 1e-9 if decimals is None else 0
    large = widest >= THRESHOLD * repeats * unit / 100 - tolerance
    tied = sums.eq(sums.max(axis=1), axis=0).sum(axis=1).gt(1).groupby(level=SAMPLE).any()
    changed = sums.idxmax(axis=1).groupby(level=SAMPLE).nunique().gt(1) & ~tied
    same, different = _controls(keyed * 100 / unit)
    groups = _changed_groups(keyed)
    summary = {
        "median_range": float(ranges.median()),
        "p95_range": float(ranges.quantile(0.95)),
        "max_range": float(ranges.max()),
        "large_ranges": int(large.sum()),
        "winner_changes": int(changed.sum()),
        "tied_samples": int(tied.sum()),
        "same_order": float(same.mean()),
        "different_order": float(different.mean()),
        "excess": float((different - same).mean()),
        "repeat_winner_changes": int(groups.sum()),
        "repeat_change_samples": int(groups.groupby(level=SAMPLE).any().sum()),
    }
    return summary, dict(zip(BOOTSTRAPPED, (large, changed, different - same), strict=True))


def _controls(points: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Same-order and different-order means of each sample."""
    repeat = {r: points.xs(r, level=REPEAT) for r in points.index.unique(REPEAT)}
    pairs = [(repeat[a] - repeat[b]).abs().mean(axis=1) for a, b in combinations(sorted(repeat), 2)]
    same = pd.concat(pairs).groupby(level=SAMPLE).mean()
    first, second = (
        {order: repeat[r].xs(order, level=ORDER) for order in repeat[r].index.unique(ORDER)} for r in (0, 1)
    )
    crossed = [
        (x - y).abs().mean(axis=1)
        for a, b in combinations(sorted(first), 2)
        for x, y in ((first[a], second[b]), (second[a], first[b]))
    ]
    return same, pd.concat(crossed, axis=1).mean(axis=1)


def _changed_groups(keyed: pd.DataFrame) -> pd.Series:
    """Sample-order groups in which two repeats have unique, different winners."""
    unique = keyed.eq(keyed.max(axis=1), axis=0).sum(axis=1).eq(1)
    winners = keyed.idxmax(axis=1).where(unique)
    return winners.groupby(level=[SAMPLE, ORDER]).nunique().gt(1)


def _intervals(values: pd.DataFrame, texts: pd.Series, resamples: int, seed: int) -> dict[str, dict[str, float]]:
    """Percentile intervals over whole texts, all systems and figures in one frame and the same draws for all."""
    by_text = values.groupby(texts)
    sums, means, sizes = by_text.sum(), by_text.mean(), by_text.size()
    drawn = np.random.default_rng(seed).integers(0, len(sizes), (resamples, len(sizes)))
    draws = {
        "sample": pd.DataFrame([sums.iloc[texts_].sum() / sizes.iloc[texts_].sum() for texts_ in drawn]),
        "text": pd.DataFrame([means.iloc[texts_].mean() for texts_ in drawn]),
    }
    bounds: dict[str, dict[str, float]] = {name: {} for name in values.columns.unique(0)}
    for weighting, frame in draws.items():
        low, high = frame.quantile(0.025), frame.quantile(0.975)
        for name, figure in values.columns:
            bounds[name][f"{figure}_{weighting}_low"] = float(low[name, figure])
            bounds[name][f"{figure}_{weighting}_high"] = float(high[name, figure])
    return bounds
