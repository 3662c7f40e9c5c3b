"""Stored predictions of one system as the scores that the choice-order statistics read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.protocol.names import Outcome
from zs_assets.stats.order_scores import NO_LABEL, OrderScores

ORDER_SCORE_COLUMNS = ("example_id", "order_index", "repeat", "outcome", "probabilities", "choice")
"""Columns of a predictions table that are read here, so that a caller need not load the raw bodies."""


def order_scores_of(
    predictions: pa.Table,
    n_options: int,
    n_orders: int,
    n_repeats: int,
    example_ids: Sequence[str],
    option_ids: Sequence[str],
    orders: np.ndarray,
    decimals: int | None,
) -> OrderScores:
    """Place each prediction by its example, order and repeat; rows may come in any sequence.

    A reply has no scores, which is NaN, where the row is missing, its outcome is not ok, or it has a label only.

    Parameters
    ----------
    predictions : pa.Table
        At least ORDER_SCORE_COLUMNS of storage.schemas.PREDICTIONS, every row of a listed example.
    n_options, n_orders, n_repeats : int
        K, O and R of the plan.
    example_ids : n strings
        Samples in the sequence of the manifest.
    option_ids : K strings
        Declared order.
    orders : int (O, K)
        `orders[o, position]` is the declared index of the option sent at that position.
    decimals : int or None
        Decimals the system rounds to.

    Returns
    -------
    OrderScores

    Raises
    ------
    ValueError
        Columns are missing, a row lies outside the plan, two rows are the same reply, or a vector has another length.
    """
    absent = [name for name in ORDER_SCORE_COLUMNS if name not in predictions.column_names]
    if absent:
        raise ValueError(f"The predictions lack the columns {absent}: read {list(ORDER_SCORE_COLUMNS)}.")
    table = predictions.select(ORDER_SCORE_COLUMNS).combine_chunks()
    shape = len(example_ids), n_orders, n_repeats
    cell = reply_positions(table, example_ids, n_orders, n_repeats)
    answered = pc.equal(table["outcome"], Outcome.OK.value)
    scores = np.full((np.prod(shape, dtype=int), n_options), np.nan)
    chosen = np.full(len(scores), NO_LABEL, dtype=np.int64)
    with_vector = pc.and_(answered, pc.is_valid(table["probabilities"]))
    scores[cell[_numbers(with_vector)]] = _vectors(table["probabilities"].filter(with_vector), n_options)
    labels = _positions(table["choice"], option_ids, absent=NO_LABEL)
    chosen[cell] = np.where(_numbers(answered), labels, NO_LABEL)
    return OrderScores(scores.reshape(*shape, n_options), chosen.reshape(shape), np.asarray(orders), decimals)


def reply_positions(predictions: pa.Table, example_ids: Sequence[str], n_orders: int, n_repeats: int) -> np.ndarray:
    """Place of each prediction in the flattened samples x orders x repeats.

    Parameters
    ----------
    predictions : pa.Table
        Columns `example_id`, `order_index` and `repeat`; any sequence of rows.
    example_ids : n strings
    n_orders, n_repeats : int
        O and R.

    Returns
    -------
    int64 (rows,)
        All different.

    Raises
    ------
    ValueError
        A row lies outside the plan, or two rows are the same reply.
    """
    shape = len(example_ids), n_orders, n_repeats
    indices = (
        _positions(predictions["example_id"], example_ids, absent=-1),
        _numbers(predictions["order_index"]).astype(np.int64),
        _numbers(predictions["repeat"]).astype(np.int64),
    )
    planned = np.logical_and.reduce([(i >= 0) & (i < size) for i, size in zip(indices, shape, strict=True)])
    if not planned.all():
        raise ValueError(
            f"{_named(predictions, ~planned)} is not in the plan of {shape[0]} samples x {shape[1]} orders x {shape[2]}"
            " repeats: read the predictions with the manifest and plan they were made for."
        )
    # The rows are checked, so the flat index cannot leave the array.
    cell = np.ravel_multi_index(indices, shape).astype(np.int64)
    repeated = np.bincount(cell, minlength=1)[cell] > 1
    if repeated.any():
        raise ValueError(f"{_named(predictions, repeated)} has more than one prediction: keep the primary one.")
    return cell


def _named(predictions: pa.Table, rows: np.ndarray) -> str:
    """The first of these rows, for a message."""
    first = int(np.argmax(rows))
    example, order, repeat = (predictions[name][first].as_py() for name in ("example_id", "order_index", "repeat"))
    return f"example {example!r}, order {order}, repeat {repeat}"


def _positions(values: pa.ChunkedArray, among: Sequence[str], *, absent: int) -> np.ndarray:
    """int64 (rows,): place of each string in `among`; `absent` for null and for strings that are not there.

    A column of few distinct strings may come dictionary-encoded from Parquet; then only those are looked up.
    """
    known = pa.array(among, pa.string())
    if not pa.types.is_dictionary(values.type):
        return _numbers(pc.index_in(values, known).fill_null(absent)).astype(np.int64)
    encoded = values.combine_chunks()
    entries = _numbers(pc.index_in(encoded.dictionary.cast(pa.string()), known).fill_null(absent)).astype(np.int64)
    codes = _numbers(encoded.indices.fill_null(len(entries)))
    return np.append(entries, absent)[codes]


def _vectors(lists: pa.ChunkedArray, n_options: int) -> np.ndarray:
    """float64 (rows, K) of lists without nulls among them."""
    lengths = _numbers(pc.list_value_length(lists))
    if (lengths != n_options).any():
        other = lengths[lengths != n_options][0]
        raise ValueError(f"A vector of probabilities has {other} values where the question has {n_options} options.")
    return _numbers(pc.list_flatten(lists)).astype(np.float64, copy=False).reshape(-1, n_options)


def _numbers(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    return column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
