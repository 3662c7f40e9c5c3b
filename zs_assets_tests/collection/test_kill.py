"""kill -9 at random moments: after resume nothing is lost, nothing that was received is paid twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from zs_assets.collection.journal import journal_lines
from zs_assets.emulator.server import LocalServer
from zs_assets_tests.collection.jev_run import KEY, collect_jev, presentations

COUNT = 400
KILLS = 20
# Measured and varying by run; all else must be equal.
TIMES = {"latency_ms", "run_date", "in_flight", "attempts"}


def kill_while_collecting(journal: Path, url: str, moment: random.Random) -> bool:
    """Starts a collecting process and kills it; True if it was killed in the middle of its work."""
    before = journal.stat().st_size if journal.exists() else 0
    # Bytes, not seconds: on a busy machine a fixed wait might never let a reply arrive.
    grown = before + moment.randint(1, 9_000)
    command = [sys.executable, "-m", "zs_assets_tests.collection.jev_run", str(journal), url, str(COUNT)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and (not journal.exists() or journal.stat().st_size < grown):
        time.sleep(0.0005)
    time.sleep(moment.uniform(0.0, 0.003))
    process.kill()
    return process.wait() == -9


def test_after_twenty_kills_every_presentation_has_one_prediction_and_none_is_paid_twice(tmp_path: Path):
    moment = random.Random(20260917)
    journal = tmp_path / "killed.jsonl"
    with LocalServer("jev", seed=5, key=KEY) as server:
        killed = sum(kill_while_collecting(journal, server.url, moment) for _ in range(KILLS))
        assert killed == KILLS, "the process finished before it was killed: raise COUNT"
        received_before = Counter(line["id"] for _, line in journal_lines(journal) if line["k"] == "reply")
        asked_before = Counter(line["id"] for _, line in journal_lines(journal) if line["k"] == "asked")
        requests_before = server.stats()["requests_of_text"]

        collected = collect_jev(journal, server.url, COUNT)

        texts = {p.id: p.example.text for p in presentations(COUNT)}
        requests_after = server.stats()["requests_of_text"]
        uninterrupted = collect_jev(tmp_path / "whole.jsonl", server.url, COUNT)

    assert max(received_before.values()) == 1
    for name in received_before:
        assert requests_after[texts[name]] == requests_before[texts[name]], "a reply received was asked again"
    in_flight = sum(asked_before.values()) - sum(received_before.values())
    assert in_flight > 0, "no kill met a call in flight: the test would show nothing"
    assert collected.in_flight_at_stop == in_flight
    reported = [row for row in collected.attempts.to_pylist() if row["result"] == "in_flight_at_stop"]
    assert len(reported) == in_flight

    ids = collected.predictions["presentation_id"].to_pylist()
    assert ids == [p.id for p in presentations(COUNT)]
    kept = [name for name in collected.predictions.column_names if name not in TIMES]
    assert collected.predictions.select(kept).equals(uninterrupted.predictions.select(kept))
