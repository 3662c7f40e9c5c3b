import asyncio
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zs_assets.backends.base import CallFault, RawReply, Remedy
from zs_assets.backends.recording import NATIVE_COLUMNS
from zs_assets.backends.registry import build_backend
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.hashing import prompt_hash, sha256_bytes, sha256_text
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation
from zs_assets.storage.schemas import PREDICTIONS
from zs_assets_tests.backends.asking import ask_all, example, question, shipped

ASKED = question({"label_000": "It is about rain.", "label_001": "It is about bread."})


def recorded(path, format="native", **settings):
    return shipped(
        "uniform", name="old_run", interface="recorded", settings={"path": str(path), "format": format} | settings
    )


def planned(name="e1", text="Wet day.", target: int | None = 0, order=(0, 1), repeat=0):
    return Presentation(example(text, name, target), order, order_index=0, repeat=repeat)


def native_row(name="e1", text="Wet day.", **changes: Any) -> dict[str, Any]:
    row = {
        "presentation_id": f"{name}/o0r0",
        "example_id": name,
        "text_sha256": sha256_text(text),
        "target_index": 0,
        "order_index": 0,
        "repeat": 0,
        "option_order": [0, 1],
        "outcome": "ok",
        "probabilities": [0.9, 0.11],
        "choice": "label_000",
        "predicted_index": 0,
        "confidence": 0.8,
        "top_probability": 0.9,
        "model_requested": "jev-latest",
        "model_resolved": "jev-1.13.0",
        "attempts": 1,
        "input_tokens": 40,
        "output_tokens": 0,
        "latency_ms": 123.456,
        "run_date": "2026-09-18T10:00:00Z",
        "raw": '{"model":"jev-1.13.0","é":1.00}',
        "prompt_hash": prompt_hash(ASKED),
    }
    return row | changes


def write_native(folder, *rows, parts="dataset=weather/backend=jev"):
    path = folder / parts / "part.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=PREDICTIONS), path)
    return path


def jev_row(name="e1", **changes: Any) -> dict[str, Any]:
    row = {
        "experiment_id": "btzsc-pilot-v1",
        "backend": "jev",
        "model_requested": "jev-latest",
        "model_resolved": "jev-1.13.0",
        "dataset": "weather",
        "example_id": name,
        "target_index": 0,
        "predicted_index": 0,
        "labels": ["It is about rain.", "It is about bread."],
        "probabilities": [0.9, 0.1],
        "latency_seconds": 0.25,
        "input_tokens": 40,
        "error": None,
    }
    return row | changes


def write_lines(path, *rows):
    path.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows), encoding="utf-8")
    return path


def fault(spec, presentation):
    with pytest.raises(CallFault) as caught:
        ask_all(build_backend(spec, ASKED), [presentation])
    return caught.value


def test_the_columns_a_replay_needs_are_columns_of_the_predictions_table():
    assert set(NATIVE_COLUMNS) <= set(PREDICTIONS.names)


@pytest.mark.parametrize("point_at", ["file", "folder"])
def test_a_native_run_is_replayed_as_recorded(tmp_path, point_at):
    file = write_native(tmp_path, native_row())
    [(reply, reading)] = ask_all(build_backend(recorded(file if point_at == "file" else tmp_path), ASKED), [planned()])
    assert reading.outcome is Outcome.OK and reading.probabilities == (0.9, 0.11)
    assert (reading.choice, reading.confidence, reading.model) == ("label_000", 0.8, "jev-1.13.0")
    assert (reading.input_tokens, reading.output_tokens) == (40, 0)
    body = json.loads(reply.body)
    assert body["raw"] == '{"model":"jev-1.13.0","é":1.00}'
    assert (body["latency_ms"], body["run_date"]) == (123.456, "2026-09-18T10:00:00Z")


@pytest.mark.parametrize("outcome", ["invalid", "refusal", "no_call", "not_applicable"])
def test_failed_outcomes_of_a_recording_stay_what_they_were(tmp_path, outcome):
    write_native(tmp_path, native_row(outcome=outcome, probabilities=None, choice=None, problem="because"))
    [(_, reading)] = ask_all(build_backend(recorded(tmp_path), ASKED), [planned()])
    assert reading.outcome.value == outcome and reading.problem == "because" and reading.probabilities is None


def test_a_recorded_error_is_an_error_again_not_a_reply(tmp_path):
    write_native(tmp_path, native_row(outcome="error", probabilities=None, problem="http_529"))
    error = fault(recorded(tmp_path), planned())
    assert (error.kind, error.remedy, error.detail) == ("recorded_error", Remedy.GIVE_UP, "http_529")


@pytest.mark.parametrize("probabilities", [[0.5, 0.3], [1.0], [0.5, float("nan")], [1.5, -0.5]])
def test_a_row_stored_as_ok_is_checked_again(tmp_path, probabilities):
    write_native(tmp_path, native_row(probabilities=probabilities))
    [(_, reading)] = ask_all(build_backend(recorded(tmp_path), ASKED), [planned()])
    assert reading.outcome is Outcome.INVALID and reading.problem


@pytest.mark.parametrize("missing", [planned("e2"), planned(repeat=1), planned(order=(1, 0))])
def test_what_was_not_recorded_is_given_up_on_by_that_name(tmp_path, missing):
    write_native(tmp_path, native_row())
    error = fault(recorded(tmp_path), missing)
    assert (error.kind, error.remedy) == ("not_recorded", Remedy.GIVE_UP)


@pytest.mark.parametrize("other", [planned(text="Other text."), planned(target=1)])
@pytest.mark.parametrize("format", ["native", "jev_benchmarks"])
def test_a_row_of_another_text_or_gold_label_stops_the_run(tmp_path, format, other):
    write_lines(tmp_path / "manifest.jsonl", {"example_id": "e1", "text_sha256": sha256_text("Wet day.")})
    path = write_native(tmp_path, native_row()) if format == "native" else write_lines(tmp_path / "p.jsonl", jev_row())
    error = fault(recorded(path, format), other)
    assert (error.kind, error.remedy) == ("recording_mismatch", Remedy.STOP) and "the manifest" in error.detail


def test_a_recording_under_another_prompt_is_refused_before_any_call(tmp_path):
    write_native(tmp_path, native_row(prompt_hash="0" * 64))
    with pytest.raises(BackendUnavailable, match="another prompt"):
        ask_all(build_backend(recorded(tmp_path), ASKED), [])


def test_one_example_recorded_with_other_labels_stops_the_run(tmp_path):
    path = write_lines(tmp_path / "p.jsonl", jev_row(), jev_row("e2", labels=["It is about rain.", "Snow"]))
    error = fault(recorded(path, "jev_benchmarks"), planned("e2"))
    assert (error.kind, error.remedy) == ("recording_mismatch", Remedy.STOP) and "line 2" in error.detail


def test_two_replies_to_one_example_are_refused_and_settings_choose_between_them(tmp_path):
    write_native(tmp_path, native_row())
    write_native(tmp_path, native_row(probabilities=[0.2, 0.8]), parts="dataset=weather/backend=gliner")
    with pytest.raises(BackendUnavailable, match=r"two replies to example e1.*settings\.backend"):
        ask_all(build_backend(recorded(tmp_path), ASKED), [])
    [(_, reading)] = ask_all(build_backend(recorded(tmp_path, backend="gliner"), ASKED), [planned()])
    assert reading.probabilities == (0.2, 0.8)


def test_a_table_changed_after_its_receipt_is_refused(tmp_path):
    path = write_native(tmp_path, native_row())
    receipt = path.with_name("receipt.json")
    receipt.write_text(json.dumps({"sha256": sha256_bytes(path.read_bytes())}))
    ask_all(build_backend(recorded(path), ASKED), [planned()])
    write_native(tmp_path, native_row(probabilities=[0.0, 1.0]))
    with pytest.raises(BackendUnavailable, match="changed after"):
        ask_all(build_backend(recorded(path), ASKED), [])


def test_a_jev_benchmarks_run_is_replayed_line_for_line(tmp_path):
    path = write_lines(tmp_path / "p.jsonl", jev_row(), jev_row("e2", backend="gliner"))
    spec = recorded(path, "jev_benchmarks", backend="jev")
    [(reply, reading)] = ask_all(build_backend(spec, ASKED), [planned()])
    assert reply.body == path.read_text().splitlines()[0]
    assert reading.outcome is Outcome.OK and reading.probabilities == (0.9, 0.1)
    assert (reading.model, reading.input_tokens) == ("jev-1.13.0", 40)
    assert fault(spec, planned("e2")).kind == "not_recorded"


def test_labels_recorded_in_another_order_answer_that_order_aligned_to_the_declared(tmp_path):
    reversed_row = jev_row(labels=["It is about bread.", "It is about rain."], target_index=1)
    spec = recorded(write_lines(tmp_path / "p.jsonl", reversed_row), "jev_benchmarks")
    [(_, reading)] = ask_all(build_backend(spec, ASKED), [planned(order=(1, 0))])
    assert reading.probabilities == (0.1, 0.9)
    assert fault(spec, planned()).kind == "not_recorded"


def test_a_failed_row_is_superseded_by_the_resumed_one_but_counts_where_it_stands_alone(tmp_path):
    failed = {"probabilities": [], "error": "TimeoutError: slow", "model_resolved": "unknown"}
    rows = [jev_row(**failed), jev_row(), jev_row("e2", **failed)]
    spec = recorded(write_lines(tmp_path / "p.jsonl", *rows), "jev_benchmarks")
    [(_, reading)] = ask_all(build_backend(spec, ASKED), [planned()])
    assert reading.outcome is Outcome.OK
    assert (fault(spec, planned("e2")).kind, fault(spec, planned("e2")).remedy) == ("recorded_error", Remedy.GIVE_UP)


def test_a_reply_their_validation_rejected_is_invalid(tmp_path):
    row = jev_row(probabilities=[0.4, 0.4], error="ValueError: probabilities sum to 0.8")
    spec = recorded(write_lines(tmp_path / "p.jsonl", row), "jev_benchmarks")
    [(_, reading)] = ask_all(build_backend(spec, ASKED), [planned()])
    assert reading.outcome is Outcome.INVALID and "0.8" in reading.problem


@pytest.mark.parametrize(
    ("content", "why"),
    [("{\n", "line 1 is not a JSON object"), ('{"a": 1}\n', "no example_id"), ("", "nothing to replay")],
)
def test_a_file_that_is_no_recording_is_one_sentence(tmp_path, content, why):
    path = tmp_path / "p.jsonl"
    path.write_text(content)
    with pytest.raises(BackendUnavailable, match=why):
        ask_all(build_backend(recorded(path, "jev_benchmarks"), ASKED), [])


def test_a_native_path_that_is_missing_or_no_table_is_one_sentence(tmp_path):
    (tmp_path / "x.parquet").write_text("no parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "y.parquet")
    for path, why in (("none", "not there"), ("x.parquet", "no Parquet file"), ("y.parquet", "it lacks")):
        with pytest.raises(BackendUnavailable, match=why):
            ask_all(build_backend(recorded(tmp_path / path), ASKED), [])


def test_wrong_settings_name_the_key():
    with pytest.raises(StudyError, match=r"settings\.format"):
        build_backend(recorded("x", "csv"), ASKED)


@pytest.mark.parametrize("format", ["native", "jev_benchmarks"])
@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"outcome":[]}',
        '{"outcome":"ok","probabilities":{"a":1}}',
        '{"labels":[[]],"probabilities":[1]}',
    ],
)
def test_no_body_makes_reading_raise(format, body):
    reading = build_backend(recorded("x", format), ASKED).read(RawReply(body), planned())
    assert reading.outcome is Outcome.INVALID and reading.problem


def test_opening_again_reads_the_recording_again_instead_of_doubling_it(tmp_path):
    write_native(tmp_path, native_row())
    backend = build_backend(recorded(tmp_path), ASKED)
    for _ in range(2):
        assert len(ask_all(backend, [planned()])) == 1
    assert asyncio.run(backend.ask(planned())).body and len(backend.identity()["recording_sha256"]) == 64
