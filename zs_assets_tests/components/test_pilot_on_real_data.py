"""The pilot on real data: BTZSC served on loopback as a Hub, local backends, from download to report."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from zs_assets.protocol.hashing import sha256_bytes
from zs_assets_tests.loopback_hub import LoopbackHub
from zs_assets_tests.sources.real_data import TEST_DATA, needs_real_data

pytestmark = needs_real_data

PUBLISHED = "ec064c52b149de458344cd4b4a44c158460f30b3bbb7fe8b2e7ec72d0abf3ba5"
# Oracle U: K options each get 1/K; the sample is balanced, and the first option is predicted.
UNIFORM = {"agnews": (4, 0.25), "emotiondair": (6, 0.17), "banking77": (72, 0.02)}


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a whole run by the command line, as a user would start it."""
    home = tmp_path_factory.mktemp("pilot")
    assert TEST_DATA is not None
    with LoopbackHub(Path(TEST_DATA) / "hub") as hub:
        environment = {name: value for name, value in os.environ.items() if name not in ("DAGSTER_HOME", "ZS_LAKE")}
        environment |= {"ZS_HOME": str(home), "HF_ENDPOINT": hub.url, "HF_HOME": str(home / "hf")}
        backends = [part for name in ("uniform", "sparrow", "minilm") for part in ("--backend", name)]
        run = subprocess.run(
            [sys.executable, "-m", "zs_assets.cli", "run", "btzsc_pilot", *backends, "--json"],
            env=environment,
            capture_output=True,
            text=True,
        )
    assert run.returncode == 0, run.stdout + run.stderr
    steps = json.loads(run.stdout)["steps"]
    assert {step["state"] for step in steps if step["step"] == "predictions"} == {"made"}
    return home


def metrics(home: Path, dataset: str, backend: str) -> dict:
    folder = home / "lake" / "btzsc_pilot" / "metrics" / f"dataset={dataset}" / f"backend={backend}"
    (row,) = pq.ParquetFile(folder / "part.parquet").read().to_pylist()
    return row


def test_the_manifest_is_the_published_one(pilot: Path):
    assert sha256_bytes((pilot / "lake" / "btzsc_pilot" / "manifest.jsonl").read_bytes()) == PUBLISHED


@pytest.mark.parametrize("dataset", UNIFORM)
def test_the_uniform_control_gives_its_closed_forms(pilot: Path, dataset: str):
    options, accuracy = UNIFORM[dataset]
    row = metrics(pilot, dataset, "uniform")
    assert (row["n"], row["valid"], row["accuracy"]) == (100, 100, accuracy)
    assert row["brier"] == pytest.approx(1 - 1 / options, abs=1e-12)
    assert row["nll"] == pytest.approx(math.log(options), abs=1e-12)
    assert (row["coverage"], row["threshold"]) == (0.0, None)


@pytest.mark.parametrize("backend", ["sparrow", "minilm"])
def test_real_inference_answers_every_example_better_than_the_control(pilot: Path, backend: str):
    for dataset, (_, uniform_accuracy) in UNIFORM.items():
        row = metrics(pilot, dataset, backend)
        assert (row["valid"], row["failures"]) == (100, 0)
        assert row["accuracy"] > uniform_accuracy


def test_the_report_says_how_many_examples_were_excluded(pilot: Path):
    report = json.loads((pilot / "lake" / "btzsc_pilot" / "report" / "report.json").read_text())
    (banking,) = [dataset for dataset in report["datasets"] if dataset["name"] == "banking77"]
    assert banking["excluded"] == {"no_positive_option": 200, "several_positive_options": 0}
    assert banking["source_examples"] == 3080
