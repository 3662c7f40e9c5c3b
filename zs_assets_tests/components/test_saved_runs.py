"""A saved run of another tool answers for a backend, through the same gates, and comes out again as it went in."""

from __future__ import annotations

import json

import dagster as dg
import pytest

from zs_assets.assets.gated_reading import load_gated
from zs_assets.components.catalogue import find_study, load_study
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.run_export import export_run
from zs_assets.components.run_import import import_run
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.hashing import prompt_hash
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.question import Option, Question
from zs_assets_tests.janus_rows import AUTOMATION, fallback_rows, jev_rows, lines, write_run
from zs_assets_tests.small_study import LABELS, TEXTS, write_small_study
from zs_assets_tests.sources.real_data import needs_real_data

PROMPT = prompt_hash(Question("What is the text about?", tuple(Option(*item) for item in LABELS.items())))


def row(number, **changes):
    text, gold = TEXTS[number]
    known = {
        "id": number,
        "text": f"first: {text}",
        "gold_label": gold,
        "model_id": "model-7",
        "prediction": "rain",
        "confidence": 0.9,
        "probabilities": {"bread": 0.05, "rain": 0.94},
        "margin_top2": None,
        "entropy_norm": None,
        "ratio_top2": None,
        "input_tokens": 10,
        "latency_ms": 12.5,
        "prompt_hash": PROMPT,
        "run_date": "2026-09-17T11:19:56Z",
    }
    return known | changes


@pytest.fixture
def loop(home, small_study, instance: dg.DagsterInstance) -> PartitionLoop:
    loop = PartitionLoop(small_study, instance)
    loop.observe()
    assert loop.prepare(["first"]) == ["first"]
    return loop


def take(loop, path):
    return import_run(loop.workspace, loop.graph, "first", "sparrow", path, "janus", model="model-7")


def test_an_imported_run_passes_the_same_gates_without_a_call(loop, tmp_path):
    rows = [row(i) for i in range(12)]
    assert take(loop, write_run(tmp_path / "run.jsonl", rows)).rows == 12
    assert loop.run(["sparrow"], ["first"]).failed == []
    table = load_gated(loop.lake, loop.graph, "first", "sparrow").predictions
    assert set(table["model_resolved"].to_pylist()) == {"model-7"}
    assert table["probabilities"].to_pylist() == [[0.94, 0.05]] * 12
    assert set(table["confidence"].to_pylist()) == {0.9}
    assert set(table["latency_ms"].to_pylist()) == {12.5}


def test_a_run_that_breaks_a_gate_is_refused_and_locks_nothing(loop, tmp_path):
    rows = [row(i, probabilities={"bread": 0.5, "rain": 0.9}) for i in range(12)]
    with pytest.raises(StudyError, match="fails gate max_invalid_rate: 12 of 12"):
        take(loop, write_run(tmp_path / "run.jsonl", rows))
    assert not loop.workspace.places.imports("small").exists()
    take(loop, write_run(tmp_path / "corrected.jsonl", [row(i) for i in range(12)]))
    assert loop.run(["sparrow"], ["first"]).failed == []


def test_a_run_of_one_system_is_not_taken_as_anothers(loop, tmp_path):
    path = write_run(tmp_path / "run.jsonl", [row(i) for i in range(12)])
    with pytest.raises(StudyError, match=r"answered by model-7, backend 'sparrow' is sparrow-nano.*--model model-7"):
        import_run(loop.workspace, loop.graph, "first", "sparrow", path, "janus")
    two = write_run(tmp_path / "two.jsonl", [row(i, model_id=f"model-{7 + i % 2}") for i in range(12)])
    with pytest.raises(StudyError, match="answered by model-7 and model-8"):
        take(loop, two)
    take(loop, path)
    with pytest.raises(StudyError, match="already answers first as sparrow: it cannot answer as uniform too"):
        import_run(loop.workspace, loop.graph, "first", "uniform", path, "janus", model="model-7")


def test_a_label_only_backend_takes_no_run_with_probabilities(home, instance, tmp_path):
    labelled = {"chat": {"interface": "chat_tools", "title": "c", "deployment": "hosted", "model": "model-7"}}
    changes = {"systems": labelled, "backends": ["uniform", "chat"], "analyses": {}}
    loop = PartitionLoop(load_study(write_small_study(tmp_path / "study", **changes)), instance)
    loop.prepare(["first"])
    path = write_run(tmp_path / "run.jsonl", [row(i) for i in range(12)])
    with pytest.raises(StudyError, match="holds probabilities, which backend 'chat' never gives"):
        import_run(loop.workspace, loop.graph, "first", "chat", path, "janus")
    bare = write_run(tmp_path / "bare.jsonl", [row(i, probabilities=None, confidence=None) for i in range(12)])
    assert import_run(loop.workspace, loop.graph, "first", "chat", bare, "janus").rows == 12


@pytest.mark.parametrize(
    ("rows", "refusal"),
    [
        ([row(i) for i in range(11)], r"1 examples are missing from the file \(11\)"),
        ([row(i) for i in range(12)] + [row(0, id=77)], r"1 examples are not in the sample \(77\)"),
        ([row(i, text="other") for i in range(12)], "has another text than example 0"),
        ([row(i, gold_label="bread") for i in range(12)], "another gold label than example 0"),
        ([row(i, gold_label="snow") for i in range(12)], "one that is none of the options"),
        ([row(i, prompt_hash="0" * 64) for i in range(12)], "all its rows were recorded with other labels"),
    ],
)
def test_a_run_of_another_sample_is_refused_in_one_sentence(loop, tmp_path, rows, refusal):
    with pytest.raises((StudyError, BackendUnavailable), match=refusal) as refused:
        take(loop, write_run(tmp_path / "run.jsonl", rows))
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)
    assert not loop.workspace.places.imports("small").exists()


@pytest.mark.parametrize(
    ("rows", "refusal"),
    [
        ([row(i) for i in range(11)] + [row(11, prompt_hash="0" * 64)], "one file holds two prompts"),
        ([row(i) for i in range(12)] + [row(3)], "repeats run.jsonl line 4: two replies to example 3"),
        ([{k: v for k, v in row(0).items() if k != "gold_label"}], "has no gold_label: it is no row of a Janus run"),
        ([row(0, id=None)], "has an id that is no number or text"),
        ([row(0, text="half \ud800")], "or a text that is none"),
    ],
)
def test_a_run_that_cannot_be_read_one_way_is_refused(loop, tmp_path, rows, refusal):
    with pytest.raises(BackendUnavailable, match=refusal):
        take(loop, write_run(tmp_path / "run.jsonl", rows))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"confidence": 1.2}, "confidence 1.2 is no number in [0,1]"),
        ({"confidence": "0.9"}, "confidence '0.9' is no number in [0,1]"),
        ({"prediction": "snow"}, "prediction 'snow' is not among the options"),
        ({"prediction": None, "probabilities": None}, "prediction None is not among the options"),
    ],
)
def test_a_broken_row_is_an_invalid_outcome_with_its_problem(home, instance, tmp_path, changes, problem):
    patient = load_study(write_small_study(tmp_path / "study", gates={"max_invalid_rate": 0.5}))
    loop = PartitionLoop(patient, instance)
    loop.prepare(["first"])
    rows = [row(i) for i in range(12)]
    rows[0] |= changes
    take(loop, write_run(tmp_path / "run.jsonl", rows))
    assert loop.run(["sparrow"], ["first"]).failed == []
    table = load_gated(loop.lake, loop.graph, "first", "sparrow").predictions
    assert table["outcome"].to_pylist() == ["invalid"] + ["ok"] * 11
    assert table["problem"].to_pylist() == [problem] + [None] * 11
    assert table["predicted_index"][0].as_py() is None  # a failure predicts nothing


def test_negative_tokens_make_a_cost_unknown_never_negative(loop, tmp_path):
    rows = [row(i, input_tokens=-5, cost_usd=-1.0, latency_ms=-3.0) for i in range(12)]
    take(loop, write_run(tmp_path / "run.jsonl", rows))
    assert loop.run(["sparrow"], ["first"]).failed == []
    table = load_gated(loop.lake, loop.graph, "first", "sparrow").predictions
    assert table["input_tokens"].null_count == table["latency_ms"].null_count == 12
    assert min(cost for cost in [*table["cost_usd"].to_pylist(), 0.0] if cost is not None) >= 0


def test_two_runs_are_never_mixed_in_one_partition(loop, tmp_path):
    first = write_run(tmp_path / "run.jsonl", [row(i) for i in range(12)])
    take(loop, first)
    take(loop, first)  # the same file again is no second run
    other = write_run(tmp_path / "other.jsonl", [row(i, latency_ms=1.0) for i in range(12)])
    with pytest.raises(StudyError, match="already has an imported run with other content"):
        take(loop, other)


def test_a_cell_with_replies_of_its_own_takes_no_import(loop, tmp_path):
    loop.run(["uniform"], ["first"])
    with pytest.raises(StudyError, match="first x uniform already has 12 replies that were asked for"):
        path = write_run(tmp_path / "run.jsonl", [row(i) for i in range(12)])
        import_run(loop.workspace, loop.graph, "first", "uniform", path, "janus", model="model-7")


@pytest.fixture
def automation(home, monkeypatch):
    monkeypatch.setenv("ZS_BANKING77", str(AUTOMATION / "banking77_test.csv"))
    monkeypatch.setenv("ZS_WOS", str(AUTOMATION / "wos_1000.jsonl"))
    monkeypatch.setenv("ZS_AUTOMATION_LABELS", str(AUTOMATION))
    return find_study("selective_automation")


@needs_real_data
def test_the_500_real_replies_come_out_as_they_went_in(automation, instance, tmp_path):
    loop = PartitionLoop(automation, instance)
    loop.prepare(["banking77"])
    for backend, rows in (("jev", jev_rows()), ("deepseek", fallback_rows())):
        path = write_run(tmp_path / f"{backend}.jsonl", rows)
        import_run(loop.workspace, automation, "banking77", backend, path, "janus", model=rows[0]["model_id"])
    assert loop.run(["jev", "deepseek"], ["banking77"]).failed == []
    metrics = loop.lake.read(automation.name, AssetName.METRICS, dataset="banking77", backend="jev").to_pylist()[0]
    assert metrics["accuracy"] == 389 / 500
    assert metrics["cost_usd"] == pytest.approx(0.050722, abs=5e-7)
    assert round(metrics["latency_p50_ms"]) == 296
    out = tmp_path / "out"
    export_run(loop.workspace, automation, "banking77", "jev", out)
    export_run(loop.workspace, automation, "banking77", "deepseek", out)
    assert (out / "banking77.jsonl").read_bytes() == (AUTOMATION / "banking77_500.jsonl").read_bytes()
    assert json.loads((out / "banking77.labels.json").read_text()) == json.loads(
        (AUTOMATION / "banking77.labels.json").read_text()
    )
    statistics = ("margin_top2", "entropy_norm", "ratio_top2")
    for given, exported in zip(jev_rows(), lines(out / "jev_banking77.jsonl"), strict=True):
        assert list(exported)[:14] == list(given)
        assert {k: v for k, v in exported.items() if k not in (*statistics, "cost_usd", "pricing_tier")} == {
            k: v for k, v in given.items() if k not in statistics
        }
        p1, p2 = sorted(given["probabilities"].values())[:-3:-1]
        assert (exported["margin_top2"], exported["ratio_top2"]) == (p1 - p2, p1 / max(p2, 0.005))
    exported = lines(out / "deepseek_banking77.jsonl")
    assert exported == fallback_rows()
    assert sum(row["cost_usd"] for row in exported) > 0


def test_a_choice_below_the_maximum_is_counted_and_kept(loop, tmp_path):
    rows = [row(i) for i in range(12)]
    rows[0] |= {"prediction": "bread"}  # its vector says rain
    rows[1] |= {"prediction": "bread", "probabilities": {"bread": 0.5, "rain": 0.5}}  # a tie passes
    take(loop, write_run(tmp_path / "run.jsonl", rows))
    assert loop.run(["sparrow"], ["first"]).failed == []
    metrics = loop.lake.read("small", AssetName.METRICS, dataset="first", backend="sparrow").to_pylist()[0]
    assert (metrics["choice_below_maximum_count"], metrics["invalid_count"]) == (1, 0)
