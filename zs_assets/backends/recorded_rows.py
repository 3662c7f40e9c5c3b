"""One row of a saved run, whatever its format, and the lines of a JSONL file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zs_assets.backends.local import Settings
from zs_assets.protocol.errors import BackendUnavailable

NO_GOLD = -1


class RecordedSettings(Settings):
    """Which rows of which recording. `manifest` (jev_benchmarks, semif) brings the text hashes that the rows lack.

    Of semif it may also be the file the command read: then question and descriptions are compared, too.
    """

    path: str
    format: Literal["native", "jev_benchmarks", "janus", "semif"] = "native"
    dataset: str | None = None
    backend: str | None = None
    model: str | None = None  # model_resolved
    manifest: str | None = None  # default: manifest.jsonl beside the recording, where there is one

    def wants(self, **values: Any) -> bool:
        """Whether a row of these values is among those chosen."""
        chosen = self.model_dump(include=set(values), exclude_none=True)
        return all(values[name] == value for name, value in chosen.items())


@dataclass(frozen=True)
class RecordedRow:
    """One row and what must agree with the manifest before it may stand for a reply."""

    example_id: str
    order_index: int
    order: tuple[int, ...] | None  # None: recorded with other labels or another prompt
    repeat: int
    text_sha256: str | None
    target_index: int | None  # NO_GOLD: a gold label that is none of the options
    failure: str | None  # no reply was recorded, because ...
    body: str
    where: str


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any], str]]:
    """(line number, row, line as it stands) of a JSONL file."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise BackendUnavailable(f"{path.name} line {number} is not a JSON object: repair or remove it.")
            yield number, row, line.rstrip("\r\n")


def text(value: Any) -> str | None:
    """Text that every file can hold; None for anything else. JSON can escape half a surrogate pair, UTF-8 cannot."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else None


def count(value: Any) -> int | None:
    """A whole number that is not negative; None for everything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def number(value: Any) -> float | None:
    return float(value) if isinstance(value, float) or count(value) is not None else None
