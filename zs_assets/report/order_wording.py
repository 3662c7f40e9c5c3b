"""How figures of the choice-order study are written: points, shares and intervals that hide no small value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zs_assets.protocol.question import ALL_GROUPS
from zs_assets.report.wording import ABSENT, signed
from zs_assets.storage.order_schemas import SCORE_COMPLETE, STRICT_COMPLETE

Row = dict[str, Any]

RULE_WORDS = {STRICT_COMPLETE: "strict-complete", SCORE_COMPLETE: "score-complete"}
"""In the order of the switch: the protocol's main comparison is the strict one."""

NUMERICAL_NOISE = 0.01
"""Points. A system none of whose ranges reaches this moves in the last digits of its arithmetic only."""

ZERO_NOTE = (
    "Small nonzero values are in scientific notation: 2.98e-6 is 0.00000298. A printed 0.00 is an exact zero of what "
    "was recorded; rounding by the system, or a scorer that repeats itself, can make one. It promises nothing about "
    "other inputs."
)


def points(value: float | None, digits: int = 2) -> str:
    """Percentage points: 12.67, 0.00 for an exact zero, 2.98e-6 for what would round to zero."""
    if value is None:
        return ABSENT
    rounded = f"{value:.{digits}f}"
    text = rounded if value == 0 or float(rounded) != 0 else scientific(value)
    return text.replace("-", "−", 1) if value < 0 else text


def percent(value: float | None, digits: int = 1) -> str:
    """A share between 0 and 1 in percent without its sign: 0.58 as 58.0, 0.00002 as 2.00e-3."""
    return points(None if value is None else 100 * value, digits)


def with_percent(value: float | None, digits: int = 1) -> str:
    return ABSENT if value is None else f"{percent(value, digits)} %"


def scientific(value: float) -> str:
    """2.98e-6: no leading zero in the exponent."""
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def bracketed(low: float | None, high: float | None, digits: int = 2) -> str:
    """An interval of points as [low, high]; empty without one."""
    return "" if low is None or high is None else f"[{points(low, digits)}, {points(high, digits)}]"


def share_interval(row: Row, name: str) -> str:
    """The 95 % interval of a share in percent as [low, high]."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None or high is None else f"[{percent(low)}, {percent(high)}]"


def exact_interval(row: Row) -> str:
    """Clopper-Pearson beside a share of none or all; empty elsewhere."""
    return share_interval(row, "large_share_exact")


def is_numerical_noise(row: Row) -> bool:
    return bool(row["max_range"] < NUMERICAL_NOISE)


def beside(value: str, interval: str) -> str:
    return f"{value} {interval}".rstrip()


def signed_interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{signed(low, 2)}, {signed(high, 2)}]"


def group_words(group: str) -> str:
    return "all" if group == ALL_GROUPS else group.replace("_", " ")


def group_said(group: str) -> str:
    """The group inside a sentence. `random` alone would claim a draw: it is the name of a group."""
    return "all samples" if group == ALL_GROUPS else f"group {group_words(group)}"


def ordered_groups(rows: Sequence[Row], main_group: str | None) -> list[str]:
    """The main group first, then the others as they come, all samples last.

    Parameters
    ----------
    rows
        Rows with a `sample_group`.
    main_group
        As the study names it; all samples lead without one, and where no row is of that group.
    """
    found = list(dict.fromkeys(row["sample_group"] for row in rows))
    first = main_group if main_group in found else ALL_GROUPS
    return sorted(found, key=lambda group: (group != first, group == ALL_GROUPS))


def lead_group(report: Row, dataset: str) -> str:
    """The group of the verdicts and of the first view; empty without any row."""
    return next(iter(report_groups(report, dataset)), "")


def report_groups(report: Row, dataset: str) -> list[str]:
    """Sample groups of a dataset of report.json, the main one first."""
    analyses = report["analyses"]
    rows = [*analyses["order_sensitivity"], *analyses["order_coverage"]]
    asked = report["study"]["analyses"].get("order_sensitivity") or {}
    return ordered_groups([row for row in rows if row["dataset"] == dataset], asked.get("main_group"))


def missing_group(rows: Sequence[Row], main_group: str | None) -> str:
    """A sentence where the study's main group has no sample; empty otherwise."""
    if main_group is None or not rows or main_group in {row["sample_group"] for row in rows}:
        return ""
    return f"No sample is of the study's main group {group_words(main_group)}, so these are figures of all samples."
