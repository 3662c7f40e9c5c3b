"""What a cascade's accuracy costs: its thresholds, the two systems alone and the oracle in one plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import Figure, LegendEntry, PanelGroup, series_class
from zs_assets.report.charts.label_places import place_labels
from zs_assets.report.charts.selective_rows import cascade_cells
from zs_assets.report.wording import exact_share, listed, plural, share, usd

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 360, 264, 54, 40, 40, 16
MAX_POINTS = 200
REFERENCES = ("primary", "fallback", "oracle")

Row = dict[str, Any]


@dataclass(frozen=True)
class _Axis:
    """What a panel measures along x: dollars where every point has them, else the share that is escalated."""

    title: str
    value: Callable[[Row], float]
    note: str = ""


def accuracy_cost_figure(report: dict[str, Any]) -> Figure:
    groups: dict[str, tuple[list[Markup], list[str]]] = {}
    for dataset, primary, fallback, rows in cascade_cells(report, "cascade_sweep"):
        panels, notes = groups.setdefault(f"{primary} then {fallback}", ([], []))
        axis = _axis(rows)
        targets = _targets(report, dataset, primary, fallback)
        panels.append(_panel(report, rows, axis, targets))
        notes += [f"{dataset}: {said}" for said in (axis.note, _out_of_reach(targets)) if said]
    return Figure(
        id="cascades",
        title="What the accuracy of a cascade costs",
        caption="Small dots: every observed confidence as the threshold, joined in their order (nothing is reached "
        "between two of them). Cost, on a linear axis from 0 USD: the primary on every row plus the fallback on "
        "the escalated ones, at the amounts recorded per row. Accuracy: right answers over planned rows. Best: most "
        "right answers, ties to the lower cost, chosen on the rows drawn here. Oracle: the fallback asked exactly "
        "where the primary is wrong, the ceiling of every routing between the two. "
        "Dashed: accuracy targets fixed before the runs. No intervals are drawn: the gain's is in the tables.",
        groups=tuple(PanelGroup(name, tuple(panels), "\n".join(notes)) for name, (panels, notes) in groups.items()),
        legend=(
            LegendEntry("mark-circle dotlike", "threshold"),
            LegendEntry("mark-diamond best", "best threshold"),
            LegendEntry("mark-square", "primary alone"),
            LegendEntry("mark-triangle", "fallback alone"),
            LegendEntry("mark-circle ring", "oracle"),
            LegendEntry("stroke target", "accuracy target"),
        ),
        panel_width=300,
    )


def _axis(rows: list[Row]) -> _Axis:
    costs = [row["cost_usd"] for row in rows]
    if None not in costs and any(costs):
        return _Axis("cost, USD", lambda row: float(row["cost_usd"]))
    unknown = max(row["cost_unknown"] or 0 for row in rows)
    why = (
        f"part of the cost is unknown ({plural(unknown, 'amount')} at most)"
        if None in costs
        else "neither system is priced (both run locally or free of charge)"
    )
    return _Axis("share of rows escalated", _escalated_share, f"{why}, so x is the share of rows escalated.")


def _escalated_share(row: Row) -> float:
    return float(row["escalated"] / max(row["kept"] + row["escalated"], 1))


def _targets(report: dict[str, Any], dataset: str, primary: str, fallback: str) -> list[Row]:
    named = {"dataset": dataset, "primary": primary, "fallback": fallback}
    return [row for row in report["analyses"]["cascade_targets"] if named.items() <= row.items()]


def _out_of_reach(targets: list[Row]) -> str:
    missed = [row for row in targets if not row["attainable"]]
    if not missed:
        return ""
    names = listed([exact_share(row["target"]) for row in missed])
    beyond = [exact_share(row["target"]) for row in missed if row["oracle_misses"]]
    oracle = f"; even the oracle misses {listed(beyond)}" if beyond else ""
    noun = "target" if len(missed) == 1 else "targets"
    return f"unattainable {noun} {names} (the most anything reaches is {share(missed[0]['best_accuracy'])}{oracle})."


def _panel(report: dict[str, Any], rows: list[Row], axis: _Axis, targets: list[Row]) -> Markup:
    thresholds = [row for row in rows if row["kind"] == "threshold"]
    marked = [row for row in thresholds if row["best"]]
    marked += [row for kind in REFERENCES for row in rows if row["kind"] == kind]
    reached = [row["accuracy"] for row in rows]
    low, high = min(reached), max(reached)
    margin = max(high - low, 0.02) * 0.22
    y = svg.Scale(max(0.0, low - margin), min(1.0, high + margin), HEIGHT - BOTTOM, TOP)
    x = svg.Scale(0.0, max(max(axis.value(row) for row in rows), 1e-9) * 1.06, LEFT, WIDTH - RIGHT)
    dataset, primary, fallback = (rows[0][key] for key in ("dataset", "primary", "fallback"))
    return svg.picture(
        WIDTH,
        HEIGHT,
        f"Accuracy of {primary} then {fallback} on {dataset} against {axis.title}: {len(thresholds)} thresholds",
        svg.axes(x, y, axis.title, "accuracy", 5, 5),
        *_target_lines(targets, x, y),
        *_path(report, thresholds, axis, x, y),
        *_marks(marked, axis, x, y),
        svg.text(LEFT, 14, dataset, "panel-title"),
        svg.text(LEFT, 29, _above(targets, y), "tick"),
    )


def _target_lines(targets: list[Row], x: svg.Scale, y: svg.Scale) -> list[Markup]:
    parts: list[Markup] = []
    for row in targets:
        target = float(Fraction(row["target"]))
        if y.low <= target <= y.high:
            parts.append(svg.line(x.start, y(target), x.end, y(target), "target"))
            parts.append(svg.text(x.end, y(target) - 3, f"target {exact_share(row['target'])}", "tick", "end"))
    return parts


def _above(targets: list[Row], y: svg.Scale) -> str:
    """Targets outside the frame, said instead of stretching the axis to them."""
    words = []
    for where, outside in (
        ("above", [row for row in targets if float(Fraction(row["target"])) > y.high]),
        ("below", [row for row in targets if float(Fraction(row["target"])) < y.low]),
    ):
        if outside:
            words.append(f"{where} the frame: {listed([exact_share(row['target']) for row in outside])}")
    return f"targets {'; '.join(words)}" if words else ""


def _path(report: dict[str, Any], thresholds: list[Row], axis: _Axis, x: svg.Scale, y: svg.Scale) -> list[Markup]:
    if not thresholds:
        return []
    every = -(-len(thresholds) // MAX_POINTS)
    ordered = sorted(thresholds, key=lambda row: row["threshold"])
    shown = [row for position, row in enumerate(ordered) if position % every == 0 or row is ordered[-1] or row["best"]]
    points = [(x(axis.value(row)), y(row["accuracy"])) for row in shown]
    dots = [
        svg.element("circle", svg.element("title", _tip(row)), cx=at, cy=up, r=2)
        for row, (at, up) in zip(shown, points, strict=True)
    ]
    style = series_class(report, thresholds[0]["primary"])
    path = svg.path(points, f"curve faint {style}", f"{len(thresholds)} thresholds, from the lowest to the highest")
    return [path, svg.element("g", *dots, class_=f"thresholds {style}")]


def _tip(row: Row) -> str:
    where = f"threshold {row['threshold']:.4g}" if row["kind"] == "threshold" else row["kind"]
    cost = usd(row["cost_usd"]) if row["cost_usd"] is not None else "unknown cost"
    return f"{where}: {row['correct']} right ({share(row['accuracy'])}), {row['escalated']} escalated, {cost}"


def _marks(rows: list[Row], axis: _Axis, x: svg.Scale, y: svg.Scale) -> list[Markup]:
    at = [(x(axis.value(row)), y(row["accuracy"])) for row in rows]
    labels = [_name(row) for row in rows]
    places = place_labels([(*point, label) for point, label in zip(at, labels, strict=True)], x, y)
    marks = [
        svg.element("g", svg.element("title", _tip(row)), _shape(row["kind"], *point))
        for row, point in zip(rows, at, strict=True)
    ]
    texts = [
        svg.text(place.x, place.y, label, "tick halo", place.anchor)
        for place, label in zip(places, labels, strict=True)
    ]
    return marks[::-1] + texts  # the best point on top


def _name(row: Row) -> str:
    if row["kind"] == "threshold":
        return f"best, {row['threshold']:.4g}"
    return "oracle" if row["kind"] == "oracle" else f"{row['kind']} alone"


def _shape(kind: str, at: float, up: float) -> Markup:
    if kind == "primary":
        return svg.element("rect", x=at - 5, y=up - 5, width=10, height=10, class_="mark-square")
    if kind == "fallback":
        return svg.element("path", d=f"M{at:.1f} {up - 6:.1f}l6 11h-12z", class_="mark-triangle")
    if kind == "oracle":
        return svg.element("circle", cx=at, cy=up, r=5.5, class_="mark-circle ring")
    return svg.element("path", d=f"M{at:.1f} {up - 7:.1f}l7 7 -7 7 -7 -7z", class_="mark-diamond best")
