"""The key given in the environment appears in no file, event or log, also when the server echoes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from zs_assets.emulator.server import LocalServer
from zs_assets_tests.small_study import write_small_study

KEY = "apikey_4f1d2c9b7a_never_to_be_seen"


def run(home: Path, studies: Path, url: str, *arguments: str, key: str = KEY) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("DAGSTER_HOME", "ZS_LAKE")}
    environment |= {
        "ZS_HOME": str(home),
        "ZS_STUDIES": str(studies),
        "TYPESAFE_BASE_URL": url,
        "TYPESAFE_API_KEY": key,
    }
    return subprocess.run(
        [sys.executable, "-m", "zs_assets.cli", *arguments], env=environment, capture_output=True, text=True
    )


def files_with(folder: Path, secret: bytes) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


def test_the_key_is_in_no_file_event_or_log(tmp_path: Path):
    home, studies = tmp_path / "home", tmp_path / "studies"
    write_small_study(studies / "small", backends=["uniform", "jev"], analyses={}, attempt_budget=2)
    faults = [
        {"fault": "echo_key", "marker": "number 1"},
        {"fault": "echo_key_in_reply", "marker": "number 2"},
        {"fault": "400", "marker": "number 3"},
    ]
    with LocalServer("jev", key=KEY, faults=faults) as server:
        first = run(home, studies, server.url, "run", "small", "--publish")
        doctor = run(home, studies, server.url, "doctor", "jev")
        assert server.stats()["replies"] > 0
    assert first.returncode == 0, first.stdout + first.stderr
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "jev-1.13.0" in doctor.stdout
    assert len(list(home.rglob("*.parquet"))) > 5
    assert list(home.rglob("*.db")), "the event log was searched, too"
    assert files_with(home, KEY.encode()) == []
    assert KEY not in first.stdout + first.stderr + doctor.stdout + doctor.stderr
    assert files_with(home, b"key removed"), "the echo did arrive and was cleaned"


def test_a_wrong_key_is_one_sentence_without_the_key_and_the_other_backends_still_run(tmp_path: Path):
    home, studies = tmp_path / "home", tmp_path / "studies"
    write_small_study(studies / "small", backends=["uniform", "jev"], analyses={})
    with LocalServer("jev", key=KEY) as server:
        wrong = run(home, studies, server.url, "run", "small", key="apikey_wrong_one")
        requests = server.stats()["requests"]
    assert wrong.returncode == 1
    assert "http_401" in wrong.stderr
    assert "apikey_wrong_one" not in wrong.stdout + wrong.stderr
    assert files_with(home, b"apikey_wrong_one") == []
    assert requests == 0, "a refused call is no request of a text"
    assert len(list((home / "lake" / "small" / "predictions").rglob("backend=uniform/part.parquet"))) == 2


def test_a_missing_key_is_said_before_any_work_and_the_other_backends_still_run(tmp_path: Path):
    home, studies = tmp_path / "home", tmp_path / "studies"
    write_small_study(studies / "small", backends=["uniform", "jev"], analyses={})
    missing = run(home, studies, "http://127.0.0.1:1", "run", "small", key="")
    assert missing.returncode == 0
    assert "Backend 'jev' needs a key: set TYPESAFE_API_KEY." in missing.stderr
    asked_for = run(home, studies, "http://127.0.0.1:1", "run", "small", "--backend", "jev", key="")
    assert asked_for.returncode == 3
