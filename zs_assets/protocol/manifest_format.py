"""The manifest as bytes: one JSON object a line, whose sha256 names the frozen sample.

The format is that of the published pilot, byte for byte: keys sorted, `, ` and `: ` between them, no ASCII escapes,
a line feed after every line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from zs_assets.protocol.hashing import sha256_bytes
from zs_assets.protocol.question import Example, Question


def manifest_jsonl(dataset_name: str, task: str, examples: Iterable[Example], question: Question) -> bytes:
    """The manifest of one dataset. A study's manifest is its datasets' manifests one after the other.

    `labels` holds what each option says, in declared order. Where option ids carry meaning of their own they are
    part of what is asked, so `option_ids` stands beside it; placeholders (`label_000`) are left out, as published.
    `sample_group` is there for datasets with groups only, so that no manifest without them changes its hash.
    """
    head: dict[str, Any] = {
        "dataset": dataset_name,
        "task": task,
        "labels": [option.sentence for option in question.options],
    }
    if not all(option.is_placeholder for option in question.options):
        head["option_ids"] = list(question.ids)
    lines = (
        json.dumps(
            {
                **head,
                "example_id": example.example_id,
                "text": example.text,
                "text_sha256": example.text_sha256,
                "target_index": example.target_index,
                **({} if example.group is None else {"sample_group": example.group}),
            },
            ensure_ascii=False,
            sort_keys=True,
        )
        for example in examples
    )
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def manifest_hash(dataset_name: str, task: str, examples: Iterable[Example], question: Question) -> str:
    """sha256 of the manifest's bytes."""
    return sha256_bytes(manifest_jsonl(dataset_name, task, examples, question))
