"""Text-hypothesis pairs (BTZSC's layout) decoded into examples, whole columns at a time.

An example is K consecutive rows with the same text, one per hypothesis, in one fixed hypothesis order. Every row is
checked against that layout before any example is made: a shifted row would move gold labels without a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zs_assets.protocol.errors import SourceError

TEXT, HYPOTHESIS, LABELS, DATASET_ID = "text", "hypothesis", "labels", "dataset_id"
NO_POSITIVE = "no_positive_option"
SEVERAL_POSITIVE = "several_positive_options"


@dataclass(frozen=True)
class Pairs:
    """Decoded examples with exactly one positive option; `groups` are their indices among all examples."""

    hypotheses: tuple[str, ...]
    groups: list[int]
    texts: list[str]
    targets: list[int]
    excluded: dict[str, int]
    rows: int


def read_pairs(files: Sequence[Path], config: str) -> Pairs:
    """Read and decode the parquet files of one configuration; anything off the layout is a SourceError."""
    name = f"BTZSC '{config}' ({files[0]})"
    table = pa.concat_tables([_read(file, config) for file in files])
    if table.num_rows == 0:
        raise SourceError(f"{name} holds no rows: download the file again.")
    text_codes, texts = _encode(table.column(TEXT))
    hypothesis_codes, hypotheses = _encode(table.column(HYPOTHESIS))
    labels = table.column(LABELS).to_numpy()

    width = _group_width(text_codes, hypothesis_codes)
    _check_layout(name, width, text_codes, hypothesis_codes, labels)

    by_group = labels.reshape(-1, width)
    positives = by_group.sum(axis=1)
    valid = np.flatnonzero(positives == 1)
    return Pairs(
        hypotheses=tuple(hypotheses.take(pa.array(hypothesis_codes[:width])).to_pylist()),
        groups=valid.tolist(),
        texts=texts.take(pa.array(text_codes[valid * width])).to_pylist(),
        targets=by_group[valid].argmax(axis=1).tolist(),
        excluded={NO_POSITIVE: int((positives == 0).sum()), SEVERAL_POSITIVE: int((positives > 1).sum())},
        rows=table.num_rows,
    )


def _read(file: Path, config: str) -> pa.Table:
    name = f"BTZSC '{config}' ({file})"
    try:
        with pq.ParquetFile(file) as parquet:
            present = parquet.schema_arrow.names
            missing = [column for column in (TEXT, HYPOTHESIS, LABELS) if column not in present]
            if missing:
                raise SourceError(
                    f"{name} lacks the column {', '.join(missing)}, it has {', '.join(present)}: use BTZSC's own file."
                )
            table = parquet.read(columns=[c for c in (TEXT, HYPOTHESIS, LABELS, DATASET_ID) if c in present])
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{name} cannot be read as parquet ({error}): download it again.") from error
    try:
        # Dictionary-encoded and large strings are as good as plain ones.
        table = table.cast(pa.schema([(c, pa.int64() if c == LABELS else pa.string()) for c in table.column_names]))
    except pa.ArrowException as error:
        raise SourceError(f"{name} has columns of another type ({error}): use BTZSC's own file.") from error
    for column in (TEXT, HYPOTHESIS, LABELS):
        if table.column(column).null_count:
            row = table.column(column).is_null().to_numpy().argmax() + 1
            raise SourceError(f"{name} has no {column} in row {row}: use BTZSC's own file.")
    if DATASET_ID in table.column_names:
        foreign = [value for value in table.column(DATASET_ID).unique().to_pylist() if value != config]
        if foreign:
            raise SourceError(f"{name} holds rows of '{foreign[0]}': put the file of '{config}' there.")
        table = table.drop_columns([DATASET_ID])
    return table


def _encode(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """(codes, values): equal strings have equal codes, so rows are compared as integers."""
    encoded = column.dictionary_encode().unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks])
    return codes, encoded.chunk(0).dictionary


def _group_width(texts: np.ndarray, hypotheses: np.ndarray) -> int:
    """K, the number of hypotheses: the length of the first run of equal texts.

    Where the first examples share one text the run is a multiple of K; there the return of the first hypothesis
    ends the first example.
    """
    other_text = np.flatnonzero(texts != texts[0])
    run = int(other_text[0]) if len(other_text) else len(texts)
    again = np.flatnonzero(hypotheses[1:run] == hypotheses[0])
    return int(again[0]) + 1 if len(again) else run


def _check_layout(name: str, width: int, texts: np.ndarray, hypotheses: np.ndarray, labels: np.ndarray) -> None:
    if width < 2:
        raise SourceError(f"{name} has one hypothesis per text, which leaves nothing to choose: use BTZSC's own file.")
    if len(np.unique(hypotheses[:width])) != width:
        raise SourceError(
            f"{name} repeats a hypothesis within its first example of {width} rows: use BTZSC's own file."
        )
    foreign = np.flatnonzero((labels != 0) & (labels != 1))
    if len(foreign):
        row = foreign[0]
        raise SourceError(f"{name} has label {labels[row]} in row {row + 1}, only 0 and 1 are known: use BTZSC's file.")
    whole = len(texts) // width * width
    group_start = np.arange(whole) // width * width
    off = np.flatnonzero(
        (texts[:whole] != texts[group_start]) | (hypotheses[:whole] != hypotheses[np.arange(whole) % width])
    )
    if len(off):
        raise SourceError(
            f"{name} breaks its layout in row {off[0] + 1}: every example is {width} rows with one text and the same "
            "order of hypotheses, so download the file again."
        )
    if whole != len(texts):
        raise SourceError(
            f"{name} ends within an example: {len(texts)} rows are no multiple of its {width} hypotheses, "
            "so download the file again."
        )
