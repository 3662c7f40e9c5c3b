"""The page in headless Chromium: quiet console, no request, every chart drawn, no sideways scrolling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zs_assets.protocol.names import Gate
from zs_assets.report import MissingPartition, PartitionVerdict, build_report, render_page
from zs_assets_tests.report.browser import needs_chromium, set_width
from zs_assets_tests.report.report_inputs import report_inputs
from zs_assets_tests.report.selective_inputs import decision_log_rows, selective_inputs, selective_rows

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A whole report, and a rehearsal with a failed gate and a partition that is missing."""
    folder = tmp_path_factory.mktemp("pages")
    failed = PartitionVerdict(
        "emotions", "jev", Gate.MAX_INVALID_RATE.value, False, True, "9 of 96 replies are invalid."
    )
    gap = MissingPartition("topics", "jev", "never run: " + "a_very_long_name_without_any_break" * 6)
    inputs = {
        "whole": report_inputs(),
        "selective": selective_inputs(selective_rows() | {"decision_log": decision_log_rows("areas", "jev", "opus")}),
        "broken": report_inputs(rehearsal=True, verdicts=(failed,), missing=(gap,)),
    }
    for name, given in inputs.items():
        (folder / f"{name}.html").write_text(render_page(build_report(given)), encoding="utf-8")
    return {name: Path(folder / f"{name}.html").as_uri() for name in inputs}


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["whole", "selective", "broken"])
def test_nothing_but_its_own_boxes_scrolls_sideways(driver: Any, pages: dict[str, str], name: str, width: int):
    set_width(driver, width)
    driver.get(pages[name])
    driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert driver.execute_script("return window.innerWidth") == width
    widest = driver.execute_script("return [document.documentElement.scrollWidth, document.body.scrollWidth]")
    assert max(widest) <= driver.execute_script("return document.documentElement.clientWidth")


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize(
    ("name", "number"),
    [
        # 2 pairs x 4 questions, 9 reliability diagrams, 3 coverage, 2 modes x 3 latency, 3 completeness
        ("whole", 8 + 9 + 3 + 6 + 3),
        # 2 cascades x 2 datasets in the cost plane and by tier; 3 partitions with levels, coverage and AUROC; 1 log
        ("selective", 4 + 4 + 3 + 3 + 3 + 1 + 2),
    ],
)
def test_every_chart_is_drawn_with_marks_of_a_readable_size(
    driver: Any, pages: dict[str, str], name: str, number: int, width: int
):
    set_width(driver, width)
    driver.get(pages[name])
    charts = driver.execute_script(
        """return [...document.querySelectorAll('svg.chart')].map(svg => {
             const box = svg.getBoundingClientRect();
             const marks = [...svg.querySelectorAll('circle, path, rect, .interval')];
             const text = [...svg.querySelectorAll('text')].filter(t => t.textContent)
               .map(t => t.getBoundingClientRect().height);
             const visible = marks.filter(m => {const b = m.getBoundingClientRect(); return b.width + b.height > 1});
             const outside = [...svg.querySelectorAll('text')].filter(t => {
               const b = t.getBoundingClientRect(); return b.right > box.right + 2 || b.left < box.left - 2});
             return {label: svg.getAttribute('aria-label'), width: box.width, marks: visible.length,
                     text: Math.min(...text), outside: outside.map(t => t.textContent)}})"""
    )
    assert len(charts) == number
    for chart in charts:
        assert chart["label"]
        assert chart["marks"] >= 1, chart
        assert chart["width"] >= 150, chart
        assert chart["text"] >= 9, chart
        assert chart["outside"] == [], chart


def test_every_scrolling_box_is_reached_by_keyboard_and_named(driver: Any, pages: dict[str, str]):
    driver.get(pages["whole"])
    boxes = driver.execute_script(
        "return [...document.querySelectorAll('.scroll')].map(b => [b.tabIndex, b.getAttribute('aria-label')])"
    )
    assert boxes and all(index == 0 and label for index, label in boxes)


def test_light_and_dark_both_have_contrast(driver: Any, pages: dict[str, str]):
    papers = []
    for dark in (False, True):
        set_width(driver, 1280, dark=dark)
        driver.get(pages["whole"])
        for selector in ("body", "figcaption", ".verdict strong", "svg .tick"):
            assert contrast(driver, selector) >= 4.5, (selector, dark)
        papers.append(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert papers[0] != papers[1]


def contrast(driver: Any, selector: str) -> float:
    """WCAG contrast of an element's text with the page's paper."""
    ink, paper = driver.execute_script(
        f"""const e = document.querySelector('{selector}'), s = getComputedStyle(e);
            return [e.closest('svg') ? s.fill : s.color, getComputedStyle(document.body).backgroundColor]"""
    )
    bright = sorted(luminance(colour) for colour in (ink, paper))
    return (bright[1] + 0.05) / (bright[0] + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", ["whole", "selective", "broken"])
def test_the_console_is_silent_and_the_network_idle(driver: Any, pages: dict[str, str], name: str):
    driver.get_log("browser")
    driver.get_log("performance")
    driver.get(pages[name])
    assert driver.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    requests = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert {url.split(":", 1)[0] for url in requests} <= {"file", "data"}
    assert pages[name] in requests
