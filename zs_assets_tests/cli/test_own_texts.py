"""`zs-assets own-texts` writes a study that loads, reads the file, and keeps its texts private."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from zs_assets.cli import app
from zs_assets.components.catalogue import find_study
from zs_assets.protocol.errors import StudyError
from zs_assets.sources import load_dataset


def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str):
    file = tmp_path / name
    file.write_text(content)
    done = CliRunner().invoke(app, ["own-texts", str(file), str(tmp_path / "studies")])
    assert done.exit_code == 0, done.output
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    graph = find_study("my_choice_order")
    (spec,) = graph.spec.datasets
    return spec, load_dataset(spec, study_question=graph.spec.question, study_folder=graph.folder), done.output


def test_a_file_with_groups(home, tmp_path, monkeypatch):
    spec, dataset, said = written(tmp_path, monkeypatch, "mine.csv", "text,group\nOh no.,random\nNice!,added\n")
    assert spec.private
    assert [(e.text, e.group) for e in dataset.examples] == [("Oh no.", "random"), ("Nice!", "added")]
    assert "2 texts" in said and "zs-assets run my_choice_order" in said


def test_a_file_without_groups(home, tmp_path, monkeypatch):
    _, dataset, said = written(tmp_path, monkeypatch, "it's mine.jsonl", '{"text": "Oh no."}\n')
    assert [(e.text, e.group) for e in dataset.examples] == [("Oh no.", None)]
    assert "all samples are one group" in said


def test_what_is_there_is_never_overwritten(home, tmp_path, monkeypatch):
    written(tmp_path, monkeypatch, "mine.csv", "text\nOh no.\n")
    again = CliRunner().invoke(app, ["own-texts", str(tmp_path / "mine.csv"), str(tmp_path / "studies")])
    assert isinstance(again.exception, StudyError) and "is there already" in str(again.exception)


def test_a_missing_file_is_one_sentence(home, tmp_path):
    done = CliRunner().invoke(app, ["own-texts", str(tmp_path / "nothing.csv"), str(tmp_path)])
    assert isinstance(done.exception, StudyError) and "is no file" in str(done.exception)


@pytest.mark.parametrize("name", ["[red]mine.csv", "mine \U0001f600.csv", 'it\'s "mine".csv', "one\u2028two.csv"])
def test_a_file_of_any_name_is_found_again(home, tmp_path, monkeypatch, name):
    _, dataset, said = written(tmp_path, monkeypatch, name, "text\nOh no.\n")
    assert [example.text for example in dataset.examples] == ["Oh no."]
    assert f"{name}: 1 texts" in said


def test_a_name_that_a_study_reads_as_a_variable_is_refused(home, tmp_path):
    (tmp_path / "${HOME}.csv").write_text("text\nOh no.\n")
    done = CliRunner().invoke(app, ["own-texts", str(tmp_path / "${HOME}.csv"), str(tmp_path / "studies")])
    assert isinstance(done.exception, StudyError) and "rename the file" in str(done.exception)


def test_a_folder_that_cannot_be_written_is_one_sentence(home, tmp_path):
    (tmp_path / "mine.csv").write_text("text\nOh no.\n")
    done = CliRunner().invoke(app, ["own-texts", str(tmp_path / "mine.csv"), str(tmp_path / "mine.csv" / "in")])
    assert isinstance(done.exception, StudyError) and "Name another folder" in str(done.exception)
