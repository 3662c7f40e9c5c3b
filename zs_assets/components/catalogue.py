"""Which studies there are: those of the package, and those in the folders of ZS_STUDIES."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from zs_assets.assets.graph import StudyGraph
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.study import StudySpec

COMPONENT = "zs_assets.Study"
SHIPPED = Path(__file__).parent.parent / "defs"


def user_folders() -> list[Path]:
    """Folders of ZS_STUDIES (separated like PATH); each holds study folders, or is one."""
    folders = [Path(name) for name in os.environ.get("ZS_STUDIES", "").split(os.pathsep) if name]
    for folder in folders:
        if not folder.is_dir():
            raise StudyError(f"ZS_STUDIES names {folder}, which is no folder: create it or correct ZS_STUDIES.")
    return folders


def study_files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("defs.yaml"))
    yield from sorted(folder.glob("*/defs.yaml"))


def load_study(path: Path) -> StudyGraph:
    """The study of one defs.yaml; StudyError names the key that is wrong and the keys there are."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise StudyError(f"{path} is no valid YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(content, dict) or content.get("type") != COMPONENT:
        raise StudyError(f"{path} is no study: its first line must be `type: {COMPONENT}`.")
    try:
        spec = StudySpec.model_validate(content.get("attributes") or {})
    except ValidationError as error:
        raise StudyError(f"{path}: {first_problem(error, content.get('attributes') or {})}") from None
    return StudyGraph(spec, path.parent)


def first_problem(error: ValidationError, attributes: Any) -> str:
    """One sentence for the first problem: where it is, what is wrong, and which keys are allowed there."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"]) or "the study"
    if problem["type"] == "extra_forbidden":
        allowed = _allowed_keys(problem["loc"][:-1])
        return f"unknown key '{where}': use one of {allowed}." if allowed else f"unknown key '{where}': remove it."
    if problem["type"] == "missing":
        return f"key '{where}' is missing: add it."
    return f"'{where}': {problem['msg'].removeprefix('Value error, ')}."


def _allowed_keys(location: tuple[int | str, ...]) -> str:
    """Keys allowed where the location points, found in the JSON schema of the study."""
    schema = StudySpec.model_json_schema()
    node: dict[str, Any] = schema
    for part in location:
        node = _resolve(schema, node)
        if isinstance(part, int):
            node = node.get("items", {})
        elif "discriminator" in node and part in node["discriminator"]["mapping"]:
            node = {"$ref": node["discriminator"]["mapping"][part]}
        else:
            node = node.get("properties", {}).get(part, {})
    return ", ".join(_resolve(schema, node).get("properties", {}))


def _resolve(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    for option in node.get("anyOf", []):
        if "$ref" in option or "discriminator" in option:
            node = option
    if "$ref" in node:
        return schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return node


def all_studies() -> dict[str, StudyGraph]:
    """Every study by name; two of one name are refused."""
    studies: dict[str, StudyGraph] = {}
    for folder in [SHIPPED, *user_folders()]:
        for path in study_files(folder):
            graph = load_study(path)
            if graph.name in studies:
                raise StudyError(f"Two studies are named '{graph.name}' ({path} is one): rename one of them.")
            studies[graph.name] = graph
    return studies


def loadable_studies() -> Iterator[StudyGraph]:
    """Every study that can run now: a broken one is left out."""
    for folder in [SHIPPED, *user_folders()]:
        for path in study_files(folder):
            with suppress(StudyError):
                graph = load_study(path)
                _ = graph.systems  # an unknown backend shows only here
                yield graph


def find_study(name: str) -> StudyGraph:
    """The study of this name; one that is broken stops nobody else's."""
    found = {path: _name_in(path) for folder in [SHIPPED, *user_folders()] for path in study_files(folder)}
    paths = [path for path, named in found.items() if named == name]
    if len(paths) > 1:
        raise StudyError(f"Two studies are named '{name}' ({paths[0]} and {paths[1]}): rename one of them.")
    if not paths:
        known = ", ".join(sorted(named for named in found.values() if named))
        raise StudyError(f"There is no study '{name}': use one of {known}, or name its folder in ZS_STUDIES.")
    return load_study(paths[0])


def _name_in(path: Path) -> str | None:
    """The name a study's YAML gives itself, whatever else is wrong with it."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        return None
    attributes = content.get("attributes") if isinstance(content, dict) else None
    name = attributes.get("name") if isinstance(attributes, dict) else None
    return name if isinstance(name, str) else None
