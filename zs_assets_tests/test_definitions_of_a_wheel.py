"""An installed wheel has no project around it: its definitions load all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "zs_assets"
LOAD = """
import dagster as dg
from zs_assets.definitions import defs
found = defs()
print(*sorted({key.path[0] for key in found.resolve_all_asset_keys()}))
"""


def test_definitions_load_without_a_project_around_the_package(tmp_path: Path):
    shutil.copytree(PACKAGE, tmp_path / "zs_assets", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE.parent / "data" / "demo", tmp_path / "zs_assets" / "sources" / "demo_data")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "ZS_HOME": str(tmp_path / "home"), "ZS_STUDIES": ""}
    found = subprocess.run([sys.executable, "-c", LOAD], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.split() == ["btzsc_pilot", "choice_order", "demo", "selective_automation"]
