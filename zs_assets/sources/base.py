"""What every source gives: examples, the question asked about them, what was left out, and where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.question import Example, Question


@dataclass(frozen=True)
class Dataset:
    """Every valid example of a source, before any draw."""

    examples: tuple[Example, ...]
    question: Question
    excluded: dict[str, int]  # reason -> how many examples were left out for it
    provenance: dict[str, str]  # repository, revision, path, sha256, rows ...


def make_example(example_id: str, text: str, target_index: int | None, group: str | None = None) -> Example:
    """An example with its text exactly as the source has it: stripping would change what was asked."""
    return Example(example_id, text, sha256_text(text), target_index, group)


def repeated_texts(examples: Sequence[Example]) -> dict[str, str]:
    """How many different texts there are, for a dataset's provenance; empty where every text is clearly its own.

    Texts are the same when their bytes are: those clusters are what is resampled. Texts that differ only by white
    space count as different, so the second number says when a file holds such near copies.
    """
    texts = {example.text for example in examples}
    but_for_white_space = len({" ".join(text.split()) for text in texts})
    counts = {}
    if len(texts) < len(examples):
        counts["distinct_texts"] = str(len(texts))
    if but_for_white_space < len(texts):
        counts["distinct_texts_but_for_white_space"] = str(but_for_white_space)
    return counts


def sha256_of_files(paths: Iterable[Path]) -> str:
    """sha256 over the files' bytes one after the other, in blocks; for one file, the sha256 everybody else gets."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
