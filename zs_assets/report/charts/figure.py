"""What a figure is: groups of panels under a title, a legend and a caption that states its conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

COLOURS = 6
"""Series colours of the stylesheet; further systems reuse them with another dash."""


@dataclass(frozen=True)
class LegendEntry:
    """A sample of a mark and what it stands for; `mark` is a class of the stylesheet."""

    mark: str
    label: str


@dataclass(frozen=True)
class PanelGroup:
    """Panels that belong together, under one heading."""

    heading: str
    panels: tuple[Markup, ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """One chart of the page."""

    id: str
    title: str
    caption: str
    groups: tuple[PanelGroup, ...]
    legend: tuple[LegendEntry, ...] = ()
    panel_width: int = 260  # pixels from which a further panel stands beside the first


def series_class(report: dict[str, Any], backend: str) -> str:
    """Colour and dash of a system, the same in every figure; the control is grey."""
    systems = [system["name"] for system in report["systems"] if not system["control"]]
    if backend not in systems:
        return "series control"
    position = systems.index(backend)
    return f"series s{position % COLOURS} d{position // COLOURS % 3}"


def system_legend(report: dict[str, Any], backends: Sequence[str]) -> tuple[LegendEntry, ...]:
    """Systems by name in the study's order, with their titles."""
    return tuple(
        LegendEntry(f"stroke {series_class(report, system['name'])}", f"{system['name']}: {system['title']}")
        for system in report["systems"]
        if system["name"] in backends
    )


def shortened(name: str, length: int = 14) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def resampling_note(report: dict[str, Any]) -> str:
    study = report["study"]
    return f"{study['resamples']:,} resamples, seed {study['seed']}" if study["resamples"] else "no resamples"


def confidence_note(report: dict[str, Any]) -> str:
    """Which confidence the study scores."""
    scoring = report["study"]["scoring"]
    if scoring["confidence"] == "reported":
        return "the confidence the system itself reports"
    return f"the largest probability of the {'renormalised' if scoring['renormalise'] else 'raw'} vector"
