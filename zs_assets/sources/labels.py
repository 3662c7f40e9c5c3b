"""Declared labels of a dataset: inline in the study, or in a YAML or JSON file `{instructions, labels}`."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.question import Option

ALLOWED = ("instructions", "labels")


class _RepeatedKey(ValueError):
    """A mapping names one key twice; the parsers would keep the last and drop a label without a word."""


@dataclass(frozen=True)
class DeclaredLabels:
    """Options in declared order, and the file's own instructions where it has any."""

    options: tuple[Option, ...]
    instructions: str | None


def declare(labels: Any, instructions: Any, where: str) -> DeclaredLabels:
    """Check a mapping label -> description (None: the label says it all); `where` names it in complaints."""
    if not isinstance(labels, dict):
        raise SourceError(f"{where} has no mapping 'labels': write `labels:` with one `label: description` a line.")
    if len(labels) < 2:
        raise SourceError(f"{where} declares {len(labels)} labels: a choice needs at least two.")
    if not (instructions is None or isinstance(instructions, str)):
        raise SourceError(f"{where} has instructions that are no text: put them in quotes.")
    for label, description in labels.items():
        # YAML reads an unquoted yes, no, 1 or null as something else than the text in the data.
        if not isinstance(label, str) or not label:
            raise SourceError(f"{where} has the label {label!r}, which is no text: put it in quotes.")
        if not (description is None or isinstance(description, str)):
            raise SourceError(f"{where} describes label '{label}' by something that is no text: put it in quotes.")
    return DeclaredLabels(tuple(Option(label, text) for label, text in labels.items()), instructions)


def read_labels_file(path: Path) -> DeclaredLabels:
    """Read `{instructions, labels}`; a file that ends in .json is JSON, every other one YAML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8.") from error
    except OSError as error:
        raise SourceError(f"Labels file {path} cannot be read ({error.strerror}): correct labels_file.") from error
    try:
        if path.suffix.lower() == ".json":
            content = json.loads(text, object_pairs_hook=_without_repeats)
        else:
            content = yaml.load(text, Loader=_LabelsLoader)
    except (json.JSONDecodeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise SourceError(f"{path} is neither valid YAML nor JSON ({problem}): correct it.") from error
    except _RepeatedKey as error:
        raise SourceError(f"{path} names {error.args[0]!r} twice: keep one.") from error
    if not isinstance(content, dict):
        raise SourceError(f"{path} holds no mapping: write the keys {' and '.join(ALLOWED)}.")
    unknown = [key for key in content if key not in ALLOWED]
    if unknown:
        raise SourceError(f"{path} has the unknown key {unknown[0]!r}: it takes {' and '.join(ALLOWED)}.")
    return declare(content.get("labels"), content.get("instructions"), str(path))


def _without_repeats(pairs: Sequence[tuple[Hashable, Any]]) -> dict[Hashable, Any]:
    result: dict[Hashable, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _RepeatedKey(key)
        result[key] = value
    return result


class _LabelsLoader(yaml.SafeLoader):
    """SafeLoader that refuses repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        _without_repeats([(key, None) for key in keys])
        return super().construct_mapping(node, deep=deep)
