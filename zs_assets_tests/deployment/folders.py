"""Deployment folders of the shipped studies, as texts and on disk, with the environment their README asks for."""

from __future__ import annotations

import re
import string
from pathlib import Path
from typing import Any

import yaml

from zs_assets.components.catalogue import all_studies
from zs_assets.deployment.engine import Deployment, Engine
from zs_assets.deployment.folder import deployment_texts

IMAGE = "registry.example:5000/team/zs-assets:1.2"


def texts(engine: Engine, **changes: str) -> dict[str, str]:
    return deployment_texts(Deployment(engine, **{"image": IMAGE, **changes}), all_studies().values())


def loaded(engine: Engine, name: str) -> Any:
    return yaml.safe_load(texts(engine)[name])


def assignments(env_example: str) -> dict[str, str]:
    """The names and values of an .env file as they stand, without quotes; a value may name an earlier one: ${NAME}."""
    lines = [line for line in env_example.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*=\S*", line) for line in lines), lines
    return dict(line.split("=", 1) for line in lines)


def extras_of(dockerfile: str) -> set[str]:
    """What the image installs of zs-assets."""
    found = re.search(r'^ARG EXTRAS="(.*)"$', dockerfile, re.MULTILINE)
    assert found is not None
    return set(found.group(1).split(","))


def filled_environment(engine: Engine, folder: Path) -> dict[str, str]:
    """What a reader of the README would have exported: keys and passwords filled in, folders of their own, no more."""
    values: dict[str, str] = {}
    for name, value in assignments(texts(engine)[".env.example"]).items():
        filled = value or ("filled-in" if re.search("KEY|PASSWORD", name) else "")
        values[name] = string.Template(filled).substitute(values)
    studies = folder / "studies"
    studies.mkdir(exist_ok=True)
    return {**values, "ZS_HOME": str(folder / "home"), "ZS_STUDIES": str(studies), "HF_HOME": str(folder / "hf")}
