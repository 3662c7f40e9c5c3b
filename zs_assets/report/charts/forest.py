"""Paired differences as a forest: both resampling schemes side by side, weak intervals hollow."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import Figure, LegendEntry, PanelGroup, resampling_note, shortened
from zs_assets.report.verdicts import QUESTIONS
from zs_assets.report.wording import METRIC_WORDS, interval, signed
from zs_assets.stats import Metric, Scheme

WIDTH, LABELS, RIGHT, TOP, ROW = 264, 78, 8, 46, 38
OFFSETS = {Scheme.TARGET_STRATIFIED.value: -6, Scheme.PLAIN.value: 6}
SCHEME_NAMES = {Scheme.TARGET_STRATIFIED.value: "protocol, target-stratified", Scheme.PLAIN.value: "ours, plain"}
MEAN = "mean"

Row = dict[str, Any]


def forest_figure(report: dict[str, Any]) -> Figure:
    groups = []
    for a, b in report["study"]["pairs"]:
        panels = [panel for metric in QUESTIONS if (panel := _panel(report, a, b, metric)) is not None]
        if panels:
            groups.append(PanelGroup(f"{a} minus {b}", tuple(panels)))
    return Figure(
        id="differences",
        title="Paired differences",
        caption="Difference a minus b on examples valid for both, with 95 % percentile bootstrap intervals "
        f"({resampling_note(report)}). The upper line of each row is the protocol's target-stratified scheme, which "
        "decides the verdict; the lower line is our plain one with independent streams per dataset. Hollow marks: "
        "an interval known to be weak, for the reason its tooltip and the tables give. NLL has the floor 1e-12. "
        "The mean weights every dataset equally.",
        groups=tuple(groups),
        legend=(
            LegendEntry("mark-circle", SCHEME_NAMES[Scheme.TARGET_STRATIFIED.value]),
            LegendEntry("mark-diamond", SCHEME_NAMES[Scheme.PLAIN.value]),
            LegendEntry("mark-circle hollow", "weak interval"),
        ),
        panel_width=240,
    )


def _panel(report: dict[str, Any], a: str, b: str, metric: Metric) -> Markup | None:
    rows = [*_rows(report["paired_differences"], a, b, metric), *_rows(report["dataset_means"], a, b, metric)]
    if not rows:
        return None
    names = list(dict.fromkeys(row.get("dataset", MEAN) for row in rows))
    bottom = TOP + ROW * len(names)
    ends = [0.0, *(row[key] for row in rows for key in ("ci95_low", "ci95_high", "difference"))]
    margin = (max(ends) - min(ends) or 1.0) * 0.06
    x = svg.Scale(min(ends) - margin, max(ends) + margin, LABELS, WIDTH - RIGHT)
    parts: list[Markup] = [svg.text(0, 14, METRIC_WORDS[metric], "panel-title"), _directions(a, b, metric, x)]
    for tick in x.ticks(4):
        parts += [
            svg.line(x(tick), TOP - 6, x(tick), bottom, "grid"),
            svg.text(x(tick), bottom + 15, svg.tick_label(tick), "tick", "middle"),
        ]
    parts.append(svg.line(x(0), TOP - 6, x(0), bottom, "zero"))
    for position, name in enumerate(names):
        y = TOP + ROW * position + ROW / 2 - 3
        if name == MEAN:
            parts.append(svg.line(0, y - ROW / 2, WIDTH, y - ROW / 2, "rule"))
        style = "row-label strong" if name == MEAN else "row-label"
        parts.append(svg.element("text", svg.element("title", name), shortened(name, 12), x=0, y=y + 4, class_=style))
        parts += [_interval(row, x, y + OFFSETS[row["scheme"]]) for row in rows if row.get("dataset", MEAN) == name]
    label = f"Paired differences {a} minus {b} in {METRIC_WORDS[metric]}, by dataset and scheme"
    return svg.picture(WIDTH, bottom + 22, label, *parts)


def _rows(table: list[Row], a: str, b: str, metric: Metric) -> list[Row]:
    return [
        row
        for row in table
        if (row["backend_a"], row["backend_b"], row["metric"]) == (a, b, metric.value) and row["scheme"] in OFFSETS
    ]


def _directions(a: str, b: str, metric: Metric, x: svg.Scale) -> Markup:
    """Which side of zero favours whom: it depends on the metric's direction."""
    left, right = (b, a) if metric.higher_is_better else (a, b)
    return svg.text(0, 31, f"← {shortened(left, 12)} better", "tick") + svg.text(
        x.end, 31, f"{shortened(right, 12)} better →", "tick", "end"
    )


def _interval(row: Row, x: svg.Scale, y: float) -> Markup:
    where = row.get("dataset") or f"mean of {len(row['datasets'])} datasets"
    tip = (
        f"{where}, {SCHEME_NAMES[row['scheme']]}: {signed(row['difference'])} "
        f"({interval(row['ci95_low'], row['ci95_high'])}), n = {row['n']}"
    )
    if row["weak"]:
        tip += f". Weak: {row['weak']}"
    at = x(row["difference"])
    scheme = "protocol" if row["scheme"] == Scheme.TARGET_STRATIFIED.value else "plain"
    shape = (
        svg.element("circle", cx=at, cy=y, r=4.5)
        if scheme == "protocol"
        else svg.element("path", d=f"M{at:.1f} {y - 5:.1f}l5 5 -5 5 -5 -5z")
    )
    return svg.element(
        "g",
        svg.element("title", tip),
        svg.line(x(row["ci95_low"]), y, x(row["ci95_high"]), y, "whisker"),
        shape,
        class_=f"interval {scheme}{' hollow' if row['weak'] else ''}",
    )
