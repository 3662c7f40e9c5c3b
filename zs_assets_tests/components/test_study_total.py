"""What a study will ask and cost, before the first call: nothing unknown is counted as zero."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from zs_assets.backends.systems import Limits
from zs_assets.cli import app
from zs_assets.collection import estimate
from zs_assets.components.catalogue import load_study
from zs_assets.components.study_estimate import study_estimate
from zs_assets.components.study_total import duration, known_cost_words, planned_total, planned_total_sentence
from zs_assets_tests.collection.order_plan import EMOTIONS, planned
from zs_assets_tests.collection.scripted import SPEC
from zs_assets_tests.small_study import study_yaml, write_small_study


def cell(backend: str, dataset: str = "d", **changes: Any) -> dict[str, Any]:
    row = {"dataset": dataset, "backend": backend, "calls": 42_000, "input_tokens": 10_000_000}
    return row | {"cost_usd": 3.31, "seconds": 3_240.0} | changes


LOCAL = {"input_tokens": None, "cost_usd": 0.0, "seconds": None}
TWELVE = [
    *(cell(f"hosted{i}") for i in range(10)),
    *(cell(f"unpriced{i}", input_tokens=10_000_000, cost_usd=None, seconds=0.0) for i in range(2)),
]


def test_the_published_study_in_one_sentence():
    assert planned_total_sentence(TWELVE) == (
        "504,000 calls of 12 systems, about 120.0 M input tokens, at most 33.10 USD (2 systems without a known price), "
        "at least 9 h at the providers' limits"
    )


def test_an_unknown_price_makes_the_total_unknown_and_names_the_system():
    total = planned_total(TWELVE)
    assert total.cost_usd is None
    assert total.known_usd == pytest.approx(33.1)
    assert total.unpriced == ("unpriced0", "unpriced1")
    assert planned_total(TWELVE[:10]).cost_usd == pytest.approx(33.1)


def test_without_any_known_price_no_figure_is_given():
    sentence = planned_total_sentence([cell("a", cost_usd=None), cell("b", **LOCAL)])
    assert "cost unknown (1 system without a known price)" in sentence
    assert "USD" not in sentence


def test_local_systems_cost_nothing_and_have_no_limit():
    assert planned_total_sentence([cell("a", **LOCAL), cell("b", **LOCAL)]) == "84,000 calls of 2 systems, no cost"


def test_a_system_on_two_datasets_is_one_system_and_its_times_add_up():
    total = planned_total([cell("a", "first"), cell("a", "second")])
    assert (total.calls, total.systems, total.seconds) == (84_000, ("a",), 6_480.0)


def test_a_system_that_the_option_cap_rules_out_is_not_called():
    capped = cell("capped", calls=0, input_tokens=0, cost_usd=0.0, seconds=0.0)
    assert planned_total([cell("a"), capped]).systems == ("a",)


@pytest.mark.parametrize(("usd", "said"), [(33.1, "33.10"), (33.101, "33.11"), (0.00341, "0.0035"), (0.5, "0.5000")])
def test_at_most_is_rounded_up(usd: float, said: str):
    assert f"at most {said} USD" in planned_total_sentence([cell("a", cost_usd=usd)])


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(45.9, "45 s"), (600, "10 min"), (5_000, "83 min"), (32_400, "9 h"), (33_900, "9.4 h"), (400_000, "4.6 days")],
)
def test_at_least_is_rounded_down(seconds: float, said: str):
    assert duration(seconds) == said


def test_estimating_504000_presentations_takes_a_moment():
    presentations = planned(1_000)
    started = time.process_time()
    rows = [
        {"dataset": "d", "backend": f"s{index}", **vars(estimate(SPEC, EMOTIONS, presentations))} for index in range(12)
    ]
    assert time.process_time() - started < 3.0  # measured 0.1 s
    assert planned_total(rows).calls == 504_000


def test_the_time_is_that_of_the_limits_one_system_after_the_other():
    spec = SPEC.model_copy(update={"limits": Limits(requests_per_second=20)})
    row = vars(estimate(spec, EMOTIONS, planned(10)))
    rows = [{"dataset": "d", "backend": name, **row} for name in ("a", "b")]
    assert planned_total(rows).seconds == pytest.approx(2 * 420 / 20)


def test_the_estimate_command_ends_with_the_total(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_small_study(tmp_path / "studies" / "small", backends=["uniform", "jev"], analyses={})
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    shown = CliRunner().invoke(app, ["estimate", "small"])
    assert shown.exit_code == 0, shown.output
    assert "48 calls of 2 systems" in shown.output
    told = json.loads(CliRunner().invoke(app, ["estimate", "small", "--json"]).output)
    assert told["total"]["calls"] == sum(row["calls"] for row in told["rows"]) == 48


def test_a_dataset_is_estimated_by_its_own_plan(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = study_yaml()["attributes"]["datasets"]
    first["plan"] = {"orders": {"kind": "rotations", "seed": 1}, "repeats": 3}
    graph = load_study(write_small_study(tmp_path / "studies" / "small", datasets=[first, second], analyses={}))
    calls = {row["dataset"]: row["calls"] for row in study_estimate(graph, ["uniform"], [])}
    assert calls == {"first": 12 * 2 * 6, "second": 12}, "two options: two orders, asked twice as often"


def test_calls_already_received_are_said_and_never_more_than_are_planned():
    rows = [cell("a", calls=2_580, received=2_580), cell("b", calls=2_580, received=0)]
    assert planned_total_sentence(rows).startswith("5,160 calls of 2 systems (2,580 already received), about")
    assert planned_total([cell("a", calls=10, received=30)]).received == 10
    assert planned_total_sentence([cell("a", **LOCAL, calls=1)]) == "1 call of 1 system, no cost"


def test_a_total_of_unknown_prices_alone_is_unknown_and_no_zero():
    assert known_cost_words(planned_total([cell("a", cost_usd=None)])) == "unknown"
    assert known_cost_words(planned_total([cell("a", cost_usd=None), cell("b", cost_usd=1.5)])) == "1.5000 and unknown"
    assert known_cost_words(planned_total([cell("a", **LOCAL)])) == "0.0000"
