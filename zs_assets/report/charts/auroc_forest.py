"""Which confidence statistic separates right from wrong better, outside the atom: differences of AUROC."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import Figure, LegendEntry, PanelGroup, shortened
from zs_assets.report.charts.selective_rows import cells, drawn_from
from zs_assets.report.wording import interval, listed, plural, signed

WIDTH, LABELS, RIGHT, TOP, ROW = 340, 118, 10, 50, 44
OFFSETS = {"integer": -6, "float": 6}

Row = dict[str, Any]


def auroc_figure(report: dict[str, Any]) -> Figure:
    groups = []
    for dataset, backend, rows in cells(report, "auroc_comparisons"):
        compared = [row for row in rows if row["difference"] is not None]
        heading = f"{backend} on {dataset}"
        if compared:
            groups.append(PanelGroup(heading, (_panel(heading, rows, compared),), _note(rows)))
        else:
            why = listed(list(dict.fromkeys(row["undefined"] or "no other statistic has a figure" for row in rows)))
            groups.append(PanelGroup(heading, (), f"No comparison: {why.removesuffix('.')}."))
    return Figure(
        id="auroc",
        title="Does another statistic of the vector separate right from wrong better?",
        caption="AUROC of the confidence minus AUROC of each statistic, on valid rows outside confidence 1.00 "
        "(statistics of the vector are constant on that level); ties count one half, entropy with its sign turned. "
        f"95 % percentile intervals of a paired bootstrap ({drawn_from(report, 'calibration')}): the same rows drawn "
        "for all four statistics; resamples with one class only are dropped and counted. Upper, filled: statistics "
        "from exact integers, ties exact, the primary form. Lower, hollow: from floats, as published. p is the "
        "two-sided bootstrap p; Holm p corrects it over the comparisons of the form (an addition).",
        groups=tuple(groups),
        legend=(
            LegendEntry("mark-circle", "integers, ties exact (primary)"),
            LegendEntry("mark-diamond hollow", "floats (as published)"),
        ),
        panel_width=300,
    )


def _note(rows: list[Row]) -> str:
    row = rows[0]
    said = f"{row['n']:,} rows outside confidence 1.00, {row['correct']:,} of them right; {row['atom']:,} left out."
    if not any(row["form"] == "integer" for row in rows):
        said += " No integer form: the system's probabilities are on no decimal grid."
    dropped = max(row["dropped"] or 0 for row in rows)
    return said + (f" {plural(dropped, 'resample')} of one class dropped." if dropped else "")


def _panel(heading: str, rows: list[Row], compared: list[Row]) -> Markup:
    statistics = list(dict.fromkeys(row["statistic"] for row in compared))
    bottom = TOP + ROW * len(statistics)
    ends = [
        0.0,
        *(row[key] for row in compared for key in ("ci95_low", "ci95_high", "difference") if row[key] is not None),
    ]
    margin = (max(ends) - min(ends) or 0.1) * 0.06
    x = svg.Scale(min(ends) - margin, max(ends) + margin, LABELS, WIDTH - RIGHT)
    parts: list[Markup] = [svg.text(0, 14, "confidence minus", "panel-title"), *_directions(x)]
    for tick in x.ticks(4):
        parts += [
            svg.line(x(tick), TOP - 6, x(tick), bottom, "grid"),
            svg.text(x(tick), bottom + 15, svg.tick_label(tick), "tick", "middle"),
        ]
    parts.append(svg.line(x(0), TOP - 6, x(0), bottom, "zero"))
    for position, statistic in enumerate(statistics):
        y = TOP + ROW * position + ROW / 2 - 4
        own = [row for row in compared if row["statistic"] == statistic]
        parts += [
            svg.text(0, y - 2, shortened(statistic, 18), "row-label"),
            svg.text(0, y + 13, _p_values(own), "tick"),
        ]
        parts += [_interval(row, x, y + OFFSETS[row["form"]]) for row in own]
    return svg.picture(WIDTH, bottom + 22, f"AUROC of the confidence minus other statistics, {heading}", *parts)


def _directions(x: svg.Scale) -> list[Markup]:
    return [
        svg.text(x.start, 31, "← statistic better", "tick"),
        svg.text(x.end, 31, "confidence better →", "tick", "end"),
    ]


def _p_values(own: list[Row]) -> str:
    """Of the primary form where there is one."""
    row = min(own, key=lambda row: row["form"] != "integer")
    if row["p_value"] is None:
        return "p n/a"
    return f"p {row['p_value']:.3f}" + ("" if row["p_holm"] is None else f", Holm {row['p_holm']:.3f}")


def _interval(row: Row, x: svg.Scale, y: float) -> Markup:
    at = x(row["difference"])
    has_interval = row["ci95_low"] is not None and row["ci95_high"] is not None
    tip = f"{row['statistic']}, {row['form']} form: {signed(row['difference'], 4)}"
    if has_interval:
        tip += f" ({interval(row['ci95_low'], row['ci95_high'])}), {row['kept']:,} resamples"
    shape = (
        svg.element("circle", cx=at, cy=y, r=4.5)
        if row["form"] == "integer"
        else svg.element("path", d=f"M{at:.1f} {y - 5:.1f}l5 5 -5 5 -5 -5z")
    )
    whisker = [svg.line(x(row["ci95_low"]), y, x(row["ci95_high"]), y, "whisker")] if has_interval else []
    style = "interval" if row["form"] == "integer" else "interval plain hollow"
    return svg.element("g", svg.element("title", tip), *whisker, shape, class_=style)
