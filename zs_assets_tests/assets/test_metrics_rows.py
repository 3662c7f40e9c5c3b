"""Metrics of examples that are asked more than once: copies of an example are no further evidence."""

from __future__ import annotations

from typing import Any

import pytest

from zs_assets.assets.metrics_assets import EACH_EXAMPLE_IS_EVIDENCE, metrics_row
from zs_assets.protocol.names import AssetName
from zs_assets_tests.assets.scripted_orders import CALL_USD, GOOD, ORDERS, ScriptedOrders

SAMPLES = 4
ONCE = {"orders": "fixed", "repeats": 1}


def measured(study: ScriptedOrders) -> dict[str, Any]:
    """The row of a system that is wrong, in its label and its vector, about the first sample alone."""
    wrong = {**GOOD, "vector": [0.3, 0.5, 0.2], "choice": "anger"}
    study.answers = lambda name, before: wrong if name.startswith("0/") else GOOD
    assert study.measure().success
    attempts = study.lake.read("orders", AssetName.ATTEMPTS, dataset="texts", backend="talker")
    return metrics_row(study.graph, "texts", "talker", study.partition, attempts)


@pytest.fixture
def rotated(home, tmp_path, instance, monkeypatch) -> dict[str, Any]:
    return measured(ScriptedOrders(tmp_path / "rotated", instance, monkeypatch, SAMPLES))


@pytest.fixture
def once(home, tmp_path, instance, monkeypatch) -> dict[str, Any]:
    return measured(ScriptedOrders(tmp_path / "once", instance, monkeypatch, SAMPLES, plan=ONCE))


def test_six_orders_of_an_example_give_no_calibration_and_no_coverage(rotated):
    assert {name: rotated[name] for name in EACH_EXAMPLE_IS_EVIDENCE} == dict.fromkeys(EACH_EXAMPLE_IS_EVIDENCE)


def test_means_over_presentations_counts_and_costs_stay(rotated):
    assert (rotated["n"], rotated["valid"], rotated["attempts"]) == (SAMPLES * ORDERS,) * 3
    assert rotated["accuracy"] == 3 / 4
    assert rotated["macro_f1"] is not None and rotated["latency_p50_ms"] is not None
    right, wrong = 0.5**2 + 0.3**2 + 0.2**2, 0.7**2 + 0.5**2 + 0.2**2
    assert rotated["brier"] == pytest.approx((3 * right + wrong) / 4)
    assert rotated["cost_usd"] == pytest.approx(SAMPLES * ORDERS * CALL_USD)


def test_examples_asked_once_keep_calibration_and_coverage(once):
    assert once["n"] == SAMPLES
    assert once["ece"] is not None and once["coverage"] is not None and once["accepted"] is not None
