"""How numbers and metrics are written for people: one place, so that page, sentences and tables agree."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from zs_assets.stats import Metric

ABSENT = "n/a"

METRIC_WORDS = {
    Metric.MACRO_F1: "macro-F1",
    Metric.ACCURACY: "accuracy",
    Metric.BRIER: "Brier score",
    Metric.NLL: "negative log likelihood",
    Metric.NLL_HALF_STEP: "negative log likelihood (floor 0.005)",
    Metric.ECE: "calibration error (ECE)",
    Metric.COVERAGE: "coverage",
    Metric.LATENCY_P50: "median latency",
    Metric.LATENCY_P95: "95th percentile of latency",
}

SHORT_WORDS = {Metric.NLL: "NLL", Metric.NLL_HALF_STEP: "NLL, floor 0.005", Metric.ECE: "ECE"}
"""For column heads and table cells."""


def metric_word(name: str) -> str:
    """The word of a stored metric name; the name itself where we have none."""
    return next((word for metric, word in METRIC_WORDS.items() if metric.value == name), name)


def short_metric_word(name: str) -> str:
    return next((word for metric, word in SHORT_WORDS.items() if metric.value == name), metric_word(name))


def signed(value: float, digits: int = 3) -> str:
    """+0.120 or −0.120, with a true minus sign; a value that rounds to zero has no sign."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return ("−" if value < 0 else "+") + text


def figure(value: float | None, digits: int = 3) -> str:
    return ABSENT if value is None else f"{value:.{digits}f}".replace("-", "−")


def count(value: int | None) -> str:
    return ABSENT if value is None else f"{value:,}"


def milliseconds(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:.3f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def interval(low: float, high: float) -> str:
    return f"{signed(low)} to {signed(high)}"


def share(value: float | None) -> str:
    """0.778 as 77.8 %."""
    return ABSENT if value is None else f"{100 * value:.1f} %"


def exact_share(text: str) -> str:
    """The share a study writes as `19/20` or `.95`."""
    return f"{float(100 * Fraction(text)):g} %"


def points(value: float) -> str:
    """A difference of shares in percentage points, with a true minus sign."""
    return f"{100 * value:.1f}".replace("-", "−")


def signed_points(value: float) -> str:
    return signed(100 * value, 1)


def usd(value: float | None) -> str:
    return "an unknown cost" if value is None else f"{value:.4f} USD"


def listed(items: Sequence[str], shown: int = 6) -> str:
    """'a, b and c'; past `shown` items the rest is counted."""
    names = list(items)
    if len(names) > shown:
        names = [*names[: shown - 1], f"{len(items) - shown + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def plural(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")
