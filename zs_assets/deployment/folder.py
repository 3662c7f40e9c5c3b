"""The folder a deployment starts from: texts of `templates/`, filled in and written without touching anything else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from zs_assets.assets.graph import StudyGraph
from zs_assets.components.catalogue import all_studies
from zs_assets.deployment.engine import Deployment, Engine
from zs_assets.deployment.environment import assigned_names, variables_of
from zs_assets.protocol.errors import StorageError

TEMPLATES = Path(__file__).with_name("templates")
ENV = ".env.example"
NOT_OF_RUNS = {"DOCKER_GID"}
"""Variables of .env that only Compose reads."""

_IMAGE_FILES = {
    "Dockerfile": "Dockerfile.j2",
    ".dockerignore": "dockerignore.j2",
    ".gitignore": "gitignore.j2",
    ENV: "env.example.j2",
    "wheels/README.md": "wheels.md.j2",
    "studies/README.md": "studies.md.j2",
}
_INSTANCE_FILES = {"dagster.yaml": "dagster.yaml.j2", "workspace.yaml": "workspace.yaml.j2"}
FILES: dict[Engine, dict[str, str]] = {
    Engine.CELERY: {
        "README.md": "README.celery.md.j2",
        **_IMAGE_FILES,
        **_INSTANCE_FILES,
        "worker.yaml": "worker.yaml.j2",
        "compose.yaml": "compose.celery.yaml.j2",
        "compose.worker.yaml": "compose.worker.yaml.j2",
    },
    Engine.DOCKER: {
        "README.md": "README.docker.md.j2",
        **_IMAGE_FILES,
        **_INSTANCE_FILES,
        "compose.yaml": "compose.docker.yaml.j2",
    },
    # The Helm chart writes dagster.yaml and workspace.yaml from its values.
    Engine.KUBERNETES: {
        "README.md": "README.kubernetes.md.j2",
        **_IMAGE_FILES,
        "values.yaml": "values.yaml.j2",
    },
}
"""Engine -> file of the folder -> its template."""


@dataclass(frozen=True)
class WrittenFile:
    """One file of the folder, and whether it was written, replaced, or was already the same."""

    path: Path
    state: str


def write_deployment(folder: Path, deployment: Deployment, *, force: bool = False) -> list[WrittenFile]:
    """Writes the folder, or nothing.

    Parameters
    ----------
    folder
        Made if missing. Files that are not of the deployment stay as they are.
    deployment
        Engine and names.
    force
        Replace files that differ.

    Returns
    -------
    list of WrittenFile
        In the order a reader needs them: the README first.

    Raises
    ------
    StorageError
        A file is there with another content and `force` is not given (nothing was written then), or the folder cannot
        be written.
    StudyError
        A study or a file of ZS_SYSTEMS is broken: they say which variables `.env.example` names.
    """
    texts = {folder / name: text for name, text in deployment_texts(deployment, all_studies().values()).items()}
    try:
        states = {path: _state(path, text) for path, text in texts.items()}
        replaced = [str(path) for path, state in states.items() if state == "replaced"]
        if replaced and not force:
            raise StorageError(
                f"Nothing was written: {', '.join(replaced)} would change. Give --force to replace, or another folder."
            )
        for path, text in texts.items():
            if states[path] != "kept":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"Cannot write {error.filename or folder}: {error.strerror}. Name another folder.") from None
    return [WrittenFile(path, state) for path, state in states.items()]


def _state(path: Path, text: str) -> str:
    if not path.exists():
        return "written"
    return "kept" if path.read_bytes() == text.encode() else "replaced"


def deployment_texts(deployment: Deployment, studies: Iterable[StudyGraph]) -> dict[str, str]:
    """The texts by file name, relative to the folder; `studies` may name variables of their own.

    What a run's container is given is read from the text of .env.example: neither has a name that the other lacks.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # none of these texts is HTML
    )
    templates = FILES[deployment.engine]
    env = environment.get_template(templates[ENV]).render(deployment=deployment, variables=variables_of(studies))
    of_runs = [name for name in assigned_names(env) if name not in NOT_OF_RUNS]
    return {
        name: env if name == ENV else environment.get_template(template).render(deployment=deployment, of_runs=of_runs)
        for name, template in templates.items()
    }
