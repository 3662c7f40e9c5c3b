"""`zs-assets own-texts` writes a study that loads, reads the file, and keeps its texts private."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from zs_assets.cli import app
from zs_assets.components.catalogue import find_study, load_study
from zs_assets.components.own_study import TEMPLATE
from zs_assets.protocol.errors import StudyError, ZsAssetsError
from zs_assets.sources import load_dataset


def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, *options: str):
    file = tmp_path / name
    file.write_text(content)
    done = CliRunner().invoke(app, ["own-texts", str(file), str(tmp_path / "studies"), *options])
    assert done.exit_code == 0, done.output
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    graph = find_study(options[options.index("--name") + 1] if "--name" in options else "my_choice_order")
    (spec,) = graph.spec.datasets
    return spec, load_dataset(spec, study_question=graph.spec.question, study_folder=graph.folder), done.output


def test_a_file_with_groups(home, tmp_path, monkeypatch):
    spec, dataset, said = written(tmp_path, monkeypatch, "mine.csv", "text,group\nOh no.,random\nNice!,added\n")
    assert spec.private
    assert [(e.text, e.group) for e in dataset.examples] == [("Oh no.", "random"), ("Nice!", "added")]
    assert (
        "2 rows, 2 distinct texts" in said
        and "random (1), added (1)" in said
        and "zs-assets run my_choice_order" in said
    )


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
    assert f"{name}: 1 row, 1 distinct text;" in said


def test_a_name_that_a_study_reads_as_a_variable_is_refused(home, tmp_path):
    (tmp_path / "${HOME}.csv").write_text("text\nOh no.\n")
    done = CliRunner().invoke(app, ["own-texts", str(tmp_path / "${HOME}.csv"), str(tmp_path / "studies")])
    assert isinstance(done.exception, StudyError) and "rename the file" in str(done.exception)


def test_a_folder_that_cannot_be_written_is_one_sentence(home, tmp_path):
    (tmp_path / "mine.csv").write_text("text\nOh no.\n")
    done = CliRunner().invoke(app, ["own-texts", str(tmp_path / "mine.csv"), str(tmp_path / "mine.csv" / "in")])
    assert isinstance(done.exception, StudyError) and "Name another folder" in str(done.exception)


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("Text\nOh no.\n", [], "has no column 'text'; it has 'Text': rename it, or give --text-column Text."),
        ("id,body\n1,Oh no.\n", [], "has no column 'text'; it has 'id', 'body': rename the one meant"),
        ("text;group\nOh no, no;random\n", [], "looks separated by ;: save it with commas."),
        ("text\tgroup\nOh no\trandom\n", [], "looks separated by tabs: save it with commas."),
        ("text,group\nOh no.,random\n ,random\n", [], "has an empty text in row 2 (line 3)"),
        ("text,group\nOh no.,random\nNice!,\n", [], "has no group in row 2 (line 3)"),
        ("text,group\nOh no.,Random Draw\n", [], "write it in small letters"),
        ("text,Groups\nOh no.,random\n", ["--group-column", "group"], "it has 'Groups': rename it"),
        ("text\nOh no.\n", ["--name", "My study"], "is no name of a study"),
        ("text\nOh no.\n", ["--name", "choice_order"], "comes with the package"),
        ("text\n", [], "holds no rows"),
    ],
)
def test_a_file_that_cannot_be_asked_about_is_refused_before_anything_is_written(
    home, tmp_path, content, options, sentence
):
    (tmp_path / "mine.csv").write_text(content)
    done = CliRunner().invoke(app, ["own-texts", str(tmp_path / "mine.csv"), str(tmp_path / "studies"), *options])
    assert isinstance(done.exception, ZsAssetsError) and sentence in str(done.exception)
    assert not (tmp_path / "studies").exists()


def test_columns_and_the_name_may_be_others(home, tmp_path, monkeypatch):
    options = ("--text-column", "What: they said", "--group-column", "Part", "--name", "second_try")
    _, dataset, said = written(tmp_path, monkeypatch, "mine.csv", "What: they said,Part\nOh no.,random\n", *options)
    assert [(e.text, e.group) for e in dataset.examples] == [("Oh no.", "random")]
    assert "zs-assets run second_try" in said


def test_copies_of_a_text_are_counted_once_and_a_near_group_column_is_named(home, tmp_path, monkeypatch):
    _, _, said = written(tmp_path, monkeypatch, "mine.csv", "text,Group\nOh no.,a\nOh no.,a\nNice!,b\n")
    assert "3 rows, 2 distinct texts; no column `group` (if 'Group' is it, give --group-column Group)" in said
    assert "A publication will hold no order figures" in said


def test_a_small_group_is_announced_before_anything_is_paid(home, tmp_path, monkeypatch):
    rows = "".join(f"Text {i}.,{'random' if i else 'added'}\n" for i in range(12))
    _, _, said = written(tmp_path, monkeypatch, "mine.csv", f"text,group\n{rows}")
    assert "A publication will leave out added: fewer than 10 distinct texts." in said


def test_every_file_gets_seeds_of_its_own(home, tmp_path, monkeypatch):
    found = []
    for name in ("one", "two"):
        written(tmp_path, monkeypatch, "mine.csv", "text\nOh no.\n", "--name", name)
        spec = find_study(name).spec
        found += [spec.plan.orders.seed, spec.plan.shuffle_seed, spec.analyses.order_sensitivity.seed]
    assert len(set(found)) == 6
    shipped = load_study(TEMPLATE).spec
    seeds = {shipped.plan.orders.seed, shipped.plan.shuffle_seed, shipped.analyses.order_sensitivity.seed}
    assert not seeds & set(found)
