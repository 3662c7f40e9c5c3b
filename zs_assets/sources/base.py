"""What every source gives: examples, the question asked about them, what was left out, and where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
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


def make_example(example_id: str, text: str, target_index: int | None) -> Example:
    """An example with its text exactly as the source has it: stripping would change what was asked."""
    return Example(example_id, text, sha256_text(text), target_index)


def sha256_of_files(paths: Iterable[Path]) -> str:
    """sha256 over the files' bytes one after the other, in blocks; for one file, the sha256 everybody else gets."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
