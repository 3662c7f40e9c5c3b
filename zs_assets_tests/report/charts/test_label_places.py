"""Labels of marks: inside the frame, and not on top of each other where there is room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zs_assets.report.charts.label_places import LETTER, LINE, LabelPlace, place_labels
from zs_assets.report.svg import Scale

X, Y = Scale(0.0, 1.0, 50.0, 350.0), Scale(0.0, 1.0, 220.0, 40.0)


def sides(place: LabelPlace, label: str) -> tuple[float, float]:
    width = LETTER * len(label)
    left = {"start": place.x, "middle": place.x - width / 2, "end": place.x - width}[place.anchor]
    return left, left + width


def test_a_lone_mark_is_labelled_on_its_right():
    (place,) = place_labels([(100.0, 100.0, "oracle")], X, Y)
    assert (place.anchor, place.x > 100) == ("start", True)


def test_a_mark_at_the_right_edge_is_labelled_on_its_left():
    (place,) = place_labels([(348.0, 100.0, "fallback alone")], X, Y)
    assert sides(place, "fallback alone")[1] <= 348


def test_two_marks_in_one_place_get_two_lines():
    first, second = place_labels([(100.0, 100.0, "best, 0.99"), (101.0, 101.0, "primary alone")], X, Y)
    apart = abs(first.y - second.y) >= LINE - 2
    left, right = sides(first, "best, 0.99"), sides(second, "primary alone")
    assert apart or left[1] <= right[0] or right[1] <= left[0]


@given(st.lists(st.tuples(st.floats(50, 350), st.floats(60, 200)), min_size=1, max_size=4))
def test_no_label_leaves_the_frame_sideways(points: list[tuple[float, float]]):
    marks = [(x, y, "primary alone") for x, y in points]
    for place in place_labels(marks[:1], X, Y):
        left, right = sides(place, "primary alone")
        assert X.start <= left and right <= X.end
    assert len(place_labels(marks, X, Y)) == len(marks)
