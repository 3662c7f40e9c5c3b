"""The sentence at the top of the page: for the author before a publication, for readers after it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from zs_assets.protocol.names import Gate
from zs_assets.report import MissingPartition, PartitionVerdict, build_report, render_page
from zs_assets_tests.report.order_inputs import order_inputs

NEVER_RUN = MissingPartition("feelings", "old", "feelings x old has no predictions: run `zs-assets run ordered`.")
STALE = MissingPartition("feelings", "new", "feelings x new was made for another prompt_hash")


def passed(*backends: str) -> tuple[PartitionVerdict, ...]:
    return tuple(
        PartitionVerdict("feelings", backend, Gate.MAX_INVALID_RATE.value, True, True, "none is invalid")
        for backend in backends
    )


def answer(**changes: Any) -> dict[str, Any]:
    return build_report(order_inputs(**changes))["publication"]


def test_its_author_is_told_what_to_run():
    said = answer(verdicts=passed("new", "still"), missing=(NEVER_RUN,))["sentence"]
    assert said.startswith("Publishable: every gate of the 2 partitions that were run passes; 1 partition never run is")
    assert said.endswith("Read the terms of Still and Mover 2.0 first, then run `zs-assets publish ordered`.")


def test_its_readers_are_told_what_passed_and_no_command():
    inputs = order_inputs(verdicts=passed("new", "still"), missing=(NEVER_RUN,), public=True)
    report = build_report(inputs)
    said = "Published: every gate of the 2 partitions that were run passes; 1 partition never run is left out."
    assert report["publication"] == {"possible": True, "sentence": said}
    assert report["missing"][0]["reason"] == "feelings x old was not run"
    assert "zs-assets run" not in json.dumps(report) and "zs-assets publish" not in render_page(report)


def test_one_partition_is_told_in_the_singular():
    said = answer(verdicts=passed("new"), public=True)["sentence"]
    assert said == "Published: every gate of the one partition that was run passes."


@pytest.mark.parametrize("public", [False, True])
def test_what_must_be_run_again_is_never_called_published(public: bool):
    found = answer(verdicts=passed("new"), missing=(STALE,), public=public)
    assert found == {"possible": False, "sentence": "Not publishable: feelings x new must be run again."}


def test_the_head_of_the_page_counts_the_systems_that_were_measured():
    page = render_page(build_report(order_inputs(verdicts=passed("new", "still"))))
    assert "2 of 5 systems measured" in page
    everybody = render_page(build_report(order_inputs(verdicts=passed("still", "tiny", "new", "old", "noisy"))))
    assert "5 systems" in everybody and "systems measured" not in everybody
