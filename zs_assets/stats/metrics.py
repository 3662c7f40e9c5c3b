"""Names of the figures a system is compared by, and which direction of each is better."""

from __future__ import annotations

from enum import Enum


class Metric(str, Enum):
    """A figure of one system on one dataset; the value is the field of `Scores` that holds it."""

    ACCURACY = "accuracy"
    MACRO_F1 = "macro_f1"
    BRIER = "brier"
    NLL = "nll"
    NLL_HALF_STEP = "nll_half_step"
    ECE = "ece"
    COVERAGE = "coverage"
    LATENCY_P50 = "latency_p50_ms"
    LATENCY_P95 = "latency_p95_ms"

    @property
    def higher_is_better(self) -> bool:
        """Direction of the metric: True for accuracy, macro-F1 and coverage."""
        return self in (Metric.ACCURACY, Metric.MACRO_F1, Metric.COVERAGE)
