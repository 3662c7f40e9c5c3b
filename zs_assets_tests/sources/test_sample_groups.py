"""Groups of a sample: from a column to the frozen manifest, and without a trace where there are none."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.hashing import sha256_json
from zs_assets.protocol.manifest_format import manifest_hash, manifest_jsonl
from zs_assets.protocol.question import Option, Question
from zs_assets.protocol.source_specs import DemoSource, FileSource
from zs_assets.protocol.study import DatasetSpec, Sample
from zs_assets.sources import load_dataset
from zs_assets.sources.base import make_example, repeated_texts
from zs_assets.sources.sampling import draw
from zs_assets.storage.examples import examples_of, examples_table, in_current_schema
from zs_assets.storage.schemas import EXAMPLES

QUESTION = Question("Which?", (Option("spam", "Unwanted."), Option("ham", None)))
ROWS = [
    ("a", "Buy, now!", "spam", "random"),
    ("b", "See you at six.", "ham", "random"),
    ("c", "Buy, now!", "spam", "added_coverage"),
    ("d", "Buy,  now!", "spam", "random"),
]


@pytest.fixture
def load(tmp_path):
    """The dataset of these rows, with its group column read unless said otherwise."""

    def load(rows=ROWS, **source):
        with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("id", "text", "label", "group"), *rows])
        labels = {option.id: option.description for option in QUESTION.options}
        entry = {"kind": "file", "path": "rows.csv", "id_column": "id", "group_column": "group", "labels": labels}
        spec = DatasetSpec.model_validate({"name": "mine", "source": entry | source})
        return load_dataset(spec, study_question="Which?", study_folder=tmp_path)

    return load


def with_group(group):
    return [ROWS[0], (*ROWS[1][:3], group), *ROWS[2:]]


def test_every_row_keeps_its_group(load):
    assert [example.group for example in load().examples] == ["random", "random", "added_coverage", "random"]
    assert [example.group for example in load(group_column=None).examples] == [None] * 4


def test_the_name_of_every_sample_together_is_no_group(load):
    with pytest.raises(SourceError, match=r"group 'all' in row 2 \(line 3\), which means every sample"):
        load(with_group("all"))


def test_a_row_of_no_group_is_refused_where_it_stands(load):
    with pytest.raises(SourceError, match=r"no group in row 2 \(line 3\): fill column 'group' or drop group_column"):
        load(with_group(""))


@pytest.mark.parametrize("name", ["Random", "added coverage", "random ", "_x", "a/b", "ä"])
def test_a_group_is_named_in_small_letters_digits_and_underscores(load, name):
    with pytest.raises(SourceError, match=r"in row 2 \(line 3\): write it in small letters"):
        load(with_group(name))


def test_a_missing_group_column_lists_those_there_are(load):
    with pytest.raises(SourceError, match=r"no column 'cohort', its columns are id, text, .*group_column"):
        load(group_column="cohort")


def test_one_text_under_several_ids_is_as_many_examples(load):
    dataset = load()
    assert [example.example_id for example in dataset.examples] == ["a", "b", "c", "d"]
    assert dataset.examples[0].text_sha256 == dataset.examples[2].text_sha256
    assert dataset.excluded == {}
    assert dataset.provenance["rows"] == "4" and dataset.provenance["distinct_texts"] == "3"


def test_texts_that_differ_only_by_white_space_are_different_texts_and_are_counted(load):
    dataset = load()
    assert dataset.examples[0].text_sha256 != dataset.examples[3].text_sha256
    assert dataset.provenance["distinct_texts_but_for_white_space"] == "2"
    assert set(load(ROWS[:2]).provenance) == {"path", "sha256", "rows"}


@given(st.lists(st.text(alphabet="ab \n\u00a0", min_size=1), min_size=1))
def test_counts_of_texts_are_left_out_exactly_where_nothing_repeats(texts):
    counts = repeated_texts([make_example(str(number), text, None) for number, text in enumerate(texts)])
    assert counts.get("distinct_texts", str(len(texts))) == str(len(set(texts)))
    bare = {tuple(text.split()) for text in texts}
    assert counts.get("distinct_texts_but_for_white_space", str(len(set(texts)))) == str(len(bare))


@pytest.mark.parametrize("kind", ["uniform", "balanced", "stratified"])
def test_a_draw_keeps_groups_and_does_not_look_at_them(kind):
    grouped = [make_example(str(i), f"text {i}", i % 2, ("random", "added")[i % 3 == 0]) for i in range(60)]
    plain = [replace(example, group=None) for example in grouped]
    sample = Sample.model_validate({"kind": kind, "size": 20, "seed": 7})
    drawn = draw(grouped, sample, 2)
    assert [replace(example, group=None) for example in drawn] == list(draw(plain, sample, 2))
    assert all(example in grouped for example in drawn)


def test_the_manifest_names_the_group_of_every_example(load):
    lines = [json.loads(line) for line in manifest_jsonl("d", "t", load().examples, QUESTION).splitlines()]
    assert [line["sample_group"] for line in lines] == ["random", "random", "added_coverage", "random"]


def test_a_moved_example_is_another_manifest(load):
    moved = [replace(load().examples[0], group="added_coverage"), *load().examples[1:]]
    assert manifest_hash("d", "t", moved, QUESTION) != manifest_hash("d", "t", load().examples, QUESTION)


def test_a_manifest_without_groups_holds_the_keys_of_the_published_one(load):
    line = json.loads(manifest_jsonl("d", "t", load(group_column=None).examples, QUESTION).splitlines()[0])
    published = ["dataset", "example_id", "labels", "option_ids", "target_index", "task", "text", "text_sha256"]
    assert list(line) == published


def test_settings_that_are_not_made_leave_no_trace_in_a_protocol():
    """What a study without groups was hashed by before there were any."""
    plain = FileSource(path="a.csv", labels={"x": None, "y": None})
    assert sha256_json(plain.model_dump(mode="json")) == sha256_json(
        {
            "kind": "file",
            "path": "a.csv",
            "text_column": "text",
            "label_column": "label",
            "id_column": None,
            "labels": {"x": None, "y": None},
            "labels_file": None,
            "sha256": None,
        }
    )
    assert DemoSource(name="topics").model_dump() == {"kind": "demo", "name": "topics"}
    grouped = plain.model_copy(update={"group_column": "group"})
    assert grouped.model_dump()["group_column"] == "group"
    assert FileSource.model_validate(grouped.model_dump()) == grouped


def test_examples_come_back_from_their_table(load):
    for dataset in (load(), load(group_column=None)):
        assert tuple(examples_of(examples_table(dataset.examples))) == dataset.examples


def test_a_manifest_written_before_there_were_groups_is_still_read(load):
    dataset = load(group_column=None)
    old = examples_table(dataset.examples).drop_columns(["sample_group"]).replace_schema_metadata({"question": "{}"})
    assert tuple(examples_of(old)) == dataset.examples
    current = in_current_schema(old)
    assert current.column_names == EXAMPLES.names and current.schema.metadata == {b"question": b"{}"}
    assert pa.concat_tables([current.cast(EXAMPLES), examples_table(load().examples)]).num_rows == 8


def test_columns_may_come_in_another_order(load):
    table = examples_table(load().examples)
    assert tuple(examples_of(table.select(table.column_names[::-1]))) == load().examples
