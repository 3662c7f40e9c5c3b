"""kill -9 of a worker at random moments; each time another machine goes on, which shares nothing but the lake."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from zs_assets.collection.journal_merge import calls_of
from zs_assets.collection.segment_objects import read_segments
from zs_assets.collection.segments import LEFT_ALONE
from zs_assets.emulator.server import LocalServer
from zs_assets.storage.journal_place import JournalPlace
from zs_assets.storage.object_store import object_names, store_path
from zs_assets_tests.collection.jev_run import KEY, collect_jev, presentations
from zs_assets_tests.remote_lake import s3_lake

COUNT = 150
KILLS = 6
TIMES = {"latency_ms", "run_date", "in_flight", "attempts"}


@pytest.fixture(scope="module")
def lake() -> Iterator[str]:
    with s3_lake() as url:
        yield f"{url}/killed"


def lines_on(lake: str) -> list[dict]:
    return [line for segment in read_segments(store_path(lake)) for line in calls_of(segment.lines)]


def kill_while_collecting(home: Path, lake: str, url: str, moment: random.Random) -> bool:
    """Starts a collecting process in a folder of its own, kills it; True if it was in the middle of its work."""
    before = len(object_names(store_path(lake)))
    code = (
        "import sys; from pathlib import Path; from zs_assets.storage.journal_place import JournalPlace; "
        "from zs_assets_tests.collection.jev_run import collect_jev; "
        f"collect_jev(JournalPlace(Path(sys.argv[1]), sys.argv[2]), sys.argv[3], {COUNT})"
    )
    command = [sys.executable, "-c", code, str(home / "journal.jsonl"), lake, url]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Objects, not seconds: on a busy machine a fixed wait might never let a reply arrive.
    wanted = before + moment.randint(2, 8)
    while process.poll() is None and len(object_names(store_path(lake))) < wanted:
        time.sleep(0.002)
    time.sleep(moment.uniform(0.0, 0.03))
    process.kill()
    return process.wait() == -9


def test_after_kills_on_other_machines_nothing_received_is_asked_again(tmp_path: Path, lake: str):
    moment = random.Random(20260917)
    texts = {p.id: p.example.text for p in presentations(COUNT)}
    with LocalServer("jev", seed=5, key=KEY) as server:
        for number in range(KILLS):
            home = tmp_path / f"machine-{number}"
            home.mkdir()
            assert kill_while_collecting(home, lake, server.url, moment), "finished before the kill: raise COUNT"
        lines = lines_on(lake)
        received = Counter(line["id"] for line in lines if line["k"] == "reply")
        asked = Counter(line["id"] for line in lines if line["k"] == "asked")
        before = server.stats()["requests_of_text"]
        for name, text in texts.items():
            assert before.get(text, 0) <= asked[name], "a call was sent that the lake does not know of"

        place = JournalPlace(tmp_path / "last" / "journal.jsonl", lake)
        collected = collect_jev(place, server.url, COUNT)
        after = server.stats()["requests_of_text"]
        uninterrupted = collect_jev(tmp_path / "whole.jsonl", server.url, COUNT)

    assert received and max(received.values()) == 1
    for name in received:
        assert after[texts[name]] == before[texts[name]], "a reply received was asked again"
    in_flight = sum(asked.values()) - sum(received.values())
    assert in_flight > 0, "no kill met a call in flight: the test would show nothing"
    assert collected.in_flight_at_stop == in_flight
    reported = Counter(
        row["presentation_id"] for row in collected.attempts.to_pylist() if row["result"] == "in_flight_at_stop"
    )
    for name, text in texts.items():
        assert 1 <= after[text] <= 1 + reported[name], "each was asked once, but for the calls that are reported"

    assert collected.predictions["presentation_id"].to_pylist() == list(texts)
    kept = [name for name in collected.predictions.column_names if name not in TIMES]
    assert collected.predictions.select(kept).equals(uninterrupted.predictions.select(kept))
    assert len(object_names(store_path(lake))) <= KILLS + 1 + LEFT_ALONE + 1, "merged, but for each machine's claim"
