"""The JSONL that SemIf's command `semif-score` writes: one row per decision, with its options in the order sent.

A row holds neither text nor question, only the hash of the prompt it made of them. The file the command read has both:
given as `manifest`, every row is checked against it; a `manifest.jsonl` of a study brings the texts' hashes alone. A
row's id is the example's, or a presentation's (`example/o3r1`) where a file holds several orders or repeats. Source:
src/semif_phase1/direct.py and cli.py of TheoLeeCJ/SemIf.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zs_assets.backends.local import sha256_file
from zs_assets.backends.recorded_rows import RecordedRow, RecordedSettings, count, json_lines, text
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.question import Question

COLUMNS = ("id", "option_ids", "probabilities", "model")
_PRESENTATION = re.compile(r"(?P<example>.+)/o(?P<order>\d+)r(?P<repeat>\d+)")
_Asked = dict[str, dict[str, Any]]


def semif_rows(
    pins: dict[str, str], settings: RecordedSettings, path: Path, manifest: Path | None, question: Question
) -> Iterator[RecordedRow]:
    """Every wanted row; `pins` is filled at the end. BackendUnavailable names a line that is no row of this format."""
    beside = path.with_name("manifest.jsonl")
    manifest = manifest or (beside if beside.is_file() else None)
    asked: _Asked = {} if manifest is None else {_name(row): row for _, row, _ in json_lines(manifest)}
    for number, row, line in json_lines(path):
        where = f"{path.name} line {number}"
        missing = [name for name in COLUMNS if name not in row]
        if missing or not isinstance(row["id"], str) or not isinstance(row["option_ids"], list):
            lacks = f"has no {', '.join(missing)}" if missing else "has an id or option_ids of another kind"
            raise BackendUnavailable(f"{where} {lacks}: it is no row of semif-score.")
        if settings.wants(model=model_of(row)):
            yield _row(row, line, asked, question, where)
    pins |= {
        "recording_sha256": sha256_file(path),
        "texts_checked_by": manifest.name if manifest else "nothing: the rows have no text, no manifest was given",
    }


def model_of(row: dict[str, Any]) -> str | None:
    """`source@revision` of the row's model; None where it names no source."""
    model = row.get("model")
    source, revision = (
        (text(model.get(key)) for key in ("source", "revision")) if isinstance(model, dict) else (None,) * 2
    )
    return source if source is None or revision is None else f"{source}@{revision}"


def _row(row: dict[str, Any], line: str, asked: _Asked, question: Question, where: str) -> RecordedRow:
    found = _PRESENTATION.fullmatch(row["id"])
    example_id = found["example"] if found else row["id"]
    request = asked.get(row["id"]) or asked.get(example_id) or {}
    order = tuple(question.index_of.get(name, -1) if isinstance(name, str) else -1 for name in row["option_ids"])
    same = sorted(order) == list(range(len(question))) and _asks(request, question)
    return RecordedRow(
        example_id=example_id,
        order_index=int(found["order"]) if found else 0,
        order=order if same else None,
        repeat=int(found["repeat"]) if found else 0,
        text_sha256=_text_hash(request),
        target_index=count(request.get("target_index")),
        failure=None,
        body=line,
        where=where,
    )


def _asks(request: dict[str, Any], question: Question) -> bool:
    """Whether a row of the command's input asks this question; a row that holds no question is not compared."""
    if "question" not in request or "options" not in request:
        return True
    options = request["options"] if isinstance(request["options"], list) else []
    described = {option.get("id"): option.get("description") for option in options if isinstance(option, dict)}
    sentences = {option.id: option.sentence for option in question.options}  # it takes no option without a description
    return request["question"] == question.instructions and described == sentences


def _text_hash(request: dict[str, Any]) -> str | None:
    state = request.get("state")
    if isinstance(state, dict):
        state = state.get("text")
    return sha256_text(state) if isinstance(state, str) else text(request.get("text_sha256"))


def _name(row: dict[str, Any]) -> str:
    return str(row.get("id", row.get("example_id")))
