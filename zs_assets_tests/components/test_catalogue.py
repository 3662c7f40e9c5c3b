"""Studies as YAML: bad input is one clear sentence that names the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from zs_assets.components.catalogue import all_studies, find_study, load_study
from zs_assets.protocol.errors import StudyError
from zs_assets_tests.small_study import study_yaml, write_small_study


def write(folder: Path, content: dict[str, Any] | str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "defs.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return path


def broken(tmp_path: Path, content: dict[str, Any] | str) -> str:
    with pytest.raises(StudyError) as caught:
        graph = load_study(write(tmp_path / "study", content))
        assert graph.systems  # names of backends are looked up here
    return str(caught.value)


def test_the_shipped_studies_load():
    assert {"demo", "btzsc_pilot"} <= set(all_studies())


def test_an_unknown_key_names_itself_and_the_allowed_ones(tmp_path: Path):
    message = broken(tmp_path, study_yaml(resamples=2000))
    assert "unknown key 'resamples'" in message
    assert "analyses" in message


def test_an_unknown_key_deep_inside_names_the_keys_allowed_there(tmp_path: Path):
    content = study_yaml()
    content["attributes"]["datasets"][0]["source"]["colum"] = "x"
    message = broken(tmp_path, content)
    assert "datasets.0.source.file.colum" in message
    assert "text_column" in message


def test_a_missing_key_is_named(tmp_path: Path):
    content = study_yaml()
    del content["attributes"]["question"]
    assert "key 'question' is missing" in broken(tmp_path, content)


def test_an_unknown_backend_lists_those_there_are(tmp_path: Path):
    message = broken(tmp_path, study_yaml(backends=["uniform", "gpt9"], analyses={}))
    assert "'gpt9'" in message
    assert "uniform" in message


def test_a_pair_outside_the_backends_is_refused(tmp_path: Path):
    content = study_yaml(analyses={"paired_differences": {"pairs": [["jev", "uniform"]]}})
    assert "compares 'jev' in paired_differences, which is none of its backends" in broken(tmp_path, content)


def test_a_dataset_named_twice_is_refused(tmp_path: Path):
    content = study_yaml()
    content["attributes"]["datasets"].append(content["attributes"]["datasets"][0])
    assert "names dataset first twice" in broken(tmp_path, content)


def test_a_sample_kind_without_its_size_is_refused(tmp_path: Path):
    content = study_yaml()
    content["attributes"]["datasets"][0]["sample"] = {"kind": "balanced", "seed": 1}
    assert "sample kind 'balanced' needs a size" in broken(tmp_path, content)


def test_a_file_that_is_no_study_says_what_its_first_line_must_be(tmp_path: Path):
    assert "type: zs_assets.Study" in broken(tmp_path, "just: text")


def test_broken_yaml_is_one_sentence(tmp_path: Path):
    message = broken(tmp_path, "type: [")
    assert "is no valid YAML" in message
    assert "\n" not in message


def test_an_unknown_study_lists_those_there_are():
    with pytest.raises(StudyError, match=r"no study 'demmo': use one of .*demo"):
        find_study("demmo")


def test_studies_of_the_user_are_found_without_touching_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path / "mine" / "small", study_yaml())
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "mine"))
    assert find_study("small").folder == tmp_path / "mine" / "small"


def test_a_study_name_taken_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path / "mine" / "demo", study_yaml(name="demo"))
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "mine"))
    with pytest.raises(StudyError, match="Two studies are named 'demo'"):
        all_studies()


def test_a_studies_folder_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "nowhere"))
    with pytest.raises(StudyError, match=r"ZS_STUDIES names .*nowhere, which is no folder"):
        all_studies()


def test_a_broken_study_stops_no_other(tmp_path, monkeypatch):
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path))
    write_small_study(tmp_path / "good", name="good")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "defs.yaml").write_text("type: zs_assets.Study\nattributes: {name: broken, colour: red}\n")
    assert find_study("good").name == "good"
    with pytest.raises(StudyError, match="key 'question' is missing"):
        find_study("broken")
    names = "broken, btzsc_pilot, choice_order, demo, good, selective_automation"
    with pytest.raises(StudyError, match=f"use one of {names}"):
        find_study("absent")
