"""Dagster's own tool accepts the shipped studies, and a scaffolded one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from sysconfig import get_path

import pytest

ROOT = Path(__file__).parents[2]
DG = Path(get_path("scripts")) / "dg"


@pytest.fixture
def dg(tmp_path):
    def run(*arguments):
        environment = {**os.environ, "DAGSTER_HOME": str(tmp_path), "DAGSTER_DISABLE_TELEMETRY": "1", "COLUMNS": "200"}
        return subprocess.run([DG, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)

    return run


def test_the_yaml_of_every_study_fits_its_schema(dg):
    result = dg("check", "yaml")
    assert result.returncode == 0, result.stdout
    assert "validated successfully" in result.stdout


def test_the_component_is_listed(dg):
    result = dg("list", "components")
    assert result.returncode == 0, result.stderr
    assert "zs_assets.Study" in result.stdout
