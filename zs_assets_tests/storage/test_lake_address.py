"""ZS_LAKE: what is meant is used, and what cannot be is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from zs_assets.protocol.errors import StorageError
from zs_assets.storage.lake import Lake
from zs_assets.storage.lake_address import lake_address
from zs_assets.storage.places import Places


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("s3://", r"The lake s3:// \(ZS_LAKE\) names no bucket: write s3://BUCKET or s3://BUCKET/FOLDER\.$"),
        ("s3:///p", r"The lake s3:///p \(ZS_LAKE\) names no bucket"),
        ("gs:// /p", r"names no bucket: write gs://BUCKET"),
        ("simplecache::s3://", r"names no bucket"),
        ("foo://x", r"The lake foo://x \(ZS_LAKE\) has a scheme that is unknown \('foo'\): use a folder, s3://"),
        ("foo://me:hidden@x", r"The lake foo://x \(ZS_LAKE\)"),
        ("S3:/x", r"has one slash after 'S3:': write two\.$"),
        ("~nobody-of-this-name/x", r"a user who is not there: write the folder's whole path\.$"),
    ],
)
def test_a_lake_that_cannot_be_is_one_sentence(home: Path, monkeypatch: pytest.MonkeyPatch, value: str, says: str):
    monkeypatch.setenv("ZS_LAKE", value)
    with pytest.raises(StorageError, match=says) as said:
        Places.from_environment()
    assert "\n" not in str(said.value) and "hidden" not in str(said.value)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("S3://Lake/X", "s3://Lake/X"),  # a bucket's letters are left alone
        (" s3://lake/x ", "s3://lake/x"),
        ("memory://", "memory://"),
        ("file:///srv/lake", "file:///srv/lake"),
        ("simplecache::S3://lake", "simplecache::s3://lake"),
        ("lake", "lake"),
        ("/srv/a:b", "/srv/a:b"),
        ("   ", ""),
    ],
)
def test_what_is_meant_is_used(value: str, meant: str):
    assert lake_address(value) == meant


def test_the_users_home_is_expanded_and_a_blank_lake_is_the_usual_one(home: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ZS_LAKE", "~/x")
    assert Lake(Places.from_environment().lake).root == tmp_path / "x"
    monkeypatch.setenv("ZS_LAKE", "  ")
    assert Places.from_environment().lake == str(home / "lake")
    monkeypatch.setenv("ZS_HOME", "~/outputs")
    assert Places.from_environment().home == tmp_path / "outputs"
