"""The page: complete, self-contained, and deaf to hostile text."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from typing import Any

from zs_assets.protocol.names import Gate
from zs_assets.report import MissingPartition, PartitionVerdict, build_report, render_page
from zs_assets_tests.report.report_inputs import LABELS, report_inputs, study, systems

HOSTILE = "<script>alert('x')</script><img src=http://evil.example/x onerror=alert(1)>\"'&"


class Reader(HTMLParser):
    """Tags with their attributes, and the visible text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def page(**changes: Any) -> str:
    return render_page(build_report(report_inputs(**changes)))


def test_the_page_opens_with_verdicts_then_charts_tables_and_provenance():
    found = re.findall(r'<section id="(\w+)"', page())
    assert found == ["verdicts", "charts", "tables", "provenance"]


def test_every_sentence_of_the_report_is_on_the_page():
    report = build_report(report_inputs())
    text = Reader(render_page(report)).text
    for entry in [*report["verdicts"], *report["remarks"]]:
        assert entry["sentence"] in text


def test_every_figure_is_drawn_and_states_its_convention():
    drawn = page()
    captions = dict(re.findall(r'<figure id="(\w+)".*?<figcaption>(.*?)</figcaption>', drawn, re.DOTALL))
    assert list(captions) == ["differences", "reliability", "coverage", "latency", "completeness"]
    assert "300 resamples, seed 20260917" in captions["differences"]
    assert "floor 1e-12" in captions["differences"]
    assert "10 equal-width bins" in captions["reliability"]
    assert "1/20" in captions["coverage"]


def test_hosted_and_local_latencies_never_share_a_panel():
    labels = re.findall(r'aria-label="(Latency of [^"]*)"', page())
    assert len(labels) == 2 * len(LABELS)
    assert all(("jev" in label) == ("hosted mode" in label) for label in labels)


def test_weak_intervals_are_hollow():
    drawn = page()
    hollow = re.findall(r'class="interval protocol hollow"', drawn)
    rows = build_report(report_inputs())
    weak = [
        r
        for r in [*rows["paired_differences"], *rows["dataset_means"]]
        if r["weak"] and r["scheme"] == "target_stratified" and r["metric"] in ("macro_f1", "accuracy", "brier", "nll")
    ]
    assert weak and len(hollow) == len(weak)


def test_failed_gates_and_missing_partitions_lead_the_table_of_gates():
    failed = PartitionVerdict("topics", "jev", Gate.ONE_PROMPT.value, False, True, "two prompts were sent.")
    passed = PartitionVerdict("topics", "sparrow", Gate.ONE_PROMPT.value, True, True, "one prompt.")
    gap = MissingPartition("emotions", "jev", "never run")
    text = Reader(page(verdicts=(passed, failed), missing=(gap,))).text
    assert text.index("topics x jevone_promptfailed") < text.index("emotions x jevmissing") < text.index("one prompt.")


def test_hostile_text_stays_text():
    hostile_study = study(title=HOSTILE, question=HOSTILE, description=HOSTILE, limitations=[HOSTILE])
    renamed = {name: spec.model_copy(update={"title": HOSTILE, "terms": HOSTILE}) for name, spec in systems().items()}
    drawn = page(
        study=hostile_study,
        systems=renamed,
        versions={HOSTILE: HOSTILE},
        identities={("topics", "jev"): {HOSTILE: HOSTILE}},
        missing=(MissingPartition("topics", "jev", HOSTILE),),
        verdicts=(PartitionVerdict("emotions", "jev", HOSTILE, False, True, HOSTILE),),
    )
    reader = Reader(drawn)
    assert HOSTILE in reader.text
    assert {tag for tag, _ in reader.tags} & {"script", "img", "iframe", "object"} == set()
    assert not [name for _, attributes in reader.tags for name in attributes if name.startswith("on")]


def test_nothing_is_loaded_from_anywhere():
    terms = {n: s.model_copy(update={"terms": "See https://vendor.example/legal."}) for n, s in systems().items()}
    drawn = page(systems=terms)
    reader = Reader(drawn)
    assert "https://vendor.example/legal" in reader.text
    loading = [
        a.get(k) or "" for _, a in reader.tags for k in ("src", "href", "srcset", "data", "action", "xlink:href")
    ]
    assert [value for value in loading if value and not value.startswith(("#", "data:,"))] == []
    style = drawn[drawn.index("<style>") : drawn.index("</style>")]
    assert "url(" not in style and "@import" not in style
    assert "default-src 'none'" in drawn


def test_a_rehearsal_is_announced_before_anything_else():
    text = Reader(page(rehearsal=True)).text
    assert "REHEARSAL." in text
    assert text.index("REHEARSAL.") < text.index("Verdicts")
    assert "REHEARSAL." not in Reader(page()).text


def test_limitations_terms_and_hashes_are_printed():
    text = Reader(page()).text
    for part in (
        "The vectors are random",
        "Check the vendor's terms before publishing",
        "Read the vendor's legal page",
    ):
        assert part in text
    assert "c" * 64 in text and "a" * 64 in text


def test_a_report_of_nine_partitions_renders_in_well_under_three_seconds():
    inputs = report_inputs()
    began = time.perf_counter()
    render_page(build_report(inputs))
    assert time.perf_counter() - began < 2.0
