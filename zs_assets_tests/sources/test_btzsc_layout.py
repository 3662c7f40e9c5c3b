"""BTZSC's pair layout: what is decoded, what is left out and counted, and what is refused with the row named."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zs_assets.protocol.errors import SourceError, StudyError
from zs_assets.protocol.source_specs import BTZSC_REVISION
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import load_dataset, source_pin
from zs_assets.sources.btzsc import CONFIGS
from zs_assets_tests.loopback_hub import LoopbackHub

HYPOTHESES = ["about a", "about b", "about c"]


def rows_of(*examples: tuple[str, list[int]], hypotheses: list[str] = HYPOTHESES) -> dict[str, list]:
    """Columns of examples (text, one 0/1 per hypothesis), as BTZSC stores them."""
    pairs = [(t, h, y) for t, labels in examples for h, y in zip(hypotheses, labels, strict=True)]
    text, hypothesis, labels = (list(column) for column in zip(*pairs, strict=True))
    return {"text": text, "hypothesis": hypothesis, "labels": labels, "dataset_id": ["agnews"] * len(text)}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load columns as the local copy of `agnews`."""
    monkeypatch.setenv("ZS_BTZSC_DIR", str(tmp_path))
    (tmp_path / "agnews").mkdir()

    def load(columns, config="agnews"):
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, tmp_path / "agnews" / "test-00000-of-00001.parquet")
        spec = DatasetSpec.model_validate({"name": "d", "source": {"kind": "btzsc", "config": config}})
        return load_dataset(spec, study_question="Which?", study_folder=None)

    return load


def ids_and_targets(dataset):
    return [(example.example_id, example.text, example.target_index) for example in dataset.examples]


def test_pairs_become_examples_in_file_order(load):
    dataset = load(rows_of((" x\n", [0, 1, 0]), ("y", [1, 0, 0])))
    assert ids_and_targets(dataset) == [("agnews:0", " x\n", 1), ("agnews:1", "y", 0)]
    assert dataset.question.instructions == "Which?"
    assert dataset.question.criteria == {"label_000": "about a", "label_001": "about b", "label_002": "about c"}


def test_left_out_examples_are_counted_and_keep_their_number(load):
    dataset = load(rows_of(("x", [0, 0, 0]), ("y", [1, 1, 0]), ("z", [0, 0, 1]), ("w", [0, 0, 0])))
    assert ids_and_targets(dataset) == [("agnews:2", "z", 2)]
    assert dataset.excluded == {"no_positive_option": 2, "several_positive_options": 1}


def test_adjacent_examples_with_one_text_stay_two_examples(load):
    dataset = load(rows_of(("x", [0, 1, 0]), ("x", [1, 0, 0]), ("y", [0, 0, 1]), ("y", [0, 0, 1])))
    assert [example.target_index for example in dataset.examples] == [1, 0, 2, 2]
    assert len(dataset.question) == 3


def test_a_single_example_is_a_dataset(load):
    assert ids_and_targets(load(rows_of(("x", [0, 0, 1])))) == [("agnews:0", "x", 2)]


def test_dictionary_encoded_columns_and_narrow_labels_are_as_good_as_plain_ones(load):
    columns = rows_of(("x", [0, 1, 0]), ("y", [1, 0, 0]))
    plain = load(columns)
    table = pa.table(columns)
    encoded = pa.table(
        {
            "text": table["text"].dictionary_encode(),
            "hypothesis": table["hypothesis"].cast(pa.large_string()),
            "labels": table["labels"].cast(pa.int8()),
        }
    )
    assert load(encoded).examples == plain.examples


def shortened(columns, drop):
    return {name: [v for row, v in enumerate(values) if row != drop] for name, values in columns.items()}


def changed(columns, name, row, value):
    return {**columns, name: [value if r == row else v for r, v in enumerate(columns[name])]}


TWO = rows_of(("x", [0, 1, 0]), ("y", [1, 0, 0]))


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"text": ["x"], "label": [1]}, "lacks the column hypothesis, labels, it has text, label"),
        (shortened(TWO, 5), "5 rows are no multiple of its 3 hypotheses"),
        (shortened(rows_of(("x", [0, 1, 0]), ("y", [1, 0, 0]), ("z", [1, 0, 0])), 4), "breaks its layout in row 5"),
        (changed(TWO, "hypothesis", 4, "about c"), "breaks its layout in row 5"),
        (changed(TWO, "text", 5, "z"), "breaks its layout in row 6"),
        (changed(TWO, "labels", 3, 2), "has label 2 in row 4, only 0 and 1"),
        (changed(TWO, "labels", 3, None), "has no labels in row 4"),
        (changed(TWO, "text", 2, None), "has no text in row 3"),
        (changed(TWO, "dataset_id", 2, "imdb"), "holds rows of 'imdb'"),
        (changed(TWO, "labels", 0, "yes") | {"labels": ["yes"] * 6}, "columns of another type"),
        (rows_of(("x", [1]), ("y", [1]), hypotheses=["about a"]), "one hypothesis per text"),
        (rows_of(("x", [1, 0, 0]), hypotheses=["a", "b", "b"]), "repeats a hypothesis within its first example"),
        ({name: values[:0] for name, values in TWO.items()}, "columns of another type|holds no rows"),
    ],
)
def test_rows_off_the_layout_are_refused_with_the_row(load, columns, sentence):
    with pytest.raises(SourceError, match=sentence) as refusal:
        load(columns)
    assert "'agnews'" in str(refusal.value)


def test_a_file_that_is_no_parquet_is_refused(load, tmp_path):
    load(TWO)
    (tmp_path / "agnews" / "test-00000-of-00001.parquet").write_bytes(b"<html>not found</html>")
    spec = DatasetSpec.model_validate({"name": "agnews", "source": "btzsc"})
    with pytest.raises(SourceError, match="cannot be read as parquet"):
        load_dataset(spec, study_question="Which?", study_folder=None)


def test_an_unknown_configuration_lists_all_22(load):
    assert len(set(CONFIGS)) == 22
    with pytest.raises(StudyError) as refusal:
        load(TWO, config="ag_news")
    assert set(CONFIGS) <= set(re.findall(r"\w+", str(refusal.value)))


def test_a_revision_that_can_move_is_no_pin():
    source = {"kind": "btzsc", "config": "agnews", "revision": "main"}
    with pytest.raises(StudyError, match="'main' of 'agnews' can move"):
        source_pin(DatasetSpec.model_validate({"name": "d", "source": source}), None)


def test_a_local_copy_without_the_configuration_does_not_fall_back_to_a_download(load):
    with pytest.raises(SourceError, match=r"holds no imdb/test-\*\.parquet"):
        load(TWO, config="imdb")


AGNEWS = DatasetSpec.model_validate({"name": "agnews", "source": "btzsc"})


@pytest.fixture
def no_local_copy(monkeypatch):
    monkeypatch.delenv("ZS_BTZSC_DIR", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


def test_offline_without_a_cached_file_names_both_ways_out(no_local_copy, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SourceError, match=r"offline.*HF_ENDPOINT.*ZS_BTZSC_DIR") as refusal:
        load_dataset(AGNEWS, study_question="Which?", study_folder=None, cache_dir=tmp_path)
    assert str(refusal.value).count("\n") == 0


def test_a_hub_without_the_file_names_both_ways_out(no_local_copy, monkeypatch, tmp_path):
    (tmp_path / "root/datasets/btzsc/btzsc" / BTZSC_REVISION).mkdir(parents=True)
    with LoopbackHub(tmp_path / "root") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(SourceError, match=r"does not give agnews/.*404.*HF_ENDPOINT.*ZS_BTZSC_DIR"):
            load_dataset(AGNEWS, study_question="Which?", study_folder=None, cache_dir=tmp_path / "cache")


def test_an_unreachable_hub_names_both_ways_out(no_local_copy, monkeypatch, tmp_path):
    with LoopbackHub(tmp_path) as hub:
        closed = hub.url
    monkeypatch.setenv("HF_ENDPOINT", closed)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client waits 23 s in all between its attempts
    with pytest.raises(SourceError, match=r"no usable answer.*HF_ENDPOINT.*ZS_BTZSC_DIR"):
        load_dataset(AGNEWS, study_question="Which?", study_folder=None, cache_dir=tmp_path / "cache")
