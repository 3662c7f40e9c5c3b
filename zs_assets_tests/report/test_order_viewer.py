"""The choice-order section without a browser: what stands there without script, and what its script is given."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.report import build_report, render_page
from zs_assets.report.order_explorer import EXPLORER_SENTENCES
from zs_assets.report.order_plots import FIGURES, dot_plot, drawn
from zs_assets.report.order_tables import ranges_table
from zs_assets.report.order_viewer import script_json, viewer_data
from zs_assets.report.order_wording import percent, points
from zs_assets.report.schema import schema_rows
from zs_assets_tests.report.order_inputs import (
    ORDERS,
    SENTENCES,
    TITLES,
    order_report,
    order_rows,
    order_study,
    order_systems,
    score_rows,
)
from zs_assets_tests.report.report_inputs import report_inputs
from zs_assets_tests.report.test_page import HOSTILE, Reader
from zs_assets_tests.report.test_report_json import paths


def table_rows(page: str, caption: str) -> list[list[str]]:
    """Cells of the first table with this caption."""
    table = re.search(rf"<caption>{re.escape(caption)}.*?</table>", page, re.DOTALL)
    assert table, caption
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table[0])]


def embedded(page: str) -> Any:
    return json.loads(re.findall(r'<script type="application/json" id="order-data">(.*?)</script>', page, re.DOTALL)[0])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (2.98e-6, "2.98e-6"),
        (-2.98e-6, "−2.98e-6"),
        (38 / 3, "12.67"),
        (0.0049, "4.90e-3"),
        (0.0051, "0.01"),
        (-0.81, "−0.81"),
        (None, "n/a"),
    ],
)
def test_a_small_nonzero_value_never_prints_as_zero(value: float | None, text: str):
    assert points(value) == text


def test_shares_of_one_in_many_thousands_stay_visible():
    assert (percent(0.0), percent(1.0), percent(0.988), percent(1 / 50_000)) == ("0.0", "100.0", "98.8", "2.00e-3")


@given(st.floats(min_value=-100, max_value=100, allow_subnormal=False))
def test_what_is_printed_reads_back_within_half_a_step(value: float):
    read = float(points(value).replace("−", "-"))
    assert abs(read - value) <= max(0.005000001, 0.005 * abs(value))
    assert (read == 0) == (value == 0)


def test_a_study_without_the_analysis_has_no_section_and_no_script():
    page = render_page(build_report(report_inputs()))
    assert 'id="order"' not in page and "<script" not in page and "script-src" not in page


def test_every_field_of_an_order_report_is_documented():
    documented = {path for path, _ in schema_rows()}
    free = ("study.scoring.", "study.plan.", "study.analyses.", "versions.")
    assert {path for path in paths(order_report()) if not path.startswith(free)} <= documented


def test_the_policy_allows_exactly_the_script_of_the_page():
    page = render_page(order_report())
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)">', page)
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and policy.count("'sha256-") == 1
    assert "'unsafe-inline'" not in policy.split("script-src")[1]
    for forbidden in ("eval(", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "fetch(", "http:"):
        assert forbidden not in script.replace("http://www.w3.org/2000/svg", ""), forbidden


def test_data_cannot_end_its_script_element():
    value = {"text": "</script><!-- & \u2028 \u2029 é"}
    written = str(script_json(value))
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == value


def test_hostile_titles_and_sentences_stay_text():
    rows = order_rows()
    rows["order_scores"] = [row | {"text": HOSTILE} for row in score_rows(sentences=1)]
    titles = {name: f"{HOSTILE} {name}" for name in TITLES}
    page = render_page(order_report(rows, systems=order_systems(titles)))
    reader = Reader(page)
    assert HOSTILE in reader.text
    assert [attributes for tag, attributes in reader.tags if tag == "script"] == [
        {"type": "application/json", "id": "order-data"},
        {},
    ]
    assert embedded(page)["datasets"][0]["explorer"]["sentences"][0]["text"] == HOSTILE


def test_without_script_the_default_view_stands_there_most_stable_first():
    page = render_page(order_report())
    static = page[page.index('class="order-static') : page.index('id="order-data"')]
    assert "Strict-complete, group random: 80 shared samples, 70 distinct texts, 6 orders x 3 repeats." in static
    head, *rows = table_rows(static, "Score ranges and winner changes")
    assert head[1] == "range ≥ 10 points, %"
    assert [row[:2] for row in rows] == [
        ["Still", "0.0 [0.0, 0.0], exact [0.0, 5.1]"],
        ["Tiny", "0.0 [0.0, 0.0], exact [0.0, 5.1]"],
        ["Noisy", "20.0 [15.0, 25.0]"],
        ["Mover 1.0", "50.0 [45.0, 55.0]"],
        ["Mover 2.0", "55.0 [50.0, 60.0]"],
    ]
    assert rows[1][3] == "2.98e-6 [2.68e-6, 3.28e-6]"
    assert rows[3][3].startswith("12.67 [")
    labels = re.findall(r'class="row-label">(.*?)</text>', static)
    assert labels[:5] == ["Still", "Tiny", "Noisy", "Mover 1.0", "Mover 2.0"]
    controls = table_rows(static, "Repeat controls")[5]
    assert controls[4:7] == ["44 of 480 order groups", "11 of 80", "0.005"]
    assert [row[6] for row in table_rows(static, "Repeat controls")[1:3]] == [
        "0.005 (no difference)",
        "0.005 (numerical noise)",
    ]
    assert ["Mover 2.0", "label mismatch", "9", "7"] in table_rows(static, "Why samples are not complete")
    assert table_rows(static, "Samples by score range")[3] == ["Mover 2.0", "36", "30", "14"]
    assert table_rows(static, "Mean score by position")[3][1:5:3] == ["36.33 [35.83, 36.83]", "33.33"]
    difference = table_rows(static, "Differences on the same samples")[1]
    assert difference[:4] == [
        *("Mover 2.0 minus Mover 1.0", "+1.39 [−0.81, +3.52]"),
        *("share of large ranges", "samples weigh alike"),
    ]


def test_what_averaging_leaves_stands_before_controls_and_completeness():
    page = render_page(order_report())
    static = page[page.index('class="order-static') : page.index('id="order-data"')]
    captions = ("Score ranges", "Large ranges left after averaging", "Differences", "Repeat controls", "Score coverage")
    places = [static.index(f"<caption>{caption}") for caption in captions]
    assert places == sorted(places)
    # Clopper-Pearson of 0 in 80: 1 - .025 ** (1 / 80) = .0451
    left = table_rows(static, "Large ranges left after averaging, % of samples")
    assert left[0] == ["system", "one order", "2 rotations", "3 rotations"]
    assert left[5] == ["Mover 2.0", "55.0 [50.0, 60.0]", "27.5 [22.5, 32.5]", "0.0 exact [0.0, 4.5]"]


def test_the_plot_puts_value_interval_and_noise_band_to_scale():
    page = render_page(order_report())
    noisy = re.search(r'<g class="interval"><text[^>]*>Noisy.*?</g>', page, re.DOTALL)
    assert noisy
    assert '<rect x="15.000%" width="15.000%"' in noisy[0]
    assert 'x1="15.000%" x2="25.000%"' in noisy[0] and 'cx="20.000%"' in noisy[0]


@pytest.mark.parametrize(
    ("figure", "order"),
    [
        ("large_share", ["still", "tiny", "noisy", "old", "new"]),
        ("median_range", ["still", "tiny", "noisy", "new", "old"]),
        ("p95_range", ["still", "tiny", "noisy", "new", "old"]),
        ("winner_change_share", ["still", "tiny", "noisy", "old", "new"]),
    ],
)
def test_systems_are_sorted_by_the_chosen_figure(figure: str, order: list[str]):
    view = viewer_data(order_report())["datasets"][0]["views"]["strict_complete|random"]
    assert [mark["backend"] for mark in view["plots"][figure]["marks"]] == order


def test_an_axis_ends_at_a_round_number_past_everything_drawn():
    rows = [row for row in order_rows()["order_sensitivity"] if row["backend"] in ("still", "noisy")][:2]
    report = order_report({"order_sensitivity": rows})
    found = report["analyses"]["order_sensitivity"]
    assert dot_plot(found, TITLES, FIGURES[1])["axis"] == 10  # 6.6 points
    assert dot_plot(found[:1], TITLES, FIGURES[1])["axis"] == 10  # nothing but zeros


def test_the_exact_interval_that_is_printed_is_drawn_and_inside_the_axis():
    row = next(row for row in order_rows()["order_sensitivity"] if row["backend"] == "still")
    plot = dot_plot([row], TITLES, FIGURES[0])
    (mark,) = plot["marks"]
    # Clopper-Pearson of 0 in 70: 1 - .025 ** (1 / 70)
    assert (mark["exact_low"], mark["exact_high"]) == (0.0, pytest.approx(100 * (1 - 0.025 ** (1 / 70)), rel=1e-5))
    assert plot["axis"] == 10
    assert 'x2="51.33' in str(drawn(plot, "l", "%")) and "whisker exact" in str(drawn(plot, "l", "%"))


def test_equal_ends_of_a_plot_are_named_together():
    found = order_report()["analyses"]["order_sensitivity"]
    wanted = ("feelings", "strict_complete", "random")
    rows = [row for row in found if (row["dataset"], row["rule"], row["sample_group"]) == wanted]
    assert dot_plot(rows, TITLES, FIGURES[0])["said"] == (
        "Lowest share of large ranges: Still and Tiny, 0.0 % [0.0, 0.0], exact [0.0, 5.1]; "
        "highest: Mover 2.0, 55.0 % [50.0, 60.0]."
    )


def test_bins_of_one_point_are_told_in_tens_with_a_full_range_in_the_last():
    bins = [(0.0, 5), (9.0, 1), (10.0, 2), (19.0, 3), (99.0, 4), (100.0, 1)]
    rows = [{"backend": "new", "low": low, "high": low + 1, "samples": samples} for low, samples in bins]
    table = ranges_table(rows, TITLES)
    assert table.rows == (("Mover 2.0", "6", "5", *["0"] * 7, "5"),)
    assert (table.columns[1], table.columns[-1]) == ("0 to 10", "90 to 100")


def test_every_rule_and_group_has_its_own_figures():
    views = viewer_data(order_report())["datasets"][0]["views"]
    assert set(views) == {
        f"{r}|{g}" for r in ("strict_complete", "score_complete") for g in ("random", "added_coverage", "all")
    }
    said = {key: view["plots"]["large_share"]["marks"][-1]["label"] for key, view in views.items()}
    # 44 of 80, 46 of 84; 16 of 20, 19 of 24; 60 of 100, 62 of 104
    assert [said[f"strict_complete|{g}"][:6] for g in ("random", "added_coverage", "all")] == [
        "55.0 %",
        "80.0 %",
        "60.0 %",
    ]
    assert [said[f"score_complete|{g}"][:6] for g in ("random", "added_coverage", "all")] == [
        "54.8 %",
        "79.2 %",
        "59.6 %",
    ]


def test_the_explorer_keeps_a_part_says_so_and_never_a_private_text():
    rows = order_rows()
    rows["order_scores"] += score_rows("letters")
    report = order_report(rows)
    kept = report["analyses"]["order_scores"]
    assert {row["dataset"] for row in kept} == {"feelings"}
    assert len({row["example_id"] for row in kept}) == EXPLORER_SENTENCES < SENTENCES
    feelings, letters, _ = viewer_data(report)["datasets"]
    assert letters["explorer"] is None
    assert feelings["explorer"]["note"].startswith("The first 24 of 110 sentences")
    assert "Nothing is asked here." in feelings["explorer"]["note"]


def test_recorded_scores_stand_by_order_with_positions_mean_and_range():
    explorer = viewer_data(order_report())["datasets"][0]["explorer"]
    assert explorer["options"] == ["joy", "anger", "doubt"]
    assert explorer["orders"] == [[sent.index(option) + 1 for option in range(3)] for sent in ORDERS]
    new = explorer["sentences"][5]["scores"]["new"]
    assert new["by_order"][0] == ["55.00", "35.00", "2.98e-6"]
    assert new["by_order"][1] == ["45.00", "45.00", "2.98e-6"]
    # joy is first in two of six orders
    assert new["mean"][0] == f"{45 + 10 * 2 / 6:.2f}" and new["range"] == ["10.00", "10.00", "0.00"]
    assert explorer["sentences"][5]["scores"]["tiny"]["by_order"][2] is None


def test_options_without_known_ids_are_numbered():
    report = order_report()
    report["datasets"][0]["options"] = []
    assert viewer_data(report)["datasets"][0]["explorer"]["options"] == ["option 1", "option 2", "option 3"]


def test_two_systems_of_one_title_are_told_apart():
    titles = {**TITLES, "old": "Mover", "new": "Mover"}
    assert viewer_data(order_report(systems=order_systems(titles)))["titles"]["old"] == "Mover (old)"


def test_an_empty_intersection_still_shows_who_is_complete():
    rows = order_rows()
    for name in ("order_sensitivity", "order_ranges", "order_positions", "order_averaging", "order_differences"):
        rows[name] = []
    page = render_page(order_report(rows))
    assert "no sample is complete for every compared system" in page
    assert table_rows(page, "Score coverage")[3][:2] == ["Mover 2.0", "1,620 of 1,620"]


def test_twelve_systems_keep_the_data_small():
    names = [f"system_{number}" for number in range(12)]
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, own in order_rows().items():
        moving = [row for row in own if row.get("backend", "new") == "new"]
        rows[name] = [row | ({"backend": b} if "backend" in row else {}) for row in moving for b in names]
    rows["order_differences"] = []
    study = order_study(backends=names, analyses={"order_sensitivity": {}})
    titles = {name: name for name in names}
    page = render_page(order_report(rows, study=study, systems=order_systems(titles)))
    assert len(page) < 700_000
