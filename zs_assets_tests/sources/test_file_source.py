"""The user's own files: three formats with one meaning, and one sentence for everything that can be wrong."""

from __future__ import annotations

import csv
import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zs_assets.protocol.errors import SourceError, StudyError, ZsAssetsError
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import load_dataset, source_pin

LABELS = {"spam": "Unwanted advertising.", "ham": None, "unused": "Declared, but in no row."}
ROWS = [
    {"id": "a", "text": " Buy, now!\n", "label": "spam"},
    {"id": "b", "text": 'He said "hi"', "label": "ham"},
    {"id": "c", "text": "Grüße\u2028aus Köln", "label": "ham"},
]


def write(path, rows):
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)


def spec_of(name, **source):
    source = {"kind": "file", "path": name, "id_column": "id", "labels": LABELS} | source
    return DatasetSpec.model_validate({"name": "mine", "source": source})


@pytest.fixture
def load(tmp_path):
    return lambda spec: load_dataset(spec, study_question="The study's?", study_folder=tmp_path)


@pytest.fixture
def refusal(load, tmp_path):
    """The sentence a file with this content is refused with."""

    def refusal(content, name="rows.csv", **source):
        if isinstance(content, list):
            write(tmp_path / name, content)
        else:
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ZsAssetsError) as refused:
            load(spec_of(name, **source))
        sentence = str(refused.value)
        assert sentence.endswith(".") and "\n" not in sentence
        return sentence

    return refusal


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
def test_every_format_gives_the_same_examples_with_texts_untouched(load, tmp_path, name):
    write(tmp_path / name, ROWS)
    dataset = load(spec_of(name))
    assert [(e.example_id, e.text, e.target_index) for e in dataset.examples] == [
        ("a", " Buy, now!\n", 0),
        ("b", 'He said "hi"', 1),
        ("c", "Grüße\u2028aus Köln", 1),
    ]
    assert dataset.question.criteria == LABELS
    assert dataset.excluded == {}
    assert dataset.provenance["rows"] == "3"
    assert dataset.provenance["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
def test_a_missing_column_lists_those_there_are(refusal, name):
    sentence = refusal(ROWS, name, text_column="body", label_column="class")
    assert "has no column 'body', 'class', its columns are id, text, label" in sentence


@pytest.mark.parametrize(
    ("name", "place"), [("rows.csv", "row 2 (line 4)"), ("rows.jsonl", "line 2"), ("rows.parquet", "row 2")]
)
def test_the_first_offending_row_is_named(refusal, name, place):
    def with_second(**change):
        return [ROWS[0], ROWS[1] | change, ROWS[2] | change]

    assert f"label 'eggs' in {place}, which is not declared" in refusal(with_second(label="eggs"), name)
    assert f"empty text in {place}" in refusal(with_second(text=" "), name)
    assert f"id 'a' in {place.replace('2', '1', 1).replace('4', '2')} and again in {place}" in refusal(
        [ROWS[0], ROWS[1] | {"id": "a"}], name
    )
    assert f"no id in {place}" in refusal(with_second(id=""), name)


def test_columns_are_only_those_asked_for(load, tmp_path):
    (tmp_path / "rows.csv").write_text("\ufefftext,label\nfirst,x\nsecond,\n", encoding="utf-8")
    dataset = load(spec_of("rows.csv", label_column=None, id_column=None))
    assert [(e.example_id, e.target_index) for e in dataset.examples] == [("0", None), ("1", None)]


def test_whole_number_labels_and_ids_match_their_digits(load, tmp_path):
    write(tmp_path / "rows.jsonl", [{"id": 7, "text": "x", "label": 1}, {"id": 8, "text": "y", "label": 0}])
    dataset = load(spec_of("rows.jsonl", labels={"0": "no", "1": "yes"}))
    assert [(e.example_id, e.target_index) for e in dataset.examples] == [("7", 1), ("8", 0)]


def test_a_long_document_fits_a_csv_field(load, tmp_path):
    write(tmp_path / "rows.csv", [ROWS[0] | {"text": "long " * 100_000}])
    assert len(load(spec_of("rows.csv")).examples[0].text) == 500_000


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        (b"id,text,label\na,caf\xe9,ham\n", "rows.csv", "is not UTF-8"),
        (b'{"id": "a", "text": "caf\xe9", "label": "ham"}\n', "rows.jsonl", "is not UTF-8"),
        ("", "rows.csv", "holds no rows"),
        ("id,text,label\n", "rows.csv", "holds no rows"),
        ("\n", "rows.jsonl", "holds no rows"),
        ("id,text,label\na,x,ham\nb,one, two,ham\n", "rows.csv", "4 fields in row 2 (line 3) and 3 in its header"),
        ('id,text,label\na,"x"y,ham\n', "rows.csv", "not valid csv near line 2"),
        ("id,text,text,label\na,x,y,ham\n", "rows.csv", "two columns named 'text'"),
        ('{"id": "a", "text": "x", "label": "ham"}\n\n{"id": \n', "rows.jsonl", "broken JSON in line 3"),
        ('["a"]\n', "rows.jsonl", "no JSON object in line 1"),
        ('{"id": 1, "text": "x", "label": "ham"}\n{"id": 2, "text": "x"}', "rows.jsonl", "no 'label' in line 2"),
        ('{"id": 1, "text": 5, "label": "ham"}', "rows.jsonl", "has int for a text in line 1"),
        ('{"id": 1, "text": null, "label": "ham"}', "rows.jsonl", "empty text in line 1"),
        ('{"id": 1, "text": "\\ud83d", "label": "ham"}', "rows.jsonl", "half a surrogate pair in the text of line 1"),
        ("not parquet", "rows.parquet", "cannot be read as parquet"),
        ("x", "rows.txt", "ends in '.txt': give a file that ends in .csv, .jsonl, .parquet, .xlsx"),
    ],
)
def test_a_broken_file_is_one_sentence(refusal, content, name, sentence):
    assert sentence in refusal(content, name)


def test_a_missing_file_and_a_folder_are_told_apart(load, tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        load(spec_of("absent.csv"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(SourceError, match="is a folder"):
        source_pin(spec_of("folder.csv"), tmp_path)


def test_a_file_the_user_may_not_read_says_so(load, tmp_path, monkeypatch):
    write(tmp_path / "rows.csv", ROWS)
    monkeypatch.setattr("os.access", lambda path, mode: False)  # as root, no permission bit would do it
    with pytest.raises(SourceError, match="may not be read by this user"):
        load(spec_of("rows.csv"))


def test_another_file_than_the_pinned_one_is_refused_with_both_hashes(refusal, load, tmp_path):
    sentence = refusal(ROWS, sha256="0" * 64)
    digest = hashlib.sha256((tmp_path / "rows.csv").read_bytes()).hexdigest()
    assert digest in sentence and "0" * 64 in sentence
    assert len(load(spec_of("rows.csv", sha256=digest.upper())).examples) == 3


def test_the_pin_follows_data_and_labels(tmp_path):
    write(tmp_path / "rows.csv", ROWS)
    (tmp_path / "labels.yaml").write_text("labels: {spam: s, ham: h}")
    inline, from_file = spec_of("rows.csv"), spec_of("rows.csv", labels=None, labels_file="labels.yaml")
    assert source_pin(inline, tmp_path) == hashlib.sha256((tmp_path / "rows.csv").read_bytes()).hexdigest()
    before = source_pin(from_file, tmp_path)
    (tmp_path / "labels.yaml").write_text("labels: {spam: other, ham: h}")
    assert source_pin(from_file, tmp_path) != before
    (tmp_path / "labels.yaml").unlink()
    with pytest.raises(SourceError, match=r"labels_file of a file source: .*labels.yaml does not exist"):
        source_pin(from_file, tmp_path)


def test_instructions_come_from_the_dataset_then_the_labels_file_then_the_study(load, tmp_path):
    write(tmp_path / "rows.csv", ROWS)
    (tmp_path / "with.yaml").write_text("instructions: The file's?\nlabels: {spam: s, ham: h}")
    (tmp_path / "without.json").write_text('{"labels": {"spam": "s", "ham": "h"}}')
    with_file = spec_of("rows.csv", labels=None, labels_file="with.yaml")
    assert load(with_file.model_copy(update={"instructions": "Mine?"})).question.instructions == "Mine?"
    assert load(with_file).question.instructions == "The file's?"
    assert load(spec_of("rows.csv", labels=None, labels_file="without.json")).question.instructions == "The study's?"


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        ("labels: {yes: a, no: b}", "l.yaml", "label True, which is no text: put it in quotes"),
        ("labels: {a: x, b: 5}", "l.yaml", "describes label 'b' by something that is no text"),
        ("labels: {a: x, b: y, a: z}", "l.yaml", "names 'a' twice"),
        ('{"labels": {"a": "x", "b": "y", "a": "z"}}', "l.json", "names 'a' twice"),
        ("labels: {a: x}", "l.yaml", "declares 1 labels: a choice needs at least two"),
        ("labels: [a, b]", "l.yaml", "no mapping 'labels'"),
        ("criteria: {a: x, b: y}", "l.yaml", "unknown key 'criteria': it takes instructions and labels"),
        ("instructions: 5\nlabels: {a: x, b: y}", "l.yaml", "instructions that are no text"),
        ("labels: {a: x", "l.yaml", "neither valid YAML nor JSON"),
        ("{", "l.json", "neither valid YAML nor JSON"),
        ("- a", "l.yaml", "holds no mapping"),
        (b"labels: {a: caf\xe9, b: y}", "l.yaml", "is not UTF-8"),
    ],
)
def test_a_broken_labels_file_is_one_sentence(refusal, tmp_path, content, name, sentence):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert sentence in refusal(ROWS, labels=None, labels_file=name)


def test_labels_are_declared_in_exactly_one_place(load, tmp_path):
    write(tmp_path / "rows.csv", ROWS)
    with pytest.raises(StudyError, match="neither labels nor labels_file"):
        load(spec_of("rows.csv", labels=None))
    with pytest.raises(StudyError, match="both labels and labels_file"):
        load(spec_of("rows.csv", labels_file="l.yaml"))
    with pytest.raises(SourceError, match=r"absent.yaml does not exist: correct the path"):
        load(spec_of("rows.csv", labels=None, labels_file="absent.yaml"))
