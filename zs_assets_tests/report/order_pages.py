"""Pages of the choice-order study for the browser tests, and how their controls are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zs_assets.report import render_page
from zs_assets_tests.report.order_inputs import TITLES, order_report, order_rows, order_systems, score_rows
from zs_assets_tests.report.test_page import HOSTILE


def order_pages(folder: Path) -> dict[str, str]:
    """Addresses of a whole page, and of one whose titles and sentences are markup."""
    hostile = order_rows()
    hostile["order_scores"] = [row | {"text": HOSTILE} for row in score_rows(sentences=2)]
    titles = {name: f"{HOSTILE} {name}" for name in TITLES}
    reports = {"whole": order_report(), "hostile": order_report(hostile, systems=order_systems(titles))}
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(render_page(report), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in reports}


def found(driver: Any, selector: str) -> Any:
    return driver.find_element("css selector", selector)


def click(driver: Any, selector: str) -> None:
    element = found(driver, selector)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    element.click()


def radio(name: str, value: str) -> str:
    return f"input[name='order-{name}'][value='{value}']"
