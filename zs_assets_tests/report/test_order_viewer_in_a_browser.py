"""The choice-order viewer in headless Chromium: every control, by mouse and by keyboard, at two widths."""

from __future__ import annotations

from typing import Any

import pytest

from zs_assets_tests.report.browser import needs_chromium, set_width
from zs_assets_tests.report.order_pages import click, found, order_pages, radio

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return order_pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture
def opened(driver: Any, pages: dict[str, str]) -> Any:
    set_width(driver, 1200)
    driver.get(pages["whole"])
    return driver


def choose(driver: Any, selector: str, text: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(found(driver, selector)).select_by_visible_text(text)


def said(driver: Any) -> str:
    return str(found(driver, "#order-said").text)


def plotted(driver: Any) -> list[tuple[str, str]]:
    """(title, figure) of every row of the dot plot, as drawn."""
    return [
        tuple(row)
        for row in driver.execute_script(
            "return [...document.querySelectorAll('#order-plot g')].map(g => "
            "[...g.querySelectorAll('text')].map(t => t.textContent))"
        )
    ]


def table(driver: Any, caption: str) -> list[list[str]]:
    """Cells of the live table whose caption begins so; an empty list without one."""
    return list(
        driver.execute_script(
            "const t = [...document.querySelectorAll('#order-live table')].find(t => "
            "t.caption.textContent.startsWith(arguments[0]));"
            "return t ? [...t.rows].map(r => [...r.cells].map(c => c.innerText.replace(/\\s+/g, ' '))) : []",
            caption,
        )
    )


def test_the_script_takes_over_from_the_static_views(opened: Any):
    assert found(opened, "#order-live").is_displayed()
    assert not any(view.is_displayed() for view in opened.find_elements("css selector", ".order-static"))
    assert said(opened).startswith("feelings, strict-complete, group random: 80 shared samples, 70 distinct texts")
    assert plotted(opened)[0] == ("Still", "0.0 % [0.0, 0.0], exact [0.0, 5.1]")


def test_without_script_the_static_views_stay_and_no_dead_control_is_shown(driver: Any, pages: dict[str, str]):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(pages["whole"])
        assert not found(driver, "#order-live").is_displayed()
        assert all(view.is_displayed() for view in driver.find_elements("css selector", ".order-static"))
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize(
    ("group", "samples", "share"),
    [("added_coverage", 20, "80.0 % [75.0, 85.0]"), ("all", 100, "60.0 % [55.0, 65.0]")],
)
def test_another_sample_group_shows_its_own_figures(opened: Any, group: str, samples: int, share: str):
    click(opened, radio("group", group))
    assert f"{samples} shared samples" in said(opened)
    assert plotted(opened)[-1] == ("Mover 2.0", share)
    assert table(opened, "Score ranges")[-1][1] == share.replace(" %", "")
    assert table(opened, "Score coverage")[1][3] == f"{samples + 10} of {samples + 10}"


def test_the_other_validation_rule_counts_its_own_samples(opened: Any):
    click(opened, radio("rule", "score_complete"))
    assert "feelings, score-complete, group random: 84 shared samples, 74 distinct texts" in said(opened)
    # 46 of 84
    assert plotted(opened)[-1][1].startswith("54.8 %")
    click(opened, radio("rule", "strict_complete"))
    assert plotted(opened)[-1][1].startswith("55.0 %")


@pytest.mark.parametrize(
    ("figure", "last", "label"),
    [
        ("median_range", "Mover 1.0", "12.67 [11.40, 13.93]"),
        ("p95_range", "Mover 1.0", "25.33"),
        ("winner_change_share", "Mover 2.0", "13.8 % [0.0, 30.0]"),
    ],
)
def test_another_figure_sorts_plot_and_table_anew(opened: Any, figure: str, last: str, label: str):
    click(opened, radio("figure", figure))
    assert plotted(opened)[-1] == (last, label)
    assert [row[0] for row in table(opened, "Score ranges")[1:]] == [title for title, _ in plotted(opened)]
    assert said(opened).endswith(f"highest: {last}, {label}.")


def test_a_tiny_range_is_shown_in_scientific_notation(opened: Any):
    click(opened, radio("figure", "median_range"))
    assert plotted(opened)[1] == ("Tiny", "2.98e-6 [2.68e-6, 3.28e-6]")


def test_the_noise_band_is_drawn_where_there_is_one(opened: Any):
    count = "return document.querySelectorAll('#order-plot rect.noise').length"
    assert opened.execute_script(count) == 5
    click(opened, radio("figure", "p95_range"))
    assert opened.execute_script(count) == 0
    assert "no noise band is computed" in found(opened, "#order-plot").text


def test_an_exact_interval_is_drawn_where_it_is_printed(opened: Any):
    printed = [title for title, label in plotted(opened) if "exact" in label]
    drawn = opened.execute_script(
        "return [...document.querySelectorAll('#order-plot .whisker.exact')].map(l => l.parentNode.dataset.backend)"
    )
    assert printed == ["Still", "Tiny"] and drawn == ["still", "tiny"]


def test_averaging_stands_above_controls_and_completeness_with_its_intervals_and_whole_axes(opened: Any):
    captions = [t.text for t in opened.find_elements("css selector", "#order-live caption")]
    wanted = ("Large ranges left", "Averaging over rotations", "Repeat controls", "Score coverage")
    places = [next(at for at, caption in enumerate(captions) if caption.startswith(start)) for start in wanted]
    assert places == sorted(places)
    choose(opened, "#order-system-select", "Noisy")
    found_curves = opened.execute_script(
        "return [...document.querySelectorAll('#order-details svg')].filter(s => / by rotations .* %$/.test("
        "s.getAttribute('aria-label'))).map(s => [s.querySelector('text').textContent,"
        "s.querySelectorAll('line.whisker').length])"
    )
    assert found_curves == [["100", 3], ["100", 0]]
    assert (
        "Gain of 3 rotations over one order, points [95 %]: +2.00 [−1.00, +3.00]."
        in found(opened, "#order-details").text
    )


def test_another_system_shows_its_bins_positions_and_averaging(opened: Any):
    choose(opened, "#order-system-select", "Noisy")
    assert found(opened, "#order-details h3").text == "In detail: Noisy"
    bins = opened.execute_script(
        "return [...document.querySelectorAll('#order-details rect.bar title')].map(t => t.textContent)"
    )
    # 16 of 80 are large: 11 below 20 points, 5 below 30
    assert bins == ["3 to 4 points: 64 samples", "10 to 11 points: 11 samples", "27 to 28 points: 5 samples"]
    assert len(opened.find_elements("css selector", "#order-details rect.bar.large")) == 2
    assert table(opened, "Mean score by position")[1] == ["1", "34.83 [34.33, 35.33]"]
    averaged = table(opened, "Averaging over rotations: Noisy")
    assert averaged[2][:2] == ["2", "3.00"] and averaged[2][7:10] == ["72.0", "+1.00 [−1.00, +3.00]", "0.0002"]
    choose(opened, "#order-system-select", "Tiny")
    assert table(opened, "Averaging over rotations: Tiny")[1][9] == "n/a"


def test_another_dataset_brings_its_own_groups_tables_and_no_explorer_when_private(opened: Any):
    choose(opened, "#order-dataset-select", "letters")
    assert said(opened).startswith("letters, strict-complete, all samples: 100 shared samples")
    assert len(opened.find_elements("css selector", "input[name='order-group']")) == 1
    assert not found(opened, "#order-explorer").is_displayed()
    choose(opened, "#order-dataset-select", "smoke")
    assert said(opened) == "smoke: asked in one order only."
    assert table(opened, "Identical requests")[1][:2] == ["Mover 2.0", "20 of 20"]
    assert plotted(opened) == [] and opened.find_elements("css selector", "input[name='order-group']") == []
    choose(opened, "#order-dataset-select", "feelings")
    assert found(opened, "#order-explorer").is_displayed() and len(plotted(opened)) == 5


def test_recorded_sentences_are_walked_and_show_scores_by_order(opened: Any):
    assert found(opened, ".order-sentence").text == "Sentence number 0."
    assert "Nothing is asked here." in found(opened, "#order-scores").text
    click(opened, "#order-next")
    assert found(opened, ".order-sentence").text == "Sentence number 1."
    rows = table(opened, "Recorded scores by order, points: Mover 2.0")
    assert rows[1] == ["1: joy first", "51.00 position 1", "39.00 position 2", "2.98e-6 position 3"]
    assert rows[-2] == ["mean of the orders", "44.33", "45.67", "2.98e-6"]
    assert rows[-1] == ["range, points", "10.00", "10.00", "0.00"]
    click(opened, "#order-previous")
    click(opened, "#order-previous")
    assert found(opened, ".order-sentence").text == "Sentence number 23."
    choose(opened, "#order-sentence-select", "Sentence number 7.")
    assert table(opened, "Recorded scores")[1][1] == "57.00 position 1"
    choose(opened, "#order-system-select", "Tiny")
    assert table(opened, "Recorded scores")[3][1] == "not scored"
    choose(opened, "#order-system-select", "Noisy")
    assert "Noisy has no scores recorded for this sentence." in found(opened, "#order-scores").text


def test_the_keyboard_alone_reaches_and_turns_every_control(opened: Any):
    from selenium.webdriver.common.keys import Keys

    opened.execute_script(
        "document.querySelector('#order').setAttribute('tabindex', '-1'); document.querySelector('#order').focus()"
    )
    reached = []
    for _ in range(5):
        opened.switch_to.active_element.send_keys(Keys.TAB)
        at = opened.switch_to.active_element
        reached.append(at.get_attribute("name") or at.get_attribute("id"))
        ring = opened.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        assert ring == "solid", reached
    assert reached == ["order-dataset-select", "order-group", "order-rule", "order-figure", "order-system-select"]
    opened.switch_to.active_element.send_keys("Noi")
    assert found(opened, "#order-details h3").text == "In detail: Noisy"
    found(opened, radio("group", "random")).send_keys(Keys.ARROW_RIGHT)
    assert "added coverage: 20 shared samples" in said(opened)
    assert opened.switch_to.active_element.get_attribute("value") == "added_coverage"
    found(opened, radio("rule", "strict_complete")).send_keys(Keys.ARROW_DOWN)
    assert "score-complete, group added coverage" in said(opened)
    found(opened, radio("figure", "large_share")).send_keys(Keys.ARROW_DOWN)
    assert "Lowest median range" in said(opened)
    found(opened, "#order-dataset-select").send_keys("let")
    assert said(opened).startswith("letters, score-complete, all samples")
    assert opened.switch_to.active_element.get_attribute("id") == "order-dataset-select"
    found(opened, "#order-dataset-select").send_keys(Keys.ARROW_UP)
    found(opened, "#order-next").send_keys(Keys.ENTER)
    assert found(opened, ".order-sentence").text == "Sentence number 1."
    found(opened, "#order-sentence-select").send_keys(Keys.ARROW_DOWN)
    assert found(opened, ".order-sentence").text == "Sentence number 2."


def test_a_switch_is_announced(opened: Any):
    status = found(opened, "#order-said")
    assert (status.get_attribute("role"), status.get_attribute("aria-live")) == ("status", "polite")
