"""How the choice-order section looks and behaves as a page: widths, light and dark, console, network, policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zs_assets_tests.report.browser import needs_chromium, set_width
from zs_assets_tests.report.order_pages import click, found, order_pages, radio
from zs_assets_tests.report.test_page_in_a_browser import contrast

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return order_pages(tmp_path_factory.mktemp("pages"))


@pytest.mark.parametrize("width", [1200, 400])
@pytest.mark.parametrize("name", ["whole", "hostile"])
def test_the_page_never_scrolls_sideways(driver: Any, pages: dict[str, str], name: str, width: int):
    set_width(driver, width)
    driver.get(pages[name])
    driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    widest = "return [document.scrollingElement.scrollWidth, document.documentElement.clientWidth]"
    for click_on in (None, radio("figure", "median_range"), radio("group", "all")):
        if click_on:
            click(driver, click_on)
        scrolled, visible = driver.execute_script(widest)
        assert scrolled <= visible <= width
    driver.execute_script("document.querySelectorAll('.order-static').forEach(v => v.hidden = false)")
    assert driver.execute_script(widest)[0] <= width


def test_a_table_wider_than_its_box_says_that_it_scrolls_and_no_other(driver: Any, pages: dict[str, str]):
    for width in (1200, 400):
        set_width(driver, width)
        driver.get(pages["whole"])
        boxes = driver.execute_script(
            "return [...document.querySelectorAll('#order-live .scroll')].map(b => [b.querySelector('caption')"
            ".textContent, b.scrollWidth > b.clientWidth + 1, getComputedStyle(b, '::before').content])"
        )
        assert boxes
        for caption, cut, said in boxes:
            assert ("Scroll sideways" in said) is cut, (width, caption)
    assert {caption: cut for caption, cut, _ in boxes}["Differences on the same samples"]


def test_on_a_telephone_the_figure_of_a_difference_stands_beside_its_pair(driver: Any, pages: dict[str, str]):
    set_width(driver, 400)
    driver.get(pages["whole"])
    cell, right = driver.execute_script(
        "const t = [...document.querySelectorAll('#order-live table')].find(t => "
        "t.caption.textContent.startsWith('Differences')); const c = t.rows[1].cells[1];"
        "return [c.textContent, c.getBoundingClientRect().right]"
    )
    assert cell == "+1.39 [−0.81, +3.52]" and right <= 400


@pytest.mark.parametrize("width", [1200, 400])
@pytest.mark.parametrize("name", ["whole", "hostile"])
def test_every_drawing_has_marks_and_readable_text_inside_its_box(
    driver: Any, pages: dict[str, str], name: str, width: int
):
    set_width(driver, width)
    driver.get(pages[name])
    charts = driver.execute_script(
        """return [...document.querySelectorAll('#order-live svg.chart')].map(svg => {
             const box = svg.getBoundingClientRect();
             const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
             const meet = texts.filter(([a, p], i) => texts.some(([b, q], j) => i < j && p.left < q.right - 1 &&
               q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3)).map(t => t[0]);
             return {label: svg.getAttribute('aria-label'), meet,
               marks: svg.querySelectorAll('circle, rect').length, small: Math.min(...texts.map(t => t[1].height)),
               outside: texts.filter(t => t[1].right > box.right + 2 || t[1].left < box.left - 2).map(t => t[0])}})"""
    )
    assert len(charts) == 6
    for chart in charts:
        assert chart["label"] and chart["marks"] >= 3 and chart["small"] >= 9, chart
        assert chart["outside"] == [] and chart["meet"] == [], chart


def test_light_and_dark_both_have_contrast(driver: Any, pages: dict[str, str]):
    for dark in (False, True):
        set_width(driver, 1200, dark=dark)
        driver.get(pages["whole"])
        for selector in ("#order-said", "#order-live .note", "#order-plot .row-label", "#order-plot .row-figure"):
            assert contrast(driver, selector) >= 4.5, (selector, dark)


@pytest.mark.parametrize("name", ["whole", "hostile"])
def test_the_console_is_silent_and_nothing_is_asked_of_the_network(driver: Any, pages: dict[str, str], name: str):
    set_width(driver, 1200)
    driver.get_log("browser")
    driver.get_log("performance")
    driver.get(pages[name])
    for selector in (radio("group", "all"), radio("rule", "score_complete"), radio("figure", "p95_range")):
        click(driver, selector)
    click(driver, "#order-next")
    assert driver.get_log("browser") == []
    assert driver.execute_script("return document.querySelectorAll('#order img, #order iframe').length") == 0
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    requests = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert {url.split(":", 1)[0] for url in requests} <= {"file", "data"} and pages[name] in requests


def test_the_policy_refuses_a_changed_script(driver: Any, pages: dict[str, str], tmp_path: Path):
    whole = Path(pages["whole"].removeprefix("file://")).read_text(encoding="utf-8")
    (tmp_path / "changed.html").write_text(whole.replace("enter(0);", "enter(0); ", 1), encoding="utf-8")
    driver.get_log("browser")
    driver.get((tmp_path / "changed.html").as_uri())
    assert not found(driver, "#order-live").is_displayed()
    assert any("Content Security Policy" in entry["message"] for entry in driver.get_log("browser"))
