"""Entry point for Dagster: the package's studies, the user's own, and their resources. Nothing else."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from zs_assets.components.catalogue import SHIPPED, load_study, study_files, user_folders
from zs_assets.components.resources import study_resources
from zs_assets.components.study import study_definitions


@dg.definitions
def defs() -> dg.Definitions:
    own = [study_definitions(load_study(path)) for folder in user_folders() for path in study_files(folder)]
    return dg.Definitions.merge(
        _shipped(), *own, dg.Definitions(resources=study_resources(), executor=dg.in_process_executor)
    )


def _shipped() -> dg.Definitions:
    """The package's studies, as components where there is a project: an installed wheel has no pyproject.toml."""
    if (Path(__file__).parent.parent / "pyproject.toml").exists():
        return dg.load_from_defs_folder(path_within_project=Path(__file__))
    return dg.Definitions.merge(*(study_definitions(load_study(path)) for path in study_files(SHIPPED)))
