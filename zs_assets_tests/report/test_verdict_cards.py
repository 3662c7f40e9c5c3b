"""Cards of cascades: what the page of a study opens with, and what the command prints."""

from __future__ import annotations

import re

from zs_assets.assets.report_asset import verdict_sentences
from zs_assets.protocol.names import Gate
from zs_assets.report import MissingPartition, PartitionVerdict, build_report, render_page
from zs_assets_tests.report.selective_inputs import (
    DATASETS,
    FALLBACK,
    OTHER_FALLBACK,
    PRIMARY,
    selective_inputs,
    selective_study,
)
from zs_assets_tests.report.test_page import Reader
from zs_assets_tests.report.test_selective_page import rendered


def test_a_study_without_pairs_opens_with_its_cascades():
    text = Reader(rendered()).text
    assert "compares no pair" not in text
    assert text.index("Cascades:4 route") < text.index(f"{PRIMARY} then {FALLBACK}") < text.index("What the accuracy")


def test_a_study_without_pairs_and_cascades_says_so():
    assert (
        "This study compares no pair of systems and routes no cascade."
        in Reader(rendered({}, study=selective_study(analyses={}))).text
    )


def test_every_cascade_sentence_is_on_the_page_as_the_command_prints_it():
    report = build_report(selective_inputs())
    text = Reader(render_page(report)).text
    sentences = verdict_sentences(report)
    assert len(sentences) == 2 * len(DATASETS)
    assert all(sentence in text for sentence in sentences)


def test_what_is_said_beside_a_route_is_greyed():
    report = build_report(selective_inputs())
    greyed = re.findall(r'<span class="caveats">(.*?)</span>', render_page(report))
    assert len(greyed) == len(report["cascade_verdicts"])
    assert all("includes zero: not shown on rows that had no say" in caveats for caveats in greyed)


def test_datasets_that_share_their_reasons_are_one_line():
    page = rendered(rehearsal=True)
    assert page.count('<li class="verdict not_publishable">') == 2  # one a cascade, both datasets in it
    assert "intents and areas, because:" in Reader(page).text


def test_a_missing_fallback_leaves_the_other_cascade_standing():
    gap = MissingPartition("areas", OTHER_FALLBACK, "never run")
    failed = PartitionVerdict("intents", OTHER_FALLBACK, Gate.ONE_MODEL.value, False, True, "two models answered.")
    page = rendered(missing=(gap,), verdicts=(failed,))
    assert "2 route" in Reader(page).text and "2 not publishable" in Reader(page).text
    assert f"Accuracy of {PRIMARY} then {OTHER_FALLBACK}" not in page
    assert f"Accuracy of {PRIMARY} then {FALLBACK} on areas" in page
