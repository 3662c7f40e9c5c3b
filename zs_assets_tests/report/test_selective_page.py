"""The page of a study of selective automation: cards, charts and tables of hand-written figures."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from zs_assets.report import build_report, render_page
from zs_assets.report.schema import schema_rows
from zs_assets_tests.report.report_inputs import report_inputs
from zs_assets_tests.report.selective_inputs import (
    DATASETS,
    FALLBACK,
    LOCAL,
    OTHER_FALLBACK,
    PRIMARY,
    cascade_row,
    cascade_tables,
    cell_tables,
    confirmed,
    decision_log_rows,
    selective_inputs,
    selective_rows,
    selective_study,
    undefined_auroc_rows,
)
from zs_assets_tests.report.test_page import HOSTILE, Reader
from zs_assets_tests.report.test_report_json import paths

SELECTIVE_FIGURES = ["cascades", "disagreements", "levels", "certified", "auroc"]


def rendered(rows: dict[str, list[dict[str, Any]]] | None = None, **changes: Any) -> str:
    return render_page(build_report(selective_inputs(rows, **changes)))


def captions(page: str) -> dict[str, str]:
    return dict(re.findall(r'<figure id="(\w+)".*?<figcaption>(.*?)</figcaption>', page, re.DOTALL))


def log_study() -> Any:
    return selective_study(analyses={"decision_log": {"pairs": [[PRIMARY, OTHER_FALLBACK]]}})


def log_page() -> str:
    return rendered({"decision_log": decision_log_rows("intents", PRIMARY, OTHER_FALLBACK)}, study=log_study())


def test_every_selective_figure_states_its_convention():
    found = captions(rendered())
    assert [name for name in found if name in SELECTIVE_FIGURES] == SELECTIVE_FIGURES
    assert "95 % Wilson intervals of one level each" in found["levels"]
    assert "never split" in found["levels"]
    assert "one-sided 95 % Clopper-Pearson" in found["certified"] and "do not hold together" in found["certified"]
    assert "1/20" in found["certified"]
    assert "400 resamples, seed 1729" in found["auroc"] and "as published" in found["auroc"]
    assert "linear axis from 0 USD" in found["cascades"]
    assert "no intervals, no resampling" in found["disagreements"]


def test_the_atom_has_one_mark_with_its_count_and_small_levels_are_faded():
    page = rendered(cell_tables("intents", PRIMARY))
    levels = page[page.index('<figure id="levels"') : page.index("<figcaption>", page.index('<figure id="levels"'))]
    assert levels.count('class="level atom"') == 1
    assert "N 100" in levels
    assert levels.count('class="level faded"') == 1


def test_levels_are_points_never_joined():
    page = rendered(cell_tables("intents", PRIMARY))
    for name in ("levels", "certified"):
        figure = page[page.index(f'<figure id="{name}"') :]
        assert "curve" not in figure[: figure.index("<figcaption>")]


def test_certified_thresholds_are_those_of_the_strictest_confidence_and_none_is_said():
    rows = cell_tables("intents", PRIMARY)
    for row in rows["certified_thresholds"]:
        if row["confidence_level"] == "9/10":
            row.update(threshold=0.3, coverage=1.0, accepted=200, errors=38, p_value=0.01)
    figure = rendered(rows)
    figure = figure[figure.index('<figure id="certified"') :]
    figure = figure[: figure.index("<figcaption>")]
    assert "no threshold certified (95 %) for 5 %" in figure
    assert "certified for risk 10 %: from 1, 4 of 100 wrong" in figure
    assert "38 of 200 wrong</title>" not in figure


def test_limits_that_share_a_threshold_share_a_label():
    rows = cell_tables("intents", PRIMARY)
    rows["certified_thresholds"].append(rows["certified_thresholds"][-1] | {"risk_limit": "3/20"})
    assert "≤ 10 % and 15 %" in rendered(rows)


def test_the_old_risk_coverage_figure_stays_where_it_compares_systems():
    both = report_inputs()
    assert "coverage" in captions(render_page(build_report(both)))
    report = build_report(selective_inputs())
    curve = {"dataset": "intents", "backend": PRIMARY, "level": [1.0], "coverage": [0.5], "risk": [0.04]}
    curve["thinned"] = False
    report["curves"]["risk_coverage"] = [curve]
    assert "coverage" not in captions(render_page(report))
    report["curves"]["risk_coverage"] = [curve, curve | {"backend": LOCAL}]
    assert "coverage" in captions(render_page(report))


def test_unknown_costs_are_said_and_the_escalated_share_stands_in():
    page = rendered(cascade_tables("intents", PRIMARY, FALLBACK, price=None))
    text = Reader(page).text
    assert "intents: part of the cost is unknown (3 amounts at most), so x is the share of rows escalated." in text
    assert "share of rows escalated: 4 thresholds" in page
    assert "its cost is unknown, since part of it is" in text


def test_free_systems_are_said_to_have_no_price():
    text = Reader(rendered(cascade_tables("intents", PRIMARY, FALLBACK, price=0.0))).text
    assert "intents: neither system is priced" in text


def test_priced_cascades_start_their_cost_axis_at_zero():
    page = rendered(cascade_tables("intents", PRIMARY, FALLBACK))
    panel = page[page.index("Accuracy of jev then deepseek on intents against cost, USD: 4 thresholds") :]
    ticks = re.findall(r'class="tick" text-anchor="middle">([^<]*)<', panel[: panel.index("</svg>")])
    assert ticks[0] == "0"
    for label in ("best, 0.99", "primary alone", "fallback alone", "oracle", "target 85 %"):
        assert f">{label}</text>" in panel


def test_unattainable_targets_are_said_and_stay_in_the_table():
    text = Reader(rendered(cascade_tables("intents", PRIMARY, FALLBACK))).text
    assert "unattainable target 95 % (the most anything reaches is 86.0 %; even the oracle misses 95 %)." in text
    assert "unattainable: above the oracle too" in text
    assert "none is revised" in text


def test_the_gain_is_printed_with_its_interval_and_an_optimistic_p():
    text = Reader(rendered()).text
    assert "+2.1 [−2.0, 6.0]" in text
    assert "McNemar p: optimistic (addition)" in text
    assert "the threshold was chosen on the same rows" in text


def test_a_confirmatory_run_has_a_table_only_where_there_was_one():
    assert "Confirmatory run: threshold" not in rendered()
    rows = cascade_tables("intents", PRIMARY, FALLBACK)
    rows["cascades"] = [cascade_row({"dataset": "intents", "primary": PRIMARY, "fallback": FALLBACK}, **confirmed())]
    text = Reader(rendered(rows)).text
    assert "84 of 100" in text and "84.0 % [75.3 %, 90.6 %]" in text


def test_one_class_outside_the_atom_is_said_in_words():
    page = rendered({"auroc_comparisons": undefined_auroc_rows("intents", PRIMARY)})
    text = Reader(page).text
    assert "No comparison: all 10 rows outside confidence 1.00 are right." in text
    figure = page[page.index('<figure id="auroc"') :]
    assert '<svg class="chart"' not in figure[: figure.index("</figure>")]


def test_both_auroc_forms_are_drawn_and_the_published_one_is_hollow():
    page = rendered(cell_tables("intents", PRIMARY))
    figure = page[page.index('<figure id="auroc"') :]
    figure = figure[: figure.index("<figcaption>")]
    assert figure.count('class="interval"') == figure.count('class="interval plain hollow"') == 2
    assert "p 0.029, Holm 0.058" in figure


def test_systems_with_labels_only_have_no_calibration_rows_and_no_panel():
    page = rendered()
    for system in (FALLBACK, OTHER_FALLBACK):
        assert f"Observed levels of {system}" not in page
        assert f"{system} on intents: right answers" not in page
    assert "gives a label only has no row here" in Reader(page).text


def test_calibration_figures_stand_beside_ours_with_the_noise_floor_and_the_weak_mark():
    text = Reader(rendered(cell_tables("intents", PRIMARY))).text
    assert "0.1100 [0.0800, 0.1500] · weak" in text
    assert "0.0900 [0.0500, 0.1300]" in text
    assert "0.031 / 0.052" in text
    assert "protocol: 400 resamples, seed 1729; addition: 1,000 simulations" in text


def test_shared_errors_are_the_ten_most_frequent_and_the_rest_is_counted():
    page = rendered(cascade_tables("areas", PRIMARY, FALLBACK))
    text = Reader(page).text
    assert f"Errors shared by {PRIMARY} and {FALLBACK} on areas, 10 most frequent of 12 distinct pairs" in text
    assert "CS/label 9" in text and "CS/label 10" not in text


def test_parent_domains_are_shown_only_where_labels_have_parents():
    with_parents = Reader(rendered(cascade_tables("areas", PRIMARY, FALLBACK))).text
    assert "15 (75.0 %)" in with_parents and "parent domain" in with_parents
    assert "parent domain" not in Reader(rendered(cascade_tables("intents", PRIMARY, FALLBACK))).text


def test_the_decision_log_speaks_of_agreement_only():
    page = log_page()
    figure = page[page.index('<figure id="agreement"') :]
    figure = figure[: figure.index("</figure>")]
    tables = page[page.index('<section id="decision-log-tables"') : page.index('<section id="provenance"')]
    for part in (figure, tables):
        assert "agreement" in part
        assert not re.search(r"accura|correct|ground.?truth|gold|\bright\b|\bwrong\b|errors", part, re.IGNORECASE)


def test_a_stratum_without_decisions_is_no_share_of_zero():
    text = Reader(log_page()).text
    assert "0 of 0" not in text
    assert "by tierbelow 0.7000n/an/a" in text


def test_hostile_labels_stay_text():
    rows = cascade_tables("areas", PRIMARY, FALLBACK)
    rows["shared_errors"][0] |= {"gold": HOSTILE, "predicted": HOSTILE}
    rows["decision_log"] = decision_log_rows("areas", PRIMARY, FALLBACK)
    rows["decision_log"][1]["decision"] = HOSTILE
    reader = Reader(rendered(rows | {k: v for k, v in cell_tables("areas", PRIMARY).items()}))
    assert reader.text.count(HOSTILE) == 4  # twice in the errors, in the log, and in its remark
    assert {tag for tag, _ in reader.tags} & {"script", "img", "iframe", "object"} == set()


@pytest.mark.parametrize("name", sorted(selective_rows()))
def test_any_table_may_be_empty(name: str):
    page = rendered({k: v for k, v in selective_rows().items() if k != name})
    assert page.count("<figcaption>") == page.count("<figure ")


def test_no_table_at_all_draws_no_selective_figure():
    found = captions(rendered({}))
    assert set(found).isdisjoint(SELECTIVE_FIGURES)


def test_a_system_off_the_grid_keeps_its_page_short():
    """2,000 confidences, all different: nothing repeats, so no level is drawn and the table is cut and says so."""
    rows = cell_tables("intents", LOCAL)
    first = rows["confidence_levels"][3]
    rows["confidence_levels"] = [
        first | {"level": 0.9 - k / 4000, "count": 1, "correct": 1, "small": True, "atom": False} for k in range(2000)
    ]
    page = rendered(rows)
    assert len(page) < 400_000
    assert "1,800 more in report.json" in page
    assert "levels" not in captions(page)


def test_selective_fields_of_a_report_are_documented():
    documented = {path for path, _ in schema_rows()}
    free = ("study.scoring.", "study.plan.", "study.analyses.", "versions.")
    rows = selective_rows() | {"decision_log": decision_log_rows("intents", PRIMARY, FALLBACK)}
    assert {p for p in paths(build_report(selective_inputs(rows))) if not p.startswith(free)} <= documented


def test_a_page_of_two_datasets_four_systems_and_two_cascades_renders_at_once():
    rows = selective_rows()
    for table, own in cell_tables("intents", LOCAL).items():
        rows[table] += [row | {"dataset": d, "backend": b} for row in own for d in DATASETS for b in (FALLBACK, LOCAL)]
    report = build_report(selective_inputs(rows))
    render_page(report)  # the template is compiled once
    took = []
    for _ in range(3):
        began = time.perf_counter()
        render_page(report)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.3
