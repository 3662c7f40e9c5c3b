"""A large plan is stored as one file per repeat: complete, unchanged and nothing else, or it is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.hashing import sha256_bytes
from zs_assets.protocol.names import AssetName
from zs_assets.storage import lake as lake_module
from zs_assets.storage.lake import Lake, metadata_of, parquet_bytes, with_metadata, write_table
from zs_assets.storage.warehouse import replace_study

CELL = {"study": "s", "asset": AssetName.PREDICTIONS, "dataset": "2024", "backend": "b"}
PARTS = ["part-0.parquet", "part-1.parquet", "part-2.parquet"]


def plan_table(repeats: int = 3, per_repeat: int = 4_000) -> pa.Table:
    repeat = np.repeat(np.arange(repeats, dtype=np.int32), per_repeat)
    table = pa.table({"repeat": repeat, "value": np.arange(len(repeat))})
    return with_metadata(table, protocol_hash="p")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


@pytest.fixture
def folder(lake: Lake) -> Path:
    return Path(lake.folder(**CELL))


def store(lake: Lake, table: pa.Table) -> str:
    return write_table(lake.folder(**CELL), table).sha256


def parts_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".parquet")


def test_a_large_plan_is_one_file_per_repeat_and_comes_back_as_it_was(lake: Lake, folder: Path):
    store(lake, plan_table())
    assert parts_in(folder) == PARTS
    back = lake.read(**CELL)
    assert back.equals(plan_table())
    assert metadata_of(back)["protocol_hash"] == "p"
    assert [set(pq.read_table(folder / name)["repeat"].to_pylist()) for name in PARTS] == [{0}, {1}, {2}]
    assert lake.has(**CELL)


def test_the_receipt_names_every_file_with_its_hash(lake: Lake, folder: Path):
    digest = store(lake, plan_table())
    receipt = json.loads((folder / "receipt.json").read_text())
    assert receipt["files"] == {name: sha256_bytes((folder / name).read_bytes()) for name in PARTS}
    assert (receipt["rows"], receipt["sha256"], lake.sha256(**CELL)) == (12_000, digest, digest)


@pytest.mark.parametrize(
    "table",
    [
        plan_table(3, 3_333),
        plan_table(1, 12_000),
        plan_table().drop_columns(["repeat"]),
        plan_table().take(pa.array(np.arange(12_000)[::-1])),
    ],
    ids=["small", "one repeat", "no repeat (attempts)", "another sequence"],
)
def test_other_tables_stay_one_file(lake: Lake, folder: Path, table: pa.Table):
    store(lake, table)
    assert parts_in(folder) == ["part.parquet"]
    assert lake.read(**CELL).equals(table)


def test_more_than_ten_repeats_keep_their_sequence(lake: Lake):
    store(lake, plan_table(12, 1_000))
    assert lake.read(**CELL)["value"].to_pylist() == list(range(12_000))


def test_a_lake_of_the_older_form_stays_readable(lake: Lake, folder: Path):
    folder.mkdir(parents=True)
    data = parquet_bytes(plan_table())
    (folder / "part.parquet").write_bytes(data)
    (folder / "receipt.json").write_text(json.dumps({"sha256": sha256_bytes(data), "rows": 12_000}))
    assert lake.read(**CELL).equals(plan_table())
    assert lake.sha256(**CELL) == sha256_bytes(data)


def change(folder: Path) -> None:
    other = plan_table().set_column(1, "value", pa.array(np.arange(12_000)[::-1])).slice(4_000, 4_000)
    pq.write_table(other, folder / "part-1.parquet")


def rename(folder: Path) -> None:
    """The same bytes under the names of two other repeats."""
    first, second = (folder / name for name in PARTS[:2])
    first_bytes = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(first_bytes)


def forget(folder: Path) -> None:
    """A repeat less, receipt included."""
    receipt = json.loads((folder / "receipt.json").read_text())
    del receipt["files"]["part-2.parquet"]
    (folder / "receipt.json").write_text(json.dumps(receipt))
    (folder / "part-2.parquet").unlink()


TAMPERING: dict[str, tuple[Callable[[Path], object], str]] = {
    "changed": (change, r"part-1\.parquet was changed after it was checked"),
    "missing": (lambda folder: (folder / "part-2.parquet").unlink(), r"part-2\.parquet is not there: materialise"),
    "additional": (
        lambda folder: (folder / "part-3.parquet").write_bytes((folder / "part-2.parquet").read_bytes()),
        r"part-3\.parquet is none of the files that were checked",
    ),
    "older form left behind": (
        lambda folder: pq.write_table(plan_table(), folder / "part.parquet"),
        r"part\.parquet is none of the files that were checked",
    ),
    "names exchanged": (rename, "was changed after it was checked"),
    "forgotten in the receipt": (forget, r"receipt\.json was changed after it was written"),
    "no receipt": (lambda folder: (folder / "receipt.json").unlink(), r"receipt\.json is not there: materialise"),
}


@pytest.mark.parametrize("how", TAMPERING)
def test_a_changed_missing_or_additional_part_is_refused(lake: Lake, folder: Path, how: str):
    store(lake, plan_table())
    tamper, reason = TAMPERING[how]
    tamper(folder)
    with pytest.raises(GateRefused, match=reason):
        lake.read(**CELL)


def test_a_part_beside_a_single_file_is_refused_too(lake: Lake, folder: Path):
    store(lake, plan_table(3, 10))
    pq.write_table(plan_table(3, 10), folder / "part-0.parquet")
    with pytest.raises(GateRefused, match="none of the files that were checked"):
        lake.read(**CELL)


SMALL, LARGE, LARGER = plan_table(3, 10), plan_table(), plan_table(5)


@pytest.mark.parametrize("first", [SMALL, LARGE, LARGER], ids=["small", "3 repeats", "5 repeats"])
@pytest.mark.parametrize("second", [SMALL, LARGE, LARGER], ids=["small", "3 repeats", "5 repeats"])
def test_a_table_of_another_form_leaves_no_stale_file(lake: Lake, folder: Path, first: pa.Table, second: pa.Table):
    store(lake, first)
    store(lake, second)
    assert [path.name for path in lake.files(**CELL)] == parts_in(folder)
    assert lake.read(**CELL).equals(second)


class Killed(BaseException):
    """The process ends between two writes."""


@pytest.mark.parametrize("first", [SMALL, LARGER], ids=["small", "5 repeats"])
@pytest.mark.parametrize("writes", range(4))
def test_a_kill_between_two_writes_leaves_the_old_table_or_a_refusal(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, first: pa.Table, writes: int
):
    changed = plan_table().set_column(1, "value", pa.array(np.arange(12_000) + 1))
    store(lake, first)
    done = []
    whole_file = lake_module.write_bytes

    def write_then_die(path, data: bytes) -> None:
        if len(done) == writes:
            raise Killed
        done.append(path)
        whole_file(path, data)

    monkeypatch.setattr(lake_module, "write_bytes", write_then_die)
    with pytest.raises(Killed):
        store(lake, changed)
    try:
        assert lake.read(**CELL).equals(first)
    except GateRefused:
        assert writes > 0
    monkeypatch.undo()
    store(lake, changed)
    assert lake.read(**CELL).equals(changed)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(row=st.integers(0, 11_999))
def test_the_hash_of_a_partition_changes_when_any_row_does(lake: Lake, row: int):
    values = np.arange(12_000)
    values[row] = -1
    assert store(lake, plan_table()) != store(lake, plan_table().set_column(1, "value", pa.array(values)))
    assert store(lake, plan_table()) == store(lake, plan_table())


def test_parts_on_object_storage_are_read_and_replaced():
    lake = Lake("memory://part-files/prefix")
    store(lake, LARGER)
    store(lake, LARGE)
    assert lake.read(**CELL).equals(LARGE)
    assert [path.name for path in lake.files(**CELL)] == PARTS
    store(lake, SMALL)
    assert lake.read(**CELL).equals(SMALL)
    assert lake.has(**CELL)


@pytest.mark.parametrize("table", [SMALL, LARGE], ids=["one file", "by repeat"])
def test_the_warehouse_shows_either_form_and_keeps_a_number_like_name_text(lake: Lake, tmp_path: Path, table: pa.Table):
    store(lake, table)
    path = tmp_path / "warehouse.duckdb"
    files = [str(file) for file in lake.files(**CELL)]
    with duckdb.connect() as connection:
        replace_study(connection, path, "s", {}, {"predictions": files})
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.execute(
            "select dataset, backend, count(*), count(distinct repeat) from s.predictions group by all"
        )
        assert rows.fetchall() == [("2024", "b", table.num_rows, 3)]
