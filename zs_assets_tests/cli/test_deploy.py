"""`zs-assets deploy`: what it writes, and that it never takes away what somebody changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from zs_assets.cli import app
from zs_assets.deployment.engine import DeploymentError, Engine
from zs_assets.deployment.folder import FILES
from zs_assets.protocol.errors import StorageError, StudyError
from zs_assets_tests.small_study import write_small_study


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    return tmp_path / "deploy"


def deploy(*arguments: object) -> str:
    """Output of the command; errors of ours are raised, as main() catches them."""
    result = CliRunner().invoke(app, ["deploy", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def states(output: str) -> dict[str, str]:
    """File, relative to the folder -> what was done with it."""
    listed = [line.split() for line in output.split("\n\n")[0].splitlines()]
    return {path.partition("/deploy/")[2]: state for state, path in listed}


@pytest.mark.parametrize("engine", list(Engine))
def test_a_folder_is_written_and_every_file_named(engine: Engine, folder: Path):
    output = deploy(engine.value, folder, "--image", "zs:7")
    assert set(content(folder)) == set(FILES[engine])
    assert states(output) == dict.fromkeys(FILES[engine], "written")
    assert "README.md next" in output


def test_image_lake_and_namespace_reach_the_files(folder: Path):
    deploy("kubernetes", folder, "--image", "host:5000/zs:7", "--lake", "gs://my-bucket/zs", "--namespace", "measuring")
    written = content(folder)
    assert 'repository: "host:5000/zs", tag: "7"' in written["values.yaml"]
    assert "jobNamespace: measuring" in written["values.yaml"]
    assert "kubectl create namespace measuring" in written["README.md"]
    assert "ZS_LAKE=gs://my-bucket/zs" in written[".env.example"].splitlines()


def test_kubernetes_needs_an_image_that_nodes_pull_anew(folder: Path):
    with pytest.raises(DeploymentError, match=r"--image with a tag of its own, such as registry\.example/zs-assets:"):
        deploy("kubernetes", folder)
    assert not folder.exists()


def test_a_lake_that_machines_do_not_share_is_refused(folder: Path):
    with pytest.raises(DeploymentError, match="do not share /data/lake"):
        deploy("celery", folder, "--lake", "/data/lake")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--image", 'a"b: c', "give --image as registry/name:tag"),
        ("--image", "", "give --image as registry/name:tag"),
        ("--image", f"registry/zs@sha256:{'0' * 64}", "give --image as registry/name:tag"),
        ("--namespace", "Bad_NS", "up to 63 lower-case letters"),
        ("--namespace", "n" * 64, "up to 63 lower-case letters"),
        ("--lake", "s3://bucket\nEVIL=1", "without blanks"),
        ("--lake", "s3://user:secret@bucket/prefix", "keys belong in .env"),
        ("--lake", "s3://user:with/a/slash/secret@bucket/prefix", "keys belong in .env"),
        ("--lake", "", "without blanks"),
    ],
)
def test_words_that_would_break_the_files_are_refused(folder: Path, option: str, value: str, says: str):
    named = ["--image", "zs:7"] if option != "--image" else []
    with pytest.raises(DeploymentError, match=says) as refused:
        deploy("kubernetes", folder, *named, option, value)
    assert "secret" not in str(refused.value)
    assert not folder.exists()


@pytest.mark.parametrize("image", ["zs:7", "host:5000/team/zs:1.2-rc_3", "registry.example/a/b/zs:2026-11-30"])
def test_images_with_a_registry_its_port_and_a_path_are_taken(folder: Path, image: str):
    deploy("kubernetes", folder, "--image", image, "--lake", "abfs://container@account.dfs.core.windows.net/zs")
    assert image in (folder / "README.md").read_text()


def test_the_same_again_changes_nothing(folder: Path):
    deploy("celery", folder)
    output = deploy("celery", folder)
    assert states(output) == dict.fromkeys(FILES[Engine.CELERY], "kept")


def test_a_changed_file_stops_everything_and_is_named(folder: Path):
    deploy("celery", folder)
    (folder / "worker.yaml").write_text("mine")
    (folder / "compose.yaml").unlink()
    with pytest.raises(StorageError, match=r"worker\.yaml would change.*--force"):
        deploy("celery", folder)
    assert (folder / "worker.yaml").read_text() == "mine"
    assert not (folder / "compose.yaml").exists()


def test_force_replaces_the_files_that_differ_and_touches_no_other(folder: Path):
    deploy("celery", folder)
    before = content(folder)
    (folder / "worker.yaml").write_text("mine")
    (folder / ".env").write_text("DAGSTER_POSTGRES_PASSWORD=x")
    output = deploy("celery", folder, "--force")
    assert states(output) == {**dict.fromkeys(FILES[Engine.CELERY], "kept"), "worker.yaml": "replaced"}
    assert content(folder) == {**before, ".env": "DAGSTER_POSTGRES_PASSWORD=x"}


def test_keys_of_a_users_own_study_are_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mine = {
        "interface": "systemone",
        "title": "Mine",
        "deployment": "hosted",
        "base_url": "http://127.0.0.1:9",
        "key_env": "MY_OWN_API_KEY",
    }
    write_small_study(tmp_path / "studies" / "own", name="own", backends=["mine"], systems={"mine": mine}, analyses={})
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    deploy("docker", folder)
    assert "MY_OWN_API_KEY=" in (folder / ".env.example").read_text().splitlines()
    assert "- MY_OWN_API_KEY" in (folder / "dagster.yaml").read_text()


def test_a_broken_study_is_named_before_anything_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "missing"))
    with pytest.raises(StudyError, match="missing"):
        deploy("celery", folder)
    assert not folder.exists()


def test_a_folder_that_is_a_file_is_refused_in_one_sentence(folder: Path):
    folder.write_text("a file")
    with pytest.raises(StorageError, match="Cannot write"):
        deploy("celery", folder)


def test_an_unknown_engine_is_wrong_usage(folder: Path):
    result = CliRunner().invoke(app, ["deploy", "swarm", str(folder)])
    assert result.exit_code == 2
    assert not folder.exists()
