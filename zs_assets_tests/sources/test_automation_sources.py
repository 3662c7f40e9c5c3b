"""Banking77 and WOS as the automation study reads them: paths, downloads, pins, sheets and the frozen samples."""

from __future__ import annotations

import hashlib
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import load_dataset, source_pin
from zs_assets.sources.sampling import draw
from zs_assets.storage.janus_export import dataset_jsonl
from zs_assets_tests.sources.real_data import TEST_DATA, needs_real_data

BANKING77_PROMPT = "5736ce180df568e6f6ce31640093764d8e046abe69110550e6429021c78439a7"
WOS_PROMPT = "43b5a9ea82befa3ebc26f48b5272d2770c73b2eb3336114ce733df1446c85f66"
LABELS = {"instructions": "Which area?", "labels": {"CS/Vision": "Seeing.", "ECE/Control": None}}
SAMPLE = {"kind": "uniform", "size": 500, "seed": 42}


def loaded(folder=None, **entry):
    return load_dataset(DatasetSpec.model_validate(entry), study_question="?", study_folder=folder)


@pytest.fixture
def automation(monkeypatch):
    folder = TEST_DATA / "automation"
    monkeypatch.setenv("ZS_BANKING77", str(folder / "banking77_test.csv"))
    monkeypatch.setenv("ZS_WOS", str(folder / "wos_1000.jsonl"))
    monkeypatch.setenv("ZS_AUTOMATION_LABELS", str(folder))
    return folder


@needs_real_data
def test_the_banking77_sample_is_rebuilt_byte_for_byte(automation):
    spec = DatasetSpec.model_validate(
        {"name": "banking77", "source": "banking77", "sample": SAMPLE, "prompt_hash": BANKING77_PROMPT}
    )
    dataset = load_dataset(spec, study_question="?", study_folder=None)
    sample = draw(dataset.examples, spec.sample, len(dataset.question))
    rebuilt = dataset_jsonl(sample, dataset.question)
    assert hashlib.sha256(rebuilt).hexdigest() == "33547bc2c3453057fbeb50cc5cb68da32c6da3c1b79b5deae47567c20fcf0bb6"
    assert rebuilt == (automation / "banking77_500.jsonl").read_bytes()


@needs_real_data
def test_wos_keeps_its_145_classes_and_their_published_prompt(automation):
    dataset = loaded(name="wos", source="wos", prompt_hash=WOS_PROMPT)
    assert len(dataset.question) == 145
    assert len(dataset.examples) == 1000
    rows = [json.loads(line) for line in (automation / "wos_1000.jsonl").read_text().splitlines()]
    found = [(int(e.example_id), e.text, dataset.question.ids[e.target_index]) for e in dataset.examples]
    assert found == [(row["id"], row["text"], row["gold_label"]) for row in rows]
    assert all(row["gold_label"].split("/")[0] == row["parent"] for row in rows)


@needs_real_data
def test_another_prompt_than_the_pinned_one_is_refused(automation):
    with pytest.raises(SourceError, match=f"leads to prompt_hash {WOS_PROMPT} where the study pins 5736ce"):
        loaded(name="wos", source="wos", prompt_hash=BANKING77_PROMPT)


@pytest.fixture
def sheet(tmp_path):
    """The Meta-data sheet's columns and its padded cells."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [
        ("Y1", "Y2", "Y", "Domain", "area", "keywords", "Abstract"),
        (0, 12, 12, "CS ", " Vision ", "a; b", " We see. "),
        (1, 2, 24, "ECE ", "Control", None, "We steer.\n"),
    ]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "Data.xlsx")
    (tmp_path / "labels.json").write_text(json.dumps(LABELS))
    return tmp_path


def test_the_meta_data_sheet_gives_domain_and_area_stripped(sheet):
    dataset = loaded(sheet, name="wos", source={"kind": "wos", "path": "Data.xlsx", "labels_file": "labels.json"})
    assert [(e.example_id, e.text, e.target_index) for e in dataset.examples] == [
        ("0", "We see.", 0),
        ("1", "We steer.", 1),
    ]
    assert dataset.question.instructions == "Which area?"


def test_a_table_without_the_columns_says_which_it_needs(sheet):
    (sheet / "rows.csv").write_text("abstract,field\nx,y\n")
    with pytest.raises(SourceError, match=r"neither the columns Domain, area, Abstract .* nor text and gold_label"):
        loaded(sheet, name="wos", source={"kind": "wos", "path": "rows.csv", "labels_file": "labels.json"})


def test_a_broken_workbook_is_one_sentence(sheet):
    (sheet / "Data.xlsx").write_bytes(b"PK no workbook")
    with pytest.raises(SourceError, match="cannot be read as xlsx"):
        loaded(sheet, name="wos", source={"kind": "wos", "path": "Data.xlsx", "labels_file": "labels.json"})


def test_a_changed_file_is_refused_by_its_pin(sheet):
    (sheet / "rows.csv").write_text("text,category\nx,CS/Vision\n")
    source = {"kind": "banking77", "path": "rows.csv", "labels_file": "labels.json", "sha256": "0" * 64}
    with pytest.raises(SourceError, match=r"has sha256 .* where the study pins 0000"):
        loaded(sheet, name="mine", source=source)
    assert loaded(sheet, name="mine", source={**source, "sha256": None}).examples[0].text == "x"


@pytest.fixture
def served(sheet):
    """The folder over HTTP, and the paths that were asked for."""
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(sheet)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_url_is_downloaded_once_and_pinned_without_a_download(sheet, served, monkeypatch, tmp_path):
    url, asked = served
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (sheet / "rows.csv").write_text("text,category\nx,CS/Vision\n")
    source = {"kind": "banking77", "path": f"{url}/rows.csv", "labels_file": f"{url}/labels.json", "sha256": None}
    spec = DatasetSpec.model_validate({"name": "mine", "source": source})
    before = source_pin(spec, None)
    assert asked == []
    for _ in range(2):
        assert load_dataset(spec, study_question="?", study_folder=None).examples[0].target_index == 0
    assert sorted(asked) == ["/labels.json", "/rows.csv"]
    assert source_pin(spec, None) == before


def test_a_failed_download_names_the_address_and_leaves_nothing(served, monkeypatch, tmp_path):
    url, _ = served
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(SourceError, match=r"could not be downloaded from .*/absent.csv \(HTTP 404\)"):
        loaded(name="mine", source={"kind": "banking77", "path": f"{url}/absent.csv"})
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("ZS_MY_FILE", raising=False)
    with pytest.raises(SourceError, match=r"names \$\{ZS_MY_FILE\}, which is not set: set ZS_MY_FILE"):
        loaded(name="mine", source={"kind": "wos", "path": "${ZS_MY_FILE}"})


def test_what_a_variable_held_is_in_no_message(served, monkeypatch, tmp_path):
    url, _ = served
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ZS_TOKEN", "very-secret-token")
    with pytest.raises(SourceError, match=r"absent.csv\?t=\$\{ZS_TOKEN\} \(HTTP 404\)") as refused:
        loaded(name="mine", source={"kind": "banking77", "path": f"{url}/absent.csv?t=${{ZS_TOKEN}}"})
    assert "very-secret-token" not in str(refused.value)


def test_a_download_refused_by_its_pin_is_fetched_again(sheet, served, monkeypatch, tmp_path):
    url, asked = served
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (sheet / "rows.csv").write_text("text,category\nx,CS/Vision\n")
    source = {"kind": "banking77", "path": f"{url}/rows.csv", "labels_file": f"{url}/labels.json", "sha256": "0" * 64}
    for _ in range(2):
        with pytest.raises(SourceError, match="where the study pins 0000"):
            loaded(name="mine", source=source)
    assert asked.count("/rows.csv") == 2


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"<html>login</html>"])
def test_what_is_no_workbook_is_one_sentence(sheet, content):
    (sheet / "Data.xlsx").write_bytes(content)
    with pytest.raises(SourceError, match="cannot be read as xlsx"):
        loaded(sheet, name="wos", source={"kind": "wos", "path": "Data.xlsx", "labels_file": "labels.json"})
