"""Fixtures every part shares: a fresh home, and a small study of the user's own."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from zs_assets.assets.graph import StudyGraph
from zs_assets.components.catalogue import load_study
from zs_assets_tests.small_study import write_small_study


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh ZS_HOME; nothing of the caller's environment leaks in."""
    folder = tmp_path / "home"
    for name in ("ZS_LAKE", "ZS_STUDIES", "ZS_SYSTEMS", "DAGSTER_HOME", "ZS_BTZSC_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ZS_HOME", str(folder))
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "1")
    return folder


@pytest.fixture
def small_study(tmp_path: Path) -> StudyGraph:
    """Two datasets of twelve texts, backends uniform and sparrow, one pair."""
    return load_study(write_small_study(tmp_path / "studies" / "small"))


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral
