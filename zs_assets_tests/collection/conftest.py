"""A lake in memory for journals, whose seconds of waiting are fractions."""

from __future__ import annotations

from pathlib import Path

import pytest

from zs_assets.collection import remote_journal, uploads


@pytest.fixture
def lake(tmp_path: Path) -> str:
    return f"memory://journals/{tmp_path.name}"


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of real life are fractions here."""
    monkeypatch.setattr(remote_journal, "LEASE_S", 0.6)
    monkeypatch.setattr(remote_journal, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(uploads, "UPLOAD_EVERY_S", 0.05)
