"""The authored demonstration sets: small files that ship with the package, read like a user's own.

They live in `data/demo` of a checkout; the build copies them into the package, so an installed wheel has them too.
"""

from __future__ import annotations

import csv
from pathlib import Path

from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.source_specs import DemoSource, FileSource
from zs_assets.sources import file
from zs_assets.sources.base import Dataset

PACKAGED = Path(__file__).parent / "demo_data"  # written by setup.py at build time, absent in a checkout
CHECKOUT = Path(__file__).parents[2] / "data" / "demo"
LABELS = ".labels.yaml"
GROUP_COLUMN = "group"


def demo_folder() -> Path:
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT


def load(source: DemoSource, instructions: str | None, study_question: str) -> Dataset:
    """The set `NAME.csv` with the labels and, unless the dataset says otherwise, the question of its labels file."""
    return file.load(_as_file(source), instructions, study_question, demo_folder())


def pin(source: DemoSource) -> str:
    """sha256 over both files of the set."""
    return file.pin(_as_file(source), demo_folder())


def _as_file(source: DemoSource) -> FileSource:
    known = sorted(path.stem for path in demo_folder().glob("*.csv"))
    if source.name not in known:
        there = f"use one of {', '.join(known)}" if known else f"{demo_folder()} is empty, so install the package again"
        raise StudyError(f"There is no demo set '{source.name}': {there}.")
    labels = source.labels or source.name
    declared = sorted(path.name.removesuffix(LABELS) for path in demo_folder().glob(f"*{LABELS}"))
    if labels not in declared:
        raise StudyError(
            f"There are no labels '{labels}': set `labels` of demo set '{source.name}' to {' or '.join(declared)}."
        )
    return FileSource(
        path=f"{source.name}.csv",
        id_column="id",
        group_column=GROUP_COLUMN if GROUP_COLUMN in _header(demo_folder() / f"{source.name}.csv") else None,
        labels_file=f"{labels}{LABELS}",
    )


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])
