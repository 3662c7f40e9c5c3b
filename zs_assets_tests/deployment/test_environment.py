"""The variables of .env.example: all that runs read, none that would be taken for a value, and those of the lake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from zs_assets.backends.systems import known_systems
from zs_assets.deployment.engine import DeploymentError, Engine
from zs_assets.deployment.folder import TEMPLATES
from zs_assets_tests.deployment.folders import assignments, extras_of, loaded, texts

ENGINES = list(Engine)
COMPOSED = [Engine.CELERY, Engine.DOCKER]
LAKES = {
    "s3://bucket/zs": ({"s3"}, "", {"AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL"}),
    "gs://bucket/zs": (set(), "gcsfs", {"GOOGLE_APPLICATION_CREDENTIALS"}),
    "abfs://container/zs": (set(), "adlfs", {"AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"}),
}
"""A lake -> extras of ours, package of pip's, variables."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lake", LAKES)
def test_image_and_environment_are_those_of_the_lakes_store(engine: Engine, lake: str):
    """The names are those the stores' own libraries read: botocore, google-auth, adlfs."""
    written = texts(engine, lake=lake)
    extras, package, names = LAKES[lake]
    assert extras_of(written["Dockerfile"]) == {"demo", engine.value} | extras
    (install,) = re.findall(r"pip install .*\"\$1\[\$EXTRAS\]\"(.*)$", written["Dockerfile"], re.MULTILINE)
    assert install.strip() == package
    values = assignments(written[".env.example"])
    stores = {name for name in values if name.startswith(("AWS_", "GOOGLE_APP", "AZURE_"))}
    assert names <= stores and len({name.split("_")[0] for name in stores}) == 1
    assert values["ZS_LAKE"] == lake


def test_an_s3_client_starts_with_the_example_as_it_is(monkeypatch: pytest.MonkeyPatch):
    """botocore makes an address out of an empty region, and takes empty keys and addresses for none."""
    session = pytest.importorskip("botocore.session")
    for name, value in assignments(texts(Engine.DOCKER)[".env.example"]).items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
    client = session.get_session().create_client("s3")
    assert client.meta.endpoint_url == "https://s3.amazonaws.com"


def test_a_folder_is_a_lake_only_where_all_containers_share_it():
    written = texts(Engine.DOCKER, lake="/zs/home/lake")
    assert extras_of(written["Dockerfile"]) == {"demo", "docker"}
    assert not any(name.startswith("AWS_") for name in assignments(written[".env.example"]))
    volumes = yaml.safe_load(written["dagster.yaml"])["run_launcher"]["config"]["container_kwargs"]["volumes"]
    assert [volume.split(":")[1] for volume in volumes] == ["/zs/home"]
    with pytest.raises(DeploymentError, match=r"do not share /data/lake.*/zs/home/lake"):
        texts(Engine.DOCKER, lake="/data/lake")
    for engine in (Engine.CELERY, Engine.KUBERNETES):
        for folder in ("/zs/home/lake", "file:///zs/home/lake", "data/lake"):
            with pytest.raises(DeploymentError, match=f"machines of {engine.value} do not share .*{folder}"):
                texts(engine, lake=folder)


def test_a_store_the_image_would_not_know_is_refused():
    with pytest.raises(DeploymentError, match=r"lack what oss://.* needs.*s3, s3a, gs, gcs, az, abfs, abfss"):
        texts(Engine.CELERY, lake="oss://bucket/zs")


def test_a_shell_reads_the_filled_in_example_as_compose_does(tmp_path: Path):
    path = tmp_path / ".env"
    text = texts(Engine.CELERY)[".env.example"].replace("REDIS_PASSWORD=\n", "REDIS_PASSWORD=abc\n")
    path.write_text(text.replace("REDIS_HOST=redis", "REDIS_HOST=10.0.0.5"))
    command = "set -a; . ./.env; set +a; echo $DAGSTER_CELERY_BROKER; echo $HF_ENDPOINT"
    said = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["redis://:abc@10.0.0.5:6379/0", "https://huggingface.co"]
    assert said.stderr == ""


@pytest.mark.parametrize("engine", COMPOSED)
def test_every_variable_of_the_files_is_in_the_example(engine: Engine):
    written = texts(engine)
    known = set(assignments(written[".env.example"]))
    used = {name for text in written.values() for name in re.findall(r"\{env: ([A-Z0-9_]+)\}", text)}
    used |= {
        name
        for file, text in written.items()
        if file.startswith(("compose", ".env"))
        for name in re.findall(r"\$\{([A-Z0-9_]+)", text)
    }
    launcher = yaml.safe_load(written["dagster.yaml"])["run_launcher"]["config"]
    used |= set(launcher.get("env_vars", []))
    assert used and used <= known


def test_a_run_in_a_container_gets_all_that_the_example_names():
    """But for what Compose alone reads."""
    names = set(assignments(texts(Engine.DOCKER)[".env.example"]))
    assert set(loaded(Engine.DOCKER, "dagster.yaml")["run_launcher"]["config"]["env_vars"]) == names - {"DOCKER_GID"}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_example_names_what_every_system_reads_and_holds_no_secret(engine: Engine):
    values = assignments(texts(engine)[".env.example"])
    systems = known_systems().values()
    keys = {system.key_env for system in systems if system.key_env} | {"CLOUDFLARE_ACCOUNT_ID"}
    assert keys >= {"TYPESAFE_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
    addresses = {system.base_url_env for system in systems if system.base_url_env}
    assert {name: values[name] for name in keys | addresses} == dict.fromkeys(keys | addresses, "")
    secret = {name for name in values if re.search("KEY|PASSWORD|SECRET|TOKEN", name)}
    assert {values[name] for name in secret} == {""}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_example_names_every_variable_that_the_code_reads(engine: Engine):
    """Those by which a run is told where things are; a rehearsal and the stand-ins are not for an engine."""
    read = set()
    for path in TEMPLATES.parents[1].rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        read |= set(re.findall(r"environ\.get\(\s*\"([A-Z0-9_]+)\"", text))
        read |= set(re.findall(r"^[A-Z_]+ = \"(ZS_[A-Z_]+)\"$", text, re.MULTILINE))
    assert {"ZS_LAKE", "ZS_SYSTEMS", "HF_ENDPOINT", "ZS_BTZSC_DIR"} <= read
    told_otherwise = {"ZS_REHEARSAL", "ZS_EMULATOR_KEY", "DAGSTER_HOME", "XDG_CACHE_HOME", "CLOUDFLARE_ACCOUNT_ID"}
    assert read - told_otherwise <= set(assignments(texts(engine)[".env.example"]))


def test_the_hub_takes_the_example_as_it_is():
    """An empty HF_ENDPOINT would be an address, an empty HF_HOME the working folder."""
    values = {name: value for name, value in assignments(texts(Engine.DOCKER)[".env.example"]).items() if "HF_" in name}
    script = (
        "import huggingface_hub.constants as c; from huggingface_hub import get_token; "
        "print(c.ENDPOINT, c.HF_HUB_OFFLINE, c.HF_HUB_CACHE, get_token())"
    )
    environment = {**os.environ, **values, "HF_TOKEN_PATH": "/nonexistent"}
    said = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["https://huggingface.co", "False", "/zs/home/downloads/hub", "None"]


@pytest.mark.parametrize("engine", COMPOSED)
def test_values_of_the_containers_are_marked_where_there_is_a_way_without(engine: Engine):
    text = texts(engine)[".env.example"]
    marked = re.findall(r"^# \[containers\].*\n(?:#.*\n)*((?:[A-Z].*\n)+)", text, re.MULTILINE)
    names = {line.split("=")[0] for block in marked for line in block.splitlines()}
    if engine is Engine.DOCKER:
        assert names == set()
    else:
        changed = {"ZS_HOME", "ZS_STUDIES", "HF_HOME", "DAGSTER_POSTGRES_HOST", "REDIS_HOST"}
        assert changed <= names
        assert all(f"`{name}`" in texts(engine)["README.md"] for name in changed)
