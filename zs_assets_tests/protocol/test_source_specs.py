"""Sources as a study's YAML names them: what is private, and what a later version of the models leaves unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from zs_assets.protocol.question import Option, Question
from zs_assets.protocol.source_specs import DemoSource, FileSource
from zs_assets.protocol.study import DatasetSpec, StudySpec

OWN = {"kind": "file", "path": "texts.csv", "labels": {"x": None, "y": None}}
QUESTION = Question("Which?", (Option("x", None), Option("y", None)))


def dataset(source, **entry) -> DatasetSpec:
    return DatasetSpec.model_validate({"name": "texts", "source": source, **entry})


def protocol_of(source) -> str:
    spec = StudySpec(name="s", question="Which?", backends=("uniform",), datasets=(dataset(source),))
    return spec.protocol_hash(spec.datasets[0], QUESTION, "manifest")


def test_own_texts_are_private_unless_the_study_says_otherwise():
    assert dataset(OWN).private
    assert dataset(OWN, private=True).private
    assert not dataset(OWN, private=False).private


@pytest.mark.parametrize("source", ["demo", "btzsc", {"kind": "demo", "name": "topics"}, {"kind": "banking77"}])
def test_published_texts_are_not_private(source):
    assert not dataset(source).private


def test_a_setting_left_at_its_default_is_the_protocol_of_a_study_that_never_named_it():
    assert protocol_of(OWN) == protocol_of(OWN | {"group_column": None})
    assert protocol_of(OWN) != protocol_of(OWN | {"group_column": "group"})
    assert protocol_of("demo") == protocol_of({"kind": "demo", "name": "texts", "labels": None})
    assert protocol_of("demo") != protocol_of({"kind": "demo", "name": "texts", "labels": "other"})


@given(column=st.none() | st.text(min_size=1), labels=st.none() | st.from_regex(r"[a-z0-9][a-z0-9_]*", fullmatch=True))
def test_a_source_comes_back_from_its_dump(column, labels):
    own, demo = FileSource(path="a.csv", group_column=column), DemoSource(name="topics", labels=labels)
    assert FileSource.model_validate(own.model_dump()) == own
    assert DemoSource.model_validate_json(demo.model_dump_json()) == demo
    assert ("group_column" in own.model_dump()) == (column is not None)


def test_labels_of_a_demo_set_are_a_name_and_no_path():
    with pytest.raises(ValidationError, match="labels"):
        DemoSource(name="topics", labels="../topics")
