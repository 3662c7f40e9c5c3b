"""A publication of private texts, file by file: no single record, no path, no hash, nothing that was not measured."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from zs_assets.assets import cells
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop, State
from zs_assets.protocol.names import AssetName
from zs_assets_tests.small_study import LABELS, ScriptedBackend

PRIVATE_FILE = "complaints_of_j_smith.csv"
GROUPS = {"random": 14, "other": 12, "rare_handful": 3}


def texts(dataset: str, groups: dict[str, int]) -> list[tuple[str, str]]:
    return [(f"{dataset} says {group} thing {i}.", group) for group, number in groups.items() for i in range(number)]


def moved(presentation: Any) -> dict[str, float]:
    """What stands first gets more, by an amount of the text's own."""
    first = 0.5 + (sum(presentation.example.text.encode()) % 40) / 100
    ids = [("rain", "bread")[index] for index in presentation.order]
    return {ids[0]: first, ids[1]: 1 - first}


class Published:
    def __init__(self, folder: Path, study: Path):
        self.folder = folder
        self.study = study
        self.files = [path for path in folder.rglob("*") if path.is_file()]
        self.report = json.loads((folder / "report.json").read_text())
        self.hashes = json.loads((folder / "hashes.json").read_text())
        self.aggregates = json.loads((folder / "order_aggregates.json").read_text())

    def tables(self) -> dict[str, pa.Table]:
        return {path.stem: pq.read_table(path) for path in self.files if path.suffix == ".parquet"}


def write_csv(path: Path, rows: list[tuple[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "group"), *rows])


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """Two private datasets, one of them of four texts, and a public one; `jev_1_14` is never run."""
    with pytest.MonkeyPatch.context() as patch, dg.DagsterInstance.ephemeral() as instance:
        patch.setenv("ZS_HOME", str(tmp_path_factory.mktemp("home")))
        for name in ("ZS_LAKE", "ZS_STUDIES", "ZS_SYSTEMS", "DAGSTER_HOME"):
            patch.delenv(name, raising=False)
        patch.setattr(
            cells, "build_backend", lambda spec, question, folder=None: ScriptedBackend(spec, question, moved)
        )
        study = write_study(tmp_path_factory.mktemp("study"))
        loop = PartitionLoop(load_study(study), instance)
        assert loop.run(["sparrow"]).failed == []
        step = loop.publish()
        assert step.state is State.MADE, step.reason
        yield Published(Path(loop.lake.folder("small", AssetName.PUBLICATION)), study.parent)


def write_study(folder: Path) -> Path:
    datasets = []
    for name, file, groups, private in (
        ("mine", PRIVATE_FILE, GROUPS, True),
        ("tiny", "tiny_private.csv", {"random": 4}, True),
        ("open", "open.csv", {"random": 8, "rare_handful": 4}, False),
    ):
        write_csv(folder / file, texts(name, groups))
        source = {"kind": "file", "path": file, "labels": dict(LABELS), "label_column": None, "group_column": "group"}
        datasets.append({"name": name, "source": source, "private": private})
    attributes = {
        "name": "small",
        "question": "What is the text about?",
        "datasets": datasets,
        "backends": ["sparrow", "jev_1_14"],
        "plan": {"orders": {"kind": "rotations", "seed": 3}, "repeats": 2, "shuffle_seed": 5},
        "analyses": {"order_sensitivity": {"resamples": 50, "permutations": 20, "seed": 7}},
    }
    path = folder / "defs.yaml"
    path.write_text(yaml.safe_dump({"type": "zs_assets.Study", "attributes": attributes}))
    return path


def test_no_file_names_a_small_group_text_path_or_hash_of_a_private_dataset(published):
    file = (published.study / PRIVATE_FILE).read_bytes()
    forbidden = [PRIVATE_FILE, "j_smith", str(published.study), hashlib.sha256(file).hexdigest(), "mine says"]
    forbidden += [hashlib.sha256(text.encode()).hexdigest() for text, _ in texts("mine", GROUPS)]
    assert len(published.files) > 20
    for path in published.files:
        content = path.read_bytes()
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            assert not set(table.schema.metadata or {}) - {b"ARROW:schema"}, path.name
            content = repr(table.to_pylist()).encode()
        for secret in forbidden:
            assert secret.encode() not in content, (path.name, secret)


def test_small_groups_are_in_no_table_and_the_public_one_of_the_same_name_is(published):
    for name, table in published.tables().items():
        rows = [row for row in table.to_pylist() if "sample_group" in row]
        assert ("mine", "rare_handful") not in {(row["dataset"], row["sample_group"]) for row in rows}, name
        assert ("mine", "other") not in {(row["dataset"], row["sample_group"]) for row in rows}, name
    for rows in (published.report["analyses"]["order_sensitivity"], published.aggregates["tables"]["order_coverage"]):
        found = {(row["dataset"], row["sample_group"]) for row in rows}
        assert found >= {("mine", "all"), ("mine", "random"), ("open", "rare_handful")}
    comparison = list(csv.DictReader((published.folder / "order_comparison.csv").open()))
    assert {row["sample_group"] for row in comparison if row["dataset"] == "mine"} == {"all", "random"}


def test_a_private_dataset_of_four_texts_publishes_no_order_figure_and_says_so(published):
    order_tables = [name for name in published.tables() if name.startswith(("order_", "repeat_", "follow_up"))]
    assert len(order_tables) == 10
    for name in order_tables:
        assert "tiny" not in published.tables()[name]["dataset"].to_pylist(), name
    said = [remark["sentence"] for remark in published.report["remarks"]]
    assert any(sentence.startswith("No order figures of tiny are published") for sentence in said)
    assert not any(verdict["dataset"] == "tiny" for verdict in published.report["order_verdicts"])
    page = (published.folder / "index.html").read_text()
    assert "No order figures of tiny are published" in page


def test_hashes_json_says_which_groups_were_withheld(published):
    said = " ".join(published.hashes["withheld"])
    assert "Group rare_handful of mine is not published" in said
    assert "Group other of mine is not published: what it leaves of all samples" in said
    assert "No order figures of tiny" in said and "open" not in said


def test_ranges_of_private_texts_go_out_in_bins_of_ten_points(published):
    rows = published.tables()["order_ranges"].to_pylist()
    assert {row["high"] - row["low"] for row in rows if row["dataset"] == "mine"} == {10.0}
    assert {row["high"] - row["low"] for row in rows if row["dataset"] == "open"} == {1.0}
    own = [
        row for row in rows if (row["dataset"], row["sample_group"], row["rule"]) == ("mine", "all", "strict_complete")
    ]
    assert sum(row["samples"] for row in own) == sum(GROUPS.values())


def test_a_private_source_is_its_kind_and_number_of_rows(published):
    pins = {facts["name"]: facts["source_pin"] for facts in published.report["datasets"]}
    assert pins["mine"] == "private file, 29 rows"
    assert "open.csv" in pins["open"]


def test_only_measured_systems_and_figures_are_in_the_bundle(published):
    assert [system["name"] for system in published.report["systems"]] == ["sparrow"]
    assert [system["name"] for system in published.aggregates["systems"]] == ["sparrow"]
    assert {row["backend"] for row in published.report["metrics"]} == {"sparrow"}
    assert {gap["backend"] for gap in published.report["missing"]} == {"jev_1_14"}  # named as never run, no more
    for path in published.files:
        assert b"over 14 orders" not in path.read_bytes(), path.name


def test_what_became_private_leaves_the_published_folder(home, instance, tmp_path, monkeypatch):
    monkeypatch.setattr(
        cells, "build_backend", lambda spec, question, folder=None: ScriptedBackend(spec, question, moved)
    )
    graph = load_study(write_study(tmp_path))
    loop = PartitionLoop(graph, instance)
    loop.run(["sparrow"], ["open"])
    loop.publish()
    folder = Path(loop.lake.folder("small", AssetName.PUBLICATION))
    assert (folder / "predictions" / "open__sparrow.csv").exists()
    private = tuple(dataset.model_copy(update={"private": True}) for dataset in graph.spec.datasets)
    hidden = replace(graph, spec=graph.spec.model_copy(update={"datasets": private}))
    step = PartitionLoop(hidden, instance).publish()
    assert step.state is State.MADE, step.reason
    assert list((folder / "predictions").glob("*")) == []
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written == {*json.loads((folder / "hashes.json").read_text())["files"], "hashes.json"}
