"""Places for the labels of a few marks in one panel, so that no label covers another or leaves the frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zs_assets.report.svg import Scale

LETTER, LINE = 6.1, 12.0
"""Width of a letter and height of a line of tick text, in pixels: measured roughly, erring on the wide side."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class LabelPlace:
    """Where a label goes: its baseline and its anchor."""

    x: float
    y: float
    anchor: str


def place_labels(marks: Sequence[tuple[float, float, str]], x: Scale, y: Scale, gap: float = 9.0) -> list[LabelPlace]:
    """One place per mark (x, y, label in pixels): right, left, above or below, the first that is free.

    Parameters
    ----------
    marks : sequence of (float, float, str)
        Earlier marks choose first.
    x, y : Scale
        The frame; `y.start` is its bottom.
    gap : float
        Pixels between a mark's centre and its label.
    """
    taken: list[Box] = [(at - gap * 0.7, up - gap * 0.7, at + gap * 0.7, up + gap * 0.7) for at, up, _ in marks]
    frame = (x.start, y.end, x.end, y.start)
    places = []
    for at, up, label in marks:
        candidates = [
            LabelPlace(at + gap, up + 4, "start"),
            LabelPlace(at - gap, up + 4, "end"),
            LabelPlace(at, up - gap, "middle"),
            LabelPlace(at, up + gap + LINE - 3, "middle"),
            LabelPlace(at + 2, up - gap - LINE, "start"),
            LabelPlace(at - 2, up + gap + 2 * LINE - 3, "end"),
        ]
        costs = [_cost(_box(place, label), taken, frame) for place in candidates]
        chosen = candidates[costs.index(min(costs))]
        taken.append(_box(chosen, label))
        places.append(chosen)
    return places


def _box(place: LabelPlace, label: str) -> Box:
    width = LETTER * len(label)
    left = {"start": place.x, "middle": place.x - width / 2, "end": place.x - width}[place.anchor]
    return (left, place.y - LINE + 2, left + width, place.y + 2)


def _cost(box: Box, taken: Sequence[Box], frame: Box) -> float:
    """Pixels of the box that are covered or outside; outside weighs more, since it may be cut off."""
    covered = sum(_overlap(box, other) for other in taken)
    inside = _overlap(box, frame)
    return covered + 4 * ((box[2] - box[0]) * (box[3] - box[1]) - inside)


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
