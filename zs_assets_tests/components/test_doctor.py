"""`zs-assets doctor` without an engine: it makes nothing, and says each thing once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from zs_assets.cli import app
from zs_assets.components.doctor import check_installation, grouped
from zs_assets.components.finding import Finding
from zs_assets.components.place_check import check_folder, check_lake
from zs_assets.protocol.errors import StorageError
from zs_assets.storage.lake import Lake


def found(subject: str) -> list[Finding]:
    return [finding for finding in check_installation() if finding.subject == subject]


def test_before_the_first_run_everything_is_well_and_nothing_is_made(home: Path, tmp_path: Path):
    findings = check_installation()
    assert [finding for finding in findings if finding.required and not finding.ok] == []
    (instance,) = [finding for finding in findings if finding.subject == "Dagster instance"]
    assert instance.sentence == f"{home / 'dagster'} is not there yet: the first run makes it."
    assert list(tmp_path.iterdir()) == []


def test_a_dagster_home_without_dagster_yaml_is_a_problem_and_stays_as_it_is(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    named = tmp_path / "engin"
    monkeypatch.setenv("DAGSTER_HOME", str(named))
    (instance,) = found("Dagster instance")
    assert not instance.ok
    assert instance.sentence == (
        f"DAGSTER_HOME names {named}, where there is no dagster.yaml: correct it to the folder that "
        "`zs-assets deploy` wrote, or unset it for the instance in ZS_HOME."
    )
    assert not named.exists()


def test_a_relative_dagster_home_is_a_problem_with_the_command_that_mends_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", "engine")
    (instance,) = found("Dagster instance")
    assert not instance.ok
    assert instance.sentence == (
        "DAGSTER_HOME names engine, which is relative, and Dagster refuses it: "
        f"export DAGSTER_HOME={tmp_path / 'engine'}"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_instance_is_not_opened_without_its_variables(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ZS_TEST_FOLDER", raising=False)
    settings = {
        "local_artifact_storage": {"module": "x", "class": "y", "config": {"base_dir": {"env": "ZS_TEST_FOLDER"}}}
    }
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(settings))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    problems = [finding for finding in check_installation() if finding.required and not finding.ok]
    assert [finding.subject for finding in problems] == ["environment"]
    assert "ZS_TEST_FOLDER" in problems[0].sentence and "set -a; . ./.env; set +a" in problems[0].sentence


def test_a_lake_that_is_none_is_a_finding(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ZS_LAKE", "s3://")
    (lake,) = found("ZS_LAKE")
    assert not lake.ok and "names no bucket" in lake.sentence


def test_a_folder_that_cannot_be_made_is_found_without_making_it(tmp_path: Path):
    (tmp_path / "file").write_text("")
    finding = check_folder("ZS_HOME", tmp_path / "file" / "home")
    assert not finding.ok
    assert finding.sentence.startswith(f"{tmp_path / 'file' / 'home'} is not writable (Not a directory): set ZS_HOME")


@pytest.mark.parametrize(
    ("lake", "package", "install"),
    [
        ("s3://key:secret@bucket/x", "s3fs", "'zs-assets[s3]'"),
        ("gs://bucket/x", "gcsfs", "gcsfs"),
        ("abfs://c/x", "adlfs", "adlfs"),
    ],
)
def test_a_missing_filesystem_package_is_named_with_the_command(
    lake: str, package: str, install: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("zs_assets.storage.lake.find_spec", lambda name: None)
    address = lake.replace("key:secret@", "")
    sentence = f"The lake {address} (ZS_LAKE) needs the package {package}: pip install {install}."
    with pytest.raises(StorageError) as refused:
        Lake(lake)
    assert str(refused.value) == sentence
    assert check_lake(lake) == Finding("ZS_LAKE", False, sentence)


def test_backends_are_grouped_by_what_they_lack():
    backends = [
        Finding("backend a", True, "A", required=False),
        Finding("backend b", False, "Backend 'b' needs a key: set K.", required=False),
        Finding("backend c", True, "C", required=False),
        Finding("backend d", False, "Backend 'd' needs a key: set K.", required=False),
        Finding("backend e", False, "Backend 'e' needs the gliner extra: pip install it.", required=False),
    ]
    other = Finding("studies", True, "demo")
    assert [(each.subject, each.ok, each.sentence) for each in grouped([other, *backends])] == [
        ("studies", True, "demo"),
        ("backends that are ready", True, "a, c"),
        ("backends b, d", False, "need a key: set K."),
        ("backend e", False, "needs the gliner extra: pip install it."),
    ]


def test_json_names_every_backend_and_the_text_each_once(home: Path):
    from zs_assets.backends.systems import known_systems

    complete = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    backends = [finding["subject"] for finding in complete if finding["subject"].startswith("backend ")]
    assert backends == [f"backend {name}" for name in sorted(known_systems())]
    text = CliRunner().invoke(app, ["doctor"]).stdout
    named = [line for line in text.splitlines() if "backend" in line.split(":")[0]]
    assert len(named) < len(backends)
    (ready,) = [line for line in named if "backends that are ready" in line]
    assert "uniform" in ready.split(": ", 1)[1].split(", ")
