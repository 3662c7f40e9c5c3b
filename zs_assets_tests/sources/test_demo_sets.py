"""The demo sets, read from the checkout and from a built package alike."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import Dataset, load_dataset, source_pin

CHECKOUT = Path(__file__).parents[2]
FAMILIES = ("frustration", "disapproval", "sadness", "confusion", "anxiety", "trust", "positive")
PINS_OF_ALL = """
import json
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import source_pin
from zs_assets.sources.demo import demo_folder
sources = dict.fromkeys(("topics", "emotions", "intents", "reactions"))
sources["reaction_checks"] = "reactions_published"
specs = [
    DatasetSpec.model_validate({"name": name, "source": {"kind": "demo", "name": name, "labels": labels}})
    for name, labels in sources.items()
]
print(json.dumps([str(demo_folder()), [source_pin(spec, None) for spec in specs]]))
"""


def demo(name: str, labels: str | None = None) -> DatasetSpec:
    source = "demo" if labels is None else {"kind": "demo", "name": name, "labels": labels}
    return DatasetSpec.model_validate({"name": name, "source": source})


def load(name: str, labels: str | None = None) -> Dataset:
    return load_dataset(demo(name, labels), study_question="The study's?", study_folder=None)


@pytest.mark.parametrize(("name", "rows", "labels"), [("topics", 100, 4), ("emotions", 110, 6), ("intents", 120, 24)])
def test_every_demo_set_loads_with_its_own_question(name, rows, labels):
    dataset = load(name)
    assert len(dataset.examples) == rows
    assert len(dataset.question) == labels
    assert {example.target_index for example in dataset.examples} == set(range(labels))
    assert dataset.question.instructions.endswith("?") and dataset.question.instructions != "The study's?"
    assert dataset.examples[0].example_id == f"{name}-001"


def test_an_unknown_demo_set_lists_those_there_are():
    with pytest.raises(StudyError, match=r"no demo set 'topic': use one of .*, intents, .*, topics"):
        source_pin(demo("topic"), None)


def test_labels_that_no_demo_set_has_list_those_there_are():
    with pytest.raises(StudyError, match=r"no labels 'reaction_checks': set `labels` .* to .* or reactions or"):
        load("reaction_checks")
    with pytest.raises(StudyError, match="no labels 'feelings'"):
        source_pin(demo("reactions", "feelings"), None)


def test_reactions_are_a_random_group_and_one_of_added_coverage():
    examples = load("reactions").examples
    texts = {name: [e.text for e in examples if e.group == name] for name in ("random", "added_coverage")}
    assert {name: (len(found), len(set(found))) for name, found in texts.items()} == {
        "random": (45, 42),
        "added_coverage": (15, 15),
    }
    assert len(set(texts["random"]) & set(texts["added_coverage"])) == 1
    assert load("reactions").provenance["distinct_texts"] == "56"


def test_copies_of_a_text_have_one_label():
    labels: dict[str, set[int | None]] = {}
    for example in load("reactions").examples:
        labels.setdefault(example.text, set()).add(example.target_index)
    assert len(labels) == 56 and all(len(found) == 1 for found in labels.values())


def test_added_coverage_holds_the_rarer_families():
    dataset = load("reactions")
    added = {FAMILIES[e.target_index or 0] for e in dataset.examples if e.group == "added_coverage"}
    assert added == {"sadness", "anxiety", "trust", "disapproval"}
    assert {e.target_index for e in dataset.examples} == set(range(7))


def test_both_wordings_of_the_families_ask_about_the_same_options_in_the_same_order():
    own, published = load("reactions").question, load("reactions", "reactions_published").question
    assert own.ids == published.ids == tuple(FAMILIES)
    assert own.instructions != published.instructions
    assert all(own.criteria[family] != published.criteria[family] for family in FAMILIES)
    assert load("reactions").examples == load("reactions", "reactions_published").examples


def test_another_prompt_is_another_pin():
    assert source_pin(demo("reactions"), None) != source_pin(demo("reactions", "reactions_published"), None)


def test_the_repeat_check_has_two_clear_sentences_and_a_mixed_one():
    dataset = load("reaction_checks", "reactions_published")
    assert [FAMILIES[e.target_index or 0] for e in dataset.examples[:2]] == ["positive", "confusion"]
    assert len(dataset.examples) == 3 and {e.group for e in dataset.examples} == {None}


@pytest.mark.parametrize("name", ["topics", "emotions", "intents", "reactions", "reaction_checks"])
def test_every_row_says_how_hard_it_is_and_is_numbered_in_file_order(name):
    with (CHECKOUT / "data" / "demo" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["difficulty"] for row in rows} == {"easy", "hard"}
    assert [row["id"] for row in rows] == [f"{name}-{number:03d}" for number in range(1, len(rows) + 1)]


def test_a_built_package_brings_the_demo_sets_along(tmp_path):
    pytest.importorskip("setuptools")
    for name in ("setup.py", "pyproject.toml", "LICENSE"):
        shutil.copy(CHECKOUT / name, tmp_path)
    (tmp_path / "README.md").write_text("zs-assets")  # setuptools reads it; its content is no matter here
    shutil.copytree(CHECKOUT / "data" / "demo", tmp_path / "data" / "demo")
    for package in ("", "protocol", "sources"):
        folder = tmp_path / "zs_assets" / package
        folder.mkdir(exist_ok=True)
        for module in (CHECKOUT / "zs_assets" / package).glob("*.py"):
            shutil.copy(module, folder)
    build = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", "built"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "built")}
    found = subprocess.run(
        [sys.executable, "-c", PINS_OF_ALL], cwd=tmp_path / "built", env=environment, check=True, capture_output=True
    )
    folder, pins = json.loads(found.stdout)
    assert Path(folder) == tmp_path / "built" / "zs_assets" / "sources" / "demo_data"
    specs = [demo(name) for name in ("topics", "emotions", "intents", "reactions")]
    specs.append(demo("reaction_checks", "reactions_published"))
    assert pins == [source_pin(spec, None) for spec in specs]
