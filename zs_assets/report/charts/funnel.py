"""Completeness: from the source's examples to the outcome of every planned presentation."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from zs_assets.protocol.names import Outcome
from zs_assets.report import svg
from zs_assets.report.charts.figure import Figure, LegendEntry, PanelGroup, shortened

WIDTH, LABELS, RIGHT, TOP, ROW, BAR = 340, 104, 10, 30, 36, 12
OUTCOMES = tuple(outcome.value for outcome in Outcome)


def funnel_figure(report: dict[str, Any]) -> Figure:
    panels = [_panel(report, facts) for facts in report["datasets"]]
    used = [o for o in OUTCOMES if any(row[f"{o}_count"] for row in report["metrics"])]
    return Figure(
        id="completeness",
        title="Completeness",
        caption="Upper bars: examples, on the scale of the source. Lower bars: outcomes of the planned presentations "
        "of each system, each on its own whole. Everything but ok and not_applicable counts as wrong in accuracy, "
        "macro-F1 and coverage; nothing planned is dropped.",
        groups=(PanelGroup("", tuple(panels)),) if panels else (),
        legend=tuple(LegendEntry(f"swatch outcome-{outcome}", outcome) for outcome in used),
        panel_width=300,
    )


def _panel(report: dict[str, Any], facts: dict[str, Any]) -> Markup:
    parts: list[Markup] = [svg.text(0, 14, facts["name"], "panel-title")]
    excluded = sum(facts["excluded"].values())
    whole = max(facts["source_examples"], facts["sampled"], 1)
    steps = [("source", facts["source_examples"], "step", f"{facts['source_examples']:,} examples")]
    if excluded:
        reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in facts["excluded"].items())
        steps.append(("excluded", excluded, "step excluded", reasons))
    steps.append(("sampled", facts["sampled"], "step", f"{facts['sampled']:,} examples, {facts['labels']} labels"))
    y = float(TOP)
    for name, value, style, note in steps:
        parts.append(
            _row(
                y,
                name,
                note,
                svg.element(
                    "rect",
                    svg.element("title", note),
                    x=LABELS,
                    y=y + 15,
                    width=max(1.0, _span(value, whole)),
                    height=BAR,
                    class_=style,
                ),
            )
        )
        y += ROW
    parts.append(svg.line(0, y + 1, WIDTH, y + 1, "rule"))
    y += 6
    for backend in report["study"]["backends"]:
        row = next((r for r in report["metrics"] if (r["dataset"], r["backend"]) == (facts["name"], backend)), None)
        if row is None:
            parts.append(
                _row(
                    y,
                    backend,
                    "no readable results",
                    svg.element(
                        "rect", x=LABELS, y=y + 15, width=WIDTH - RIGHT - LABELS, height=BAR, class_="step missing"
                    ),
                )
            )
        else:
            parts.append(_outcomes(y, backend, row))
        y += ROW
    label = (
        f"Completeness of {facts['name']}: {facts['source_examples']} source examples, {excluded} excluded, "
        f"{facts['sampled']} sampled, and outcomes by system"
    )
    return svg.picture(WIDTH, y + 2, label, *parts)


def _row(y: float, name: str, note: str, *bars: Markup) -> Markup:
    label = svg.element("text", svg.element("title", name), shortened(name), x=0, y=y + 25, class_="row-label")
    return Markup("").join([label, svg.text(LABELS, y + 11, shortened(note, 42), "tick"), *bars])


def _outcomes(y: float, backend: str, row: dict[str, Any]) -> Markup:
    counts = [(outcome, row[f"{outcome}_count"]) for outcome in OUTCOMES if row[f"{outcome}_count"]]
    bars, x = [], float(LABELS)
    for outcome, count in counts:
        width = _span(count, max(row["n"], 1))
        tip = svg.element("title", f"{backend}: {count:,} of {row['n']:,} {outcome}")
        bars.append(
            svg.element("rect", tip, x=x, y=y + 15, width=max(width, 1.5), height=BAR, class_=f"outcome-{outcome}")
        )
        x += width
    note = f"{row['n']:,} planned: " + ", ".join(f"{count:,} {outcome}" for outcome, count in counts)
    return _row(y, backend, note, *bars)


def _span(value: int, whole: int) -> float:
    return value / whole * (WIDTH - RIGHT - LABELS)
