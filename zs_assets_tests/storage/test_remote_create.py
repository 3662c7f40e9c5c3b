"""What is created once: of many writers at one name one wins, on this machine, in memory and on S3."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from zs_assets.protocol.errors import FrozenManifestError, StorageError
from zs_assets.storage.frozen import freeze_table
from zs_assets.storage.lake import RECEIPT, TABLE, metadata_of, read_table, with_metadata, write_bytes
from zs_assets.storage.object_store import (
    create_once,
    delete_objects,
    keeps_conditions,
    move_objects,
    object_bytes,
    object_names,
    put_object,
    store_path,
)
from zs_assets.storage.store_failures import StoreUnreachable
from zs_assets_tests.deployment.services import free_port
from zs_assets_tests.remote_lake import s3_lake

ROUNDS = 25


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL of an empty bucket; clients find it by the usual environment."""
    with s3_lake() as url:
        yield url


@pytest.fixture(params=["folder", "memory", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "s3":
        return f"{request.getfixturevalue('s3')}/{tmp_path.name}"
    return str(tmp_path / "lake") if request.param == "folder" else f"memory://{tmp_path.name}"


def manifest(hashed: str, rows: int = 3) -> pa.Table:
    return with_metadata(pa.table({"x": list(range(rows))}), manifest_hash=hashed, protocol_hash=f"of {hashed}")


def test_what_is_there_is_not_created_again(root: str):
    path = store_path(root) / "a" / "b.json"
    assert create_once(path, b"one")
    assert not create_once(path, b"two")
    assert object_bytes(path) == b"one"
    assert object_names(path.parent) == ["b.json"]


def test_a_put_sent_again_after_its_answer_was_lost_has_won(root: str):
    path = store_path(root) / "again"
    assert create_once(path, b"one")
    assert create_once(path, b"one")


def test_the_stores_keep_conditions_and_the_probe_leaves_nothing(root: str):
    folder = store_path(root) / "probed"
    assert keeps_conditions(folder)
    assert object_names(folder) == []


def test_a_service_that_ignores_the_condition_is_told(monkeypatch: pytest.MonkeyPatch):
    folder = store_path("memory://careless")
    put = folder.fs.pipe_file
    monkeypatch.setattr(type(folder.fs), "pipe_file", lambda self, path, data, mode="overwrite": put(path, data))
    assert not keeps_conditions(folder)


def test_a_filesystem_without_conditions_is_looked_at_first(monkeypatch: pytest.MonkeyPatch):
    folder = store_path("memory://old")
    put = folder.fs.pipe_file
    monkeypatch.setattr(type(folder.fs), "pipe_file", lambda self, path, data: put(path, data))
    assert create_once(folder / "x", b"one")
    assert not create_once(folder / "x", b"two")


def test_objects_of_other_processes_are_listed_at_once(s3: str):
    folder = store_path(f"{s3}/listed")
    put_object(folder / "one", b"1")
    assert object_names(folder) == ["one"]
    code = f"from zs_assets.storage.object_store import *; put_object(store_path('{s3}/listed/two'), b'2')"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert object_names(folder) == ["one", "two"]
    delete_objects([folder / "one", folder / "gone already"])
    assert object_names(folder) == ["two"]


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_a_prefix_is_moved_with_all_below_it(kind: str, request: pytest.FixtureRequest):
    base = request.getfixturevalue("s3") if kind == "s3" else "memory://move"
    old, new = store_path(f"{base}/study"), store_path(f"{base}/_archive/study-1")
    names = ["receipt.json", "predictions/dataset=d/part.parquet", "journal/a/000001-000001.jsonl"]
    for name in names:
        put_object(old / name, name.encode())
    put_object(store_path(f"{base}/study_two/kept"), b"another study")
    assert move_objects(old, new) == len(names)
    assert [object_bytes(new / name) for name in names] == [name.encode() for name in names]
    assert object_names(old) == []
    assert object_bytes(store_path(f"{base}/study_two/kept")) == b"another study"


def test_the_first_sample_stays_frozen_and_the_refusal_names_both(root: str):
    folder = store_path(root) / "manifest"
    freeze_table(folder, manifest("aaa"), "the way out")
    with pytest.raises(FrozenManifestError, match=r"hash aaa, but the study now leads to bbb: the way out"):
        freeze_table(folder, manifest("bbb"), "the way out")
    assert metadata_of(read_table(folder))["manifest_hash"] == "aaa"
    freeze_table(folder, manifest("aaa"), "the way out")


def test_a_changed_manifest_is_made_again_from_the_source_and_only_as_it_was(root: str):
    folder = store_path(root) / "manifest"
    freeze_table(folder, manifest("aaa"), "")
    write_bytes(folder / TABLE, b"changed by hand")
    with pytest.raises(FrozenManifestError, match="aaa"):
        freeze_table(folder, manifest("bbb"), "")
    freeze_table(folder, manifest("aaa"), "")
    assert read_table(folder).num_rows == 3


def test_a_writer_killed_before_the_receipt_leaves_a_manifest_that_the_next_one_completes(root: str):
    folder = store_path(root) / "manifest"
    freeze_table(folder, manifest("aaa"), "")
    delete_objects([folder / RECEIPT])
    with pytest.raises(FrozenManifestError, match="aaa"):
        freeze_table(folder, manifest("bbb"), "")
    freeze_table(folder, manifest("aaa"), "")
    assert read_table(folder).num_rows == 3


@pytest.mark.parametrize("left", [b"", b'{"sha256": "ab', b"[]"], ids=["empty", "cut", "no object"])
def test_a_frozen_receipt_that_was_cut_off_is_one_sentence_and_nothing_is_overwritten(root: str, left: bytes):
    folder = store_path(root) / "manifest"
    freeze_table(folder, manifest("aaa"), "")
    write_bytes(folder / RECEIPT, left)
    before = {name: object_bytes(folder / name) for name in object_names(folder)}
    for other in (manifest("aaa", rows=4), manifest("bbb")):
        with pytest.raises(
            StorageError, match=r"manifest/receipt\.json is no whole JSON object.*: restore it, or delete"
        ):
            freeze_table(folder, other, "")
    assert {name: object_bytes(folder / name) for name in object_names(folder)} == before
    delete_objects([folder / RECEIPT])  # the way out: the table itself says what it is frozen with
    with pytest.raises(FrozenManifestError, match="aaa"):
        freeze_table(folder, manifest("bbb"), "")


def test_the_very_bytes_that_are_frozen_mend_a_receipt_that_was_cut_off(root: str):
    folder = store_path(root) / "manifest"
    freeze_table(folder, manifest("aaa"), "")
    write_bytes(folder / RECEIPT, b'{"sha256": "ab')
    freeze_table(folder, manifest("aaa"), "")
    assert read_table(folder).num_rows == 3


RACER = """
import sys, time
from zs_assets.protocol.errors import FrozenManifestError
from zs_assets.storage.frozen import freeze_table
from zs_assets.storage.object_store import store_path
from zs_assets_tests.storage.test_remote_create import manifest
root, own, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
store_path(root).fs.ls("") if "://" in root else None
print("ready", flush=True)
start = float(sys.stdin.readline())
for number in range(rounds):
    hashed = own if number % 5 else "same"
    time.sleep(max(0.0, start + 0.15 * number - time.time()))
    try:
        freeze_table(store_path(root) / f"round-{number}", manifest(hashed), "")
        print("won", flush=True)
    except FrozenManifestError as error:
        print(f"refused {error}", flush=True)
"""


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_of_two_processes_at_once_one_writes_the_manifest(kind: str, request: pytest.FixtureRequest, tmp_path: Path):

    root = f"{request.getfixturevalue('s3')}/race" if kind == "s3" else str(tmp_path / "race")
    command = [sys.executable, "-c", RACER, root]
    racers = [
        subprocess.Popen([*command, own, str(ROUNDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for own in ("aaa", "bbb")
    ]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(f"{time.time() + 0.3}\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=120)[0].splitlines() for racer in racers]
    for number in range(ROUNDS):
        frozen = metadata_of(read_table(store_path(root) / f"round-{number}"))["manifest_hash"]
        lines = {own: said[place][number] for place, own in enumerate(("aaa", "bbb"))}
        if number % 5 == 0:
            assert set(lines.values()) == {"won"}, "both made the same one"
            continue
        loser = "bbb" if frozen == "aaa" else "aaa"
        assert lines[frozen] == "won"
        assert lines[loser].startswith("refused") and "aaa" in lines[loser] and "bbb" in lines[loser]


def test_a_missing_bucket_is_one_sentence_and_is_not_made(s3: str):
    with pytest.raises(StorageError, match=r"Cannot write s3://no-such-bucket/x/y.json: there is no such bucket"):
        write_bytes(store_path("s3://no-such-bucket") / "x" / "y.json", b"1")
    with pytest.raises(StorageError, match=r"no such bucket.*ZS_LAKE"):
        create_once(store_path("s3://no-such-bucket/x"), b"1")


def test_refused_credentials_are_one_sentence_without_them():
    """The stand-in asks for a known key from its first request on; ours is unknown to it."""
    with s3_lake() as url:
        address = os.environ["AWS_ENDPOINT_URL"]
        asks = urllib.request.Request(f"{address}/moto-api/reset-auth", b"0", {"content-type": "text/plain"})
        urllib.request.urlopen(asks, timeout=10).close()
        for refused in (lambda path: put_object(path, b"1"), lambda path: create_once(path, b"1"), object_bytes):
            with pytest.raises(StorageError, match=rf"{url}/x: permission denied. Give these credentials") as said:
                refused(store_path(f"{url}/x"))
            assert os.environ["AWS_SECRET_ACCESS_KEY"] not in str(said.value)
        with pytest.raises(StorageError, match=r"Cannot write .*permission denied.*kept in the journal"):
            write_bytes(store_path(f"{url}/x"), b"1")


def test_an_unreachable_store_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("s3fs", reason="needs the extra s3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret-of-the-store")
    address = f"http://127.0.0.1:{free_port()}"
    path = store_path("s3://bucket/x")
    silent = type(path)("s3://bucket/x", endpoint_url=address, skip_instance_cache=True)
    with pytest.raises(StoreUnreachable, match=r"s3://bucket/x: the store does not answer.*AWS_ENDPOINT_URL") as said:
        put_object(silent, b"1")
    assert "secret-of-the-store" not in str(said.value)


def test_neither_a_password_in_an_address_nor_a_key_reaches_a_message(monkeypatch: pytest.MonkeyPatch):
    from zs_assets.storage.store_failures import clear_failures

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "0123456789abcdef")
    with pytest.raises(StorageError) as said, clear_failures("ftp://me:hidden@host/lake", "read"):
        raise RuntimeError("signature of 0123456789abcdef is wrong\nsecond line")
    assert "0123456789abcdef" not in str(said.value) and "hidden" not in str(said.value)
    assert "ftp://host/lake" in str(said.value) and "\n" not in str(said.value)
