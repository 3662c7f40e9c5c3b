"""Where real data is, when it is there: the folder named by ZS_TEST_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

TEST_DATA = Path(os.environ.get("ZS_TEST_DATA") or "/nonexistent")

needs_real_data = pytest.mark.skipif(
    not TEST_DATA.is_dir(), reason="real data is not at hand: set ZS_TEST_DATA to its folder"
)
