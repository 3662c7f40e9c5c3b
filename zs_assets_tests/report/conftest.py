"""One browser per module of page tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from zs_assets_tests.report.browser import open_browser


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("selenium", reason="needs selenium")
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
