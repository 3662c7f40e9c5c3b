"""The lake: whole files or nothing, and a changed file is refused."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from upath import UPath

from zs_assets.protocol.code_identity import code_identity
from zs_assets.protocol.errors import GateRefused, StorageError
from zs_assets.protocol.names import AssetName
from zs_assets.storage.lake import Lake, metadata_of, read_table, with_metadata, write_bytes, write_table

TABLE = pa.table({"x": [1, 2, 3]})


def test_a_table_comes_back_with_its_metadata(tmp_path):
    folder = Lake(str(tmp_path)).folder("s", AssetName.METRICS, dataset="d", backend="b")
    write_table(folder, with_metadata(TABLE, protocol_hash="p"))
    back = read_table(folder)
    assert back.column("x").to_pylist() == [1, 2, 3]
    assert metadata_of(back)["protocol_hash"] == "p"
    assert (tmp_path / "s" / "metrics" / "dataset=d" / "backend=b" / "part.parquet").exists()


def test_a_file_changed_after_it_was_written_is_refused(tmp_path):
    lake = Lake(str(tmp_path))
    cell = ("s", AssetName.PREDICTIONS)
    write_table(lake.folder(*cell), TABLE)
    pq.write_table(pa.table({"x": [1, 2, 4]}), str(lake.table(*cell)))
    with pytest.raises(GateRefused, match="was changed after it was checked"):
        lake.read(*cell)


def test_a_table_that_was_never_written_is_refused_by_name(tmp_path):
    with pytest.raises(GateRefused, match="is not there: materialise"):
        Lake(str(tmp_path)).read("s", AssetName.METRICS)


def test_no_temporary_file_is_left_behind(tmp_path):
    path = Lake(str(tmp_path)).root / "folder" / "file.json"
    write_bytes(path, b"one")
    write_bytes(path, b"two")
    assert [p.name for p in (tmp_path / "folder").iterdir()] == ["file.json"]
    assert path.read_bytes() == b"two"


def test_an_unwritable_lake_is_one_clear_sentence(tmp_path):
    (tmp_path / "lake").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match=r"Cannot write .*ZS_LAKE.*journal"):
        write_bytes(Lake(str(tmp_path / "lake")).root / "x" / "y.json", b"1")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_lake_is_one_clear_sentence(tmp_path):
    (tmp_path / "lake").mkdir(mode=0o500)
    with pytest.raises(StorageError, match="Permission denied"):
        write_bytes(Lake(str(tmp_path / "lake")).root / "x" / "y.json", b"1")


def test_a_lake_on_object_storage_is_written_by_one_put():
    lake = Lake("memory://bucket/prefix")
    write_table(lake.folder("s", AssetName.METRICS, dataset="d", backend="b"), TABLE)
    assert lake.read("s", AssetName.METRICS, dataset="d", backend="b").num_rows == 3


def test_every_table_names_the_code_that_made_it(tmp_path):
    plain = pa.table({"a": [1]}).replace_schema_metadata({"own": "kept"})
    write_table(UPath(tmp_path / "t"), plain)
    stored = metadata_of(read_table(UPath(tmp_path / "t")))
    assert stored == {"own": "kept", **vars(code_identity())}
