"""Rows of the automation study's format, where its data is at hand: 500 real replies, a fallback built to counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from zs_assets.protocol.janus_format import RUN_COLUMNS
from zs_assets_tests.sources.real_data import TEST_DATA

AUTOMATION = TEST_DATA / "automation"
PROMPT_HASH = "5736ce180df568e6f6ce31640093764d8e046abe69110550e6429021c78439a7"
# Of the published counts: both wrong with the same label, with different labels, primary right alone, fallback alone.
WRONG_SAME, PRIMARY_ONLY, FALLBACK_ONLY = 75, 22, 27


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def jev_rows() -> list[dict[str, Any]]:
    """The 500 real replies in the published columns; statistics stay null, they follow from the vector."""
    labels = json.loads((AUTOMATION / "banking77.labels.json").read_text(encoding="utf-8"))["labels"]
    texts = {row["id"]: row["text"] for row in lines(AUTOMATION / "banking77_500.jsonl")}
    rows = []
    for row in lines(AUTOMATION / "jev_banking77_500.compact.jsonl"):
        known = {
            "id": row["id"],
            "text": texts[row["id"]],
            "gold_label": row["gold"],
            "model_id": "jev-1.13.0",
            "prediction": row["pred"],
            "confidence": row["c"],
            "probabilities": {label: row["p"].get(label, 0.0) for label in labels},
            "input_tokens": row["tok"],
            "latency_ms": row["ms"],
            "prompt_hash": PROMPT_HASH,
            "run_date": row["t"],
        }
        rows.append({name: known.get(name) for name in RUN_COLUMNS})
    return rows


def fallback_rows() -> list[dict[str, Any]]:
    """A label-only run with the published agreement counts; tokens and times are the ten real rows', in turn."""
    real = lines(AUTOMATION / "deepseek_banking77_first10.jsonl")
    labels = list(json.loads((AUTOMATION / "banking77.labels.json").read_text(encoding="utf-8"))["labels"])
    rows, right, wrong = [], 0, 0
    for position, row in enumerate(jev_rows()):
        gold, said = row["gold_label"], row["prediction"]
        other = next(label for label in labels if label not in (gold, said))
        if said == gold:
            answer, right = (other if right < PRIMARY_ONLY else gold), right + 1
        else:
            answer = gold if wrong < FALLBACK_ONLY else said if wrong < FALLBACK_ONLY + WRONG_SAME else other
            wrong += 1
        billed = {name: value for name, value in real[position % len(real)].items() if name not in RUN_COLUMNS}
        measured = {name: real[position % len(real)][name] for name in ("input_tokens", "latency_ms", "run_date")}
        empty = dict.fromkeys(("confidence", "probabilities", "margin_top2", "entropy_norm", "ratio_top2"))
        rows.append(row | empty | {"model_id": "deepseek-v4-pro", "prediction": answer} | measured | billed)
    return rows


def write_run(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
