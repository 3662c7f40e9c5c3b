"""A bucket of its own for a test, found by the usual environment of S3's clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from zs_assets_tests.deployment.services import s3_service

BUCKET = "lake-bucket"


@contextmanager
def s3_lake() -> Iterator[str]:
    """Yields the URL of an empty bucket; skips where the extra s3 or moto is missing."""
    pytest.importorskip("s3fs", reason="needs the extra s3")
    with s3_service(BUCKET) as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield f"s3://{BUCKET}"
