"""Does the order of the systems depend on the dataset: a falsifying outcome of the pilot's protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from zs_assets.stats.metrics import Metric


@dataclass(frozen=True)
class RankingReversal:
    """Two systems whose order differs between datasets.

    Attributes
    ----------
    metric : Metric
    backend_a, backend_b : str
    a_ahead, b_ahead : tuple of str
        Datasets on which each is strictly better; neither is empty.
    a_largest_lead, b_largest_lead : float
        The largest difference in each one's favour, positive: how substantial the reversal is.
    """

    metric: Metric
    backend_a: str
    backend_b: str
    a_ahead: tuple[str, ...]
    b_ahead: tuple[str, ...]
    a_largest_lead: float
    b_largest_lead: float


def ranks(values: Mapping[str, float | None], metric: Metric) -> dict[str, int]:
    """Rank of each system on one dataset: 1 is best, equal values share a rank, None is left out.

    Parameters
    ----------
    values : backend to value
    metric : Metric
        Its direction decides what is better.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    score = {backend: sign * value for backend, value in values.items() if value is not None}
    return {backend: 1 + sum(other > own for other in score.values()) for backend, own in score.items()}


def ranking_reversals(values: Mapping[str, Mapping[str, float | None]], metric: Metric) -> tuple[RankingReversal, ...]:
    """Pairs of systems that are ahead of each other on different datasets.

    A tie, or a dataset on which one has no value, speaks for neither.

    Parameters
    ----------
    values : dataset to (backend to value)
    metric : Metric
        Its direction decides what is ahead.
    """
    # dict keeps the order in which the study lists its systems.
    backends = list(dict.fromkeys(backend for row in values.values() for backend in row))
    reversals = []
    for a, b in combinations(backends, 2):
        leads = _leads(values, metric, a, b)
        a_ahead = tuple(dataset for dataset, lead in leads.items() if lead > 0)
        b_ahead = tuple(dataset for dataset, lead in leads.items() if lead < 0)
        if a_ahead and b_ahead:
            largest_a, largest_b = max(leads.values()), -min(leads.values())
            reversals.append(RankingReversal(metric, a, b, a_ahead, b_ahead, largest_a, largest_b))
    return tuple(reversals)


def _leads(values: Mapping[str, Mapping[str, float | None]], metric: Metric, a: str, b: str) -> dict[str, float]:
    leads = {}
    for dataset, row in values.items():
        of_a, of_b = row.get(a), row.get(b)
        if of_a is not None and of_b is not None:
            leads[dataset] = of_a - of_b if metric.higher_is_better else of_b - of_a
    return leads
