"""Predictions in any sequence become scores at their example, order and repeat; what has no scores is NaN."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zs_assets.assets.order_scores_reading import ORDER_SCORE_COLUMNS, order_scores_of, reply_positions
from zs_assets.protocol.names import Outcome
from zs_assets.stats import NO_LABEL, OrderScores
from zs_assets_tests.prediction_rows import OPTIONS, predictions_table, row

EXAMPLES = ("d:2", "d:0", "d:1")
ORDERS = np.array([[0, 1, 2], [2, 1, 0]])
REPEATS = 2
PLAN = list(itertools.product(EXAMPLES, range(len(ORDERS)), range(REPEATS)))


def vector(example: str, order: int, repeat: int) -> list[float]:
    """Tells the three apart."""
    return [int(example[2:]) / 10, order / 10, repeat / 10]


def predictions(changes: dict[int, dict] | None = None) -> pa.Table:
    """All planned rows, with changes of some of them."""
    rows = []
    for at, (example, order, repeat) in enumerate(PLAN):
        cell = {"example_id": example, "order_index": order, "repeat": repeat}
        rows.append(row(0, **cell | {"probabilities": vector(*PLAN[at])} | (changes or {}).get(at, {})))
    return predictions_table(rows)


def read(table: pa.Table) -> OrderScores:
    return order_scores_of(table, len(OPTIONS), len(ORDERS), REPEATS, EXAMPLES, OPTIONS, ORDERS, decimals=2)


def test_rows_in_any_sequence_land_at_their_example_order_and_repeat():
    table = predictions().take(np.random.default_rng(1).permutation(len(PLAN)))
    scores = read(table)
    for sample, example in enumerate(EXAMPLES):
        for order, repeat in itertools.product(range(len(ORDERS)), range(REPEATS)):
            assert scores.scores[sample, order, repeat].tolist() == vector(example, order, repeat)
    assert (scores.orders.tolist(), scores.decimals) == (ORDERS.tolist(), 2)
    places = reply_positions(table, EXAMPLES, len(ORDERS), REPEATS)
    assert [PLAN[place] for place in places] == [
        (r["example_id"], r["order_index"], r["repeat"]) for r in table.to_pylist()
    ]


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.OK])
def test_a_row_whose_outcome_is_not_ok_has_no_scores_and_no_label(outcome):
    scores = read(predictions({3: {"outcome": outcome}}))
    assert np.flatnonzero(~scores.scored.ravel()).tolist() == [3]
    assert np.isnan(scores.scores.reshape(-1, 3)[3]).all()
    assert scores.chosen.ravel()[3] == NO_LABEL


def test_a_label_without_a_vector_is_no_score():
    scores = read(predictions({5: {"probabilities": None, "choice": "b"}}))
    assert np.flatnonzero(~scores.scored.ravel()).tolist() == [5]
    assert scores.chosen.ravel()[5] == 1


def test_a_planned_row_that_is_missing_has_no_scores():
    scores = read(predictions().slice(1))
    assert np.flatnonzero(~scores.scored.ravel()).tolist() == [0]


def test_labels_are_declared_indices_and_may_be_missing():
    scores = read(predictions({0: {"choice": "c"}, 1: {"choice": None}, 2: {"choice": "b"}}))
    assert scores.chosen.ravel()[:4].tolist() == [2, NO_LABEL, 1, 0]


def test_a_system_without_any_vector_is_read_too():
    scores = read(predictions({at: {"probabilities": None} for at in range(len(PLAN))}))
    assert not scores.scored.any()


def test_only_the_columns_it_names_are_needed():
    everything, few = read(predictions()), read(predictions().select(ORDER_SCORE_COLUMNS))
    assert np.array_equal(few.scores, everything.scores)
    with pytest.raises(ValueError, match=r"lack the columns \['choice'\]"):
        read(predictions().drop_columns(["choice"]))


def test_ids_that_come_dictionary_encoded_are_read_alike(tmp_path):
    table = predictions({1: {"choice": None}, 4: {"outcome": Outcome.REFUSAL, "probabilities": None}})
    pq.write_table(table, tmp_path / "part.parquet", row_group_size=5)
    encoded = pq.read_table(tmp_path / "part.parquet", read_dictionary=["example_id", "choice", "outcome"])
    assert pa.types.is_dictionary(encoded["choice"].type)
    plain, again = read(table), read(encoded)
    assert np.array_equal(again.scores, plain.scores, equal_nan=True)
    assert np.array_equal(again.chosen, plain.chosen)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            {"example_id": "d:9"},
            "example 'd:9', order 1, repeat 1 is not in the plan of 3 samples x 2 orders x 2 repeats",
        ),
        ({"order_index": 2}, "example 'd:2', order 2, repeat 1 is not in the plan"),
        ({"repeat": -1}, "example 'd:2', order 1, repeat -1 is not in the plan"),
        ({"repeat": 0}, "example 'd:2', order 1, repeat 0 has more than one prediction"),
        ({"probabilities": [0.5, 0.5]}, "A vector of probabilities has 2 values where the question has 3 options"),
    ],
)
def test_rows_outside_the_plan_are_refused_by_name(change, named):
    with pytest.raises(ValueError, match=named):
        read(predictions({3: change}))
