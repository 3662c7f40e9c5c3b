"""The demo sets, read from the checkout and from a built package alike."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import load_dataset, source_pin

CHECKOUT = Path(__file__).parents[2]
PINS_OF_ALL = """
import json
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import source_pin
from zs_assets.sources.demo import demo_folder
names = ("topics", "emotions", "intents")
specs = [DatasetSpec.model_validate({"name": name, "source": "demo"}) for name in names]
print(json.dumps([str(demo_folder()), [source_pin(spec, None) for spec in specs]]))
"""


def demo(name: str) -> DatasetSpec:
    return DatasetSpec.model_validate({"name": name, "source": "demo"})


@pytest.mark.parametrize(("name", "rows", "labels"), [("topics", 100, 4), ("emotions", 110, 6), ("intents", 120, 24)])
def test_every_demo_set_loads_with_its_own_question(name, rows, labels):
    dataset = load_dataset(demo(name), study_question="The study's?", study_folder=None)
    assert len(dataset.examples) == rows
    assert len(dataset.question) == labels
    assert {example.target_index for example in dataset.examples} == set(range(labels))
    assert dataset.question.instructions.endswith("?") and dataset.question.instructions != "The study's?"
    assert dataset.examples[0].example_id == f"{name}-001"


def test_an_unknown_demo_set_lists_those_there_are():
    with pytest.raises(StudyError, match="no demo set 'topic': use one of emotions, intents, topics"):
        source_pin(demo("topic"), None)


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
    assert pins == [source_pin(demo(name), None) for name in ("topics", "emotions", "intents")]
