"""The pilot's sample from real data, through the real Hub client, byte for byte as published."""

from __future__ import annotations

import hashlib
import json

import pytest

from zs_assets.protocol.manifest_format import manifest_hash, manifest_jsonl
from zs_assets.protocol.source_specs import BTZSC_REVISION
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import load_dataset, source_pin
from zs_assets.sources.sampling import draw
from zs_assets_tests.loopback_hub import LoopbackHub
from zs_assets_tests.sources.real_data import TEST_DATA, needs_real_data

pytestmark = needs_real_data

PUBLISHED_SHA256 = "ec064c52b149de458344cd4b4a44c158460f30b3bbb7fe8b2e7ec72d0abf3ba5"
PILOT = [("agnews", "topic", 20260917), ("emotiondair", "emotion", 20260918), ("banking77", "intent", 20260919)]


def pilot_spec(name: str, task: str, seed: int) -> DatasetSpec:
    sample = {"kind": "balanced", "size": 100, "seed": seed}
    return DatasetSpec.model_validate({"name": name, "source": "btzsc", "task": task, "sample": sample})


@pytest.fixture(scope="module")
def hub():
    with LoopbackHub(TEST_DATA / "hub") as hub:
        yield hub


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("hub_cache")


@pytest.fixture
def load(hub, cache, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.delenv("ZS_BTZSC_DIR", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return lambda spec: load_dataset(spec, study_question="Which?", study_folder=None, cache_dir=cache)


def test_the_pilot_manifest_has_its_published_hash(load):
    manifest = b""
    for entry in PILOT:
        spec = pilot_spec(*entry)
        dataset = load(spec)
        sample = draw(dataset.examples, spec.sample, len(dataset.question))
        part = manifest_jsonl(spec.name, spec.task, sample, dataset.question)
        assert manifest_hash(spec.name, spec.task, sample, dataset.question) == hashlib.sha256(part).hexdigest()
        manifest += part
    published = (TEST_DATA / "pilot" / "published_manifest.jsonl").read_bytes()
    assert manifest == published
    assert hashlib.sha256(manifest).hexdigest() == PUBLISHED_SHA256


def test_a_cached_revision_is_never_asked_for_again(hub, load):
    spec = pilot_spec(*PILOT[1])
    first = load(spec)
    asked = len(hub.requests)
    assert load(spec) == first
    assert hub.requests[asked:] == []


def test_the_offline_cache_serves_without_a_hub(load, monkeypatch):
    spec = pilot_spec(*PILOT[1])
    online = load(spec)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert load(spec) == online


@pytest.mark.parametrize(
    ("config", "valid", "options", "no_positive", "rows"),
    [("agnews", 7600, 4, 0, 30_400), ("emotiondair", 2000, 6, 0, 12_000), ("banking77", 2880, 72, 200, 221_760)],
)
def test_examples_without_a_positive_option_are_left_out_and_counted(load, config, valid, options, no_positive, rows):
    dataset = load(DatasetSpec.model_validate({"name": config, "source": "btzsc"}))
    assert len(dataset.examples) == valid
    assert len(dataset.question) == options
    assert dataset.excluded == {"no_positive_option": no_positive, "several_positive_options": 0}
    assert dataset.provenance["rows"] == str(rows)
    assert dataset.provenance["examples"] == str(valid + no_positive)
    assert dataset.provenance["revision"] == BTZSC_REVISION


@pytest.mark.parametrize(("config", "with_outer_white_space"), [("agnews", 884), ("banking77", 3)])
def test_texts_keep_their_outer_white_space(load, config, with_outer_white_space):
    dataset = load(DatasetSpec.model_validate({"name": config, "source": "btzsc"}))
    assert sum(example.text != example.text.strip() for example in dataset.examples) == with_outer_white_space


def test_decoding_agrees_with_a_plain_loop_over_rows(load):
    import pyarrow.parquet as pq

    file = TEST_DATA / "hub/datasets/btzsc/btzsc" / BTZSC_REVISION / "banking77/test-00000-of-00001.parquet"
    rows = pq.read_table(file, columns=["text", "labels"]).to_pylist()
    expected = []
    for group in range(len(rows) // 72):
        of_group = rows[group * 72 : group * 72 + 72]
        positive = [i for i, row in enumerate(of_group) if row["labels"] == 1]
        if len(positive) == 1:
            expected.append((f"banking77:{group}", of_group[0]["text"], positive[0]))
    dataset = load(DatasetSpec.model_validate({"name": "banking77", "source": "btzsc"}))
    assert [(e.example_id, e.text, e.target_index) for e in dataset.examples] == expected


def test_a_local_copy_gives_the_same_examples_and_is_pinned_by_content(load, monkeypatch):
    spec = pilot_spec(*PILOT[1])
    downloaded = load(spec)
    assert source_pin(spec, None) == BTZSC_REVISION
    monkeypatch.setenv("ZS_BTZSC_DIR", str(TEST_DATA / "hub/datasets/btzsc/btzsc" / BTZSC_REVISION))
    local = load(spec)
    assert local.examples == downloaded.examples
    assert source_pin(spec, None) == local.provenance["sha256"] == downloaded.provenance["sha256"]


def test_the_automation_study_draws_its_published_500_rows():
    declared = json.loads((TEST_DATA / "automation/banking77.labels.json").read_text())["labels"]
    spec = DatasetSpec.model_validate(
        {
            "name": "banking77_500",
            "source": {
                "kind": "file",
                "path": "banking77_test.csv",
                "label_column": "category",
                "labels_file": "banking77.labels.json",
            },
            "sample": {"kind": "uniform", "size": 500, "seed": 42},
        }
    )
    dataset = load_dataset(spec, study_question="Which?", study_folder=TEST_DATA / "automation")
    assert dataset.question.criteria == declared
    assert dataset.question.instructions == "Which banking intent does this customer query express?"
    drawn = draw(dataset.examples, spec.sample, len(dataset.question))
    published = [json.loads(line) for line in (TEST_DATA / "automation/banking77_500.jsonl").read_text().splitlines()]
    gold = [dataset.question.ids[e.target_index] for e in drawn if e.target_index is not None]
    assert [(int(e.example_id), e.text) for e in drawn] == [(row["id"], row["text"]) for row in published]
    assert gold == [row["gold_label"] for row in published]
