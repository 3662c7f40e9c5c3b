"""Means over datasets that weight every dataset equally, whatever its number of examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zs_assets.stats.metrics import Metric
from zs_assets.stats.paired import PairedDifferences
from zs_assets.stats.resampling import Scheme

SHARED_STREAM = "the published stream restarts for every dataset, so the resamples of the datasets are not independent"


@dataclass(frozen=True)
class DatasetMean:
    """Mean of one figure over datasets: the value (None without any) and how many datasets it covers."""

    value: float | None
    datasets: int


def equal_weight_mean(values: Sequence[float | None]) -> DatasetMean:
    """Mean over the datasets that have the figure; those without one (None) are left out and not zero.

    Parameters
    ----------
    values : float or None, one per dataset
    """
    present = [value for value in values if value is not None]
    return DatasetMean(float(np.mean(present)) if present else None, len(present))


def mean_difference(datasets: Sequence[PairedDifferences]) -> PairedDifferences:
    """Equal-weight mean of a pair's differences over datasets, resample by resample.

    With `dataset_stream` the resamples of the datasets are independent and the interval is sound. With
    the published stream they are not, and every interval of the mean is marked weak.

    Parameters
    ----------
    datasets : PairedDifferences of the same pair, one per dataset, same scheme and resamples

    Returns
    -------
    PairedDifferences over the metrics that every dataset has; `n` and `left_out` are sums.
    """
    usable = [differences for differences in datasets if differences.n > 0]
    if not usable:
        raise ValueError("A mean over datasets needs one dataset with examples valid for both systems.")
    scheme = usable[0].scheme
    if any(differences.scheme is not scheme for differences in usable):
        raise ValueError("All datasets of a mean must be resampled by the same scheme.")
    if len({len(d.resampled[Metric.ACCURACY]) for d in usable}) != 1:
        raise ValueError("All datasets of a mean must have the same number of resamples.")
    metrics = [metric for metric in Metric if all(metric in d.point for d in usable)]
    return PairedDifferences(
        scheme=scheme,
        n=sum(d.n for d in datasets),
        left_out=sum(d.left_out for d in datasets),
        point={m: float(np.mean([d.point[m] for d in usable])) for m in metrics},
        resampled={m: np.mean([d.resampled[m] for d in usable], axis=0) for m in metrics},
        weak={m: reason for m in metrics if (reason := _why_weak(usable, m))},
    )


def _why_weak(datasets: Sequence[PairedDifferences], metric: Metric) -> str | None:
    # dict: one mention of each reason, in the order of the datasets.
    reasons = dict.fromkeys(d.weak[metric] for d in datasets if metric in d.weak)
    if datasets[0].scheme is Scheme.TARGET_STRATIFIED and len(datasets) > 1:
        reasons[SHARED_STREAM] = None
    return "; ".join(reasons) or None
