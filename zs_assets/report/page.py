"""report.json -> one self-contained HTML page: no font, no request, and no script but the choice-order viewer's.

That script enhances a section whose figures stand there without it; the page's policy allows it alone, by its hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from zs_assets.report import tables
from zs_assets.report.charts import figures
from zs_assets.report.order_cards import order_cards
from zs_assets.report.order_viewer import (
    AVERAGING_NOTE,
    CONTROLS_NOTE,
    READING,
    StaticView,
    has_order_section,
    script_hash,
    script_json,
    static_views,
    viewer_data,
)
from zs_assets.report.order_wording import ZERO_NOTE
from zs_assets.report.selective_tables import selective_table_groups
from zs_assets.report.verdict_cards import cascade_cards, pair_cards, status_counts
from zs_assets.report.verdicts import REHEARSAL


@dataclass(frozen=True)
class OrderSection:
    """What the template needs of the choice-order study."""

    views: list[StaticView]
    script: Markup
    script_hash: str
    data: Markup
    reading: str = READING
    zero_note: str = ZERO_NOTE
    controls_note: str = CONTROLS_NOTE
    averaging_note: str = AVERAGING_NOTE


def render_page(report: dict[str, Any]) -> str:
    """The page of a report; everything on it is in report.json."""
    troubles, passed = tables.gate_tables(report)
    order = order_section(report) if has_order_section(report) else None
    return _template().render(
        report=report,
        study=report["study"],
        css=Markup(_resource("page.css") + (_resource("order_viewer.css") if order else "")),
        order=order,
        order_cards=order_cards(report),
        measured=tables.measured_systems(report),
        pair_counts=status_counts(report["verdicts"]),
        pairs=pair_cards(report["verdicts"]),
        cascade_counts=status_counts(report["cascade_verdicts"]),
        cascades=cascade_cards(report["cascade_verdicts"]),
        figures=figures(report),
        means=tables.means_table(report),
        metric_tables=tables.metric_tables(report),
        difference_tables=tables.difference_tables(report),
        selective_groups=selective_table_groups(report),
        troubles=troubles,
        passed=passed,
        datasets=tables.datasets_table(report),
        systems=tables.systems_table(report),
        rehearsal_reason=REHEARSAL,
        terms=[system for system in report["systems"] if system["deployment"] == "hosted"],
    )


def order_section(report: dict[str, Any]) -> OrderSection:
    """Static views, script and data of the choice-order section."""
    script = _resource("order_drawing.js") + _resource("order_viewer.js")
    return OrderSection(static_views(report), Markup(script), script_hash(script), script_json(viewer_data(report)))


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_resource("page.html.j2"))


def _resource(name: str) -> str:
    return files("zs_assets.report").joinpath(name).read_text(encoding="utf-8")
