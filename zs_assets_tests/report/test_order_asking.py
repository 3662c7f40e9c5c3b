"""How many orders to ask: the sentences of the card, the overview table, and the points of the curves."""

from __future__ import annotations

from typing import Any

import pytest

from zs_assets.report.order_asking import MOST_COLUMNS, asking_sentences, asking_table
from zs_assets.report.order_cards import order_cards
from zs_assets.report.order_tables import averaging_point, gain_words
from zs_assets_tests.report.order_inputs import TITLES, order_report, order_rows


def step(rotations: int, share: float, low: float | None, high: float | None, **changes: Any) -> dict[str, Any]:
    exact = share in (0.0, 1.0)
    return {
        "backend": "new",
        "rotations": rotations,
        "calls": float(rotations),
        "large_share": share,
        "large_share_low": share if exact else low,
        "large_share_high": share if exact else high,
        "large_share_exact_low": low if exact else None,
        "large_share_exact_high": high if exact else None,
        **changes,
    }


def test_one_some_and_all_rotations_of_seven_are_told():
    shares = {1: (0.99, 0.97, 1.0), 2: (0.7, 0.6, 0.8), 3: (0.41, 0.301, 0.52), 7: (0.0, 0.0, 0.064)}
    shares |= {4: (0.2, 0.1, 0.3), 5: (0.1, 0.05, 0.2), 6: (0.05, 0.02, 0.1)}
    rows = [step(rotations, *given) for rotations, given in shares.items()]
    assert asking_sentences(rows, TITLES) == [
        "Mover 2.0: one order leaves large ranges in 99.0 % [97.0, 100.0] of samples, 3 rotations in 41.0 % "
        "[30.1, 52.0], 7 in 0.0 % (exact up to 6.4 %), at 1, 3 and 7 calls a decision."
    ]


def test_a_share_of_all_samples_has_its_exact_lower_end():
    rows = [step(1, 1.0, 0.91, 1.0), step(2, 0.5, 0.4, 0.6)]
    (said,) = asking_sentences(rows, TITLES)
    assert "in 100.0 % (exact from 91.0 %) of samples, 2 rotations in 50.0 % [40.0, 60.0], at 1 and 2 calls" in said


def test_a_system_whose_single_orders_leave_nothing_has_no_sentence():
    assert asking_sentences([step(1, 0.0, 0.0, 0.05), step(2, 0.0, 0.0, 0.05)], TITLES) == []
    assert asking_sentences([], TITLES) == []


def test_the_card_tells_every_system_that_moves_before_what_it_does_not_say():
    card = order_cards(order_report())[0]
    *_, asking, last = card["lines"]
    assert (asking["words"], last["words"]) == ("How many orders to ask", "What this does not say")
    assert [line.split(":")[0] for line in asking["reasons"]] == ["Mover 2.0", "Mover 1.0", "Noisy"]
    # Of 80 shared samples: Clopper-Pearson of none is 1 - .025 ** (1 / 80).
    assert asking["reasons"][0].endswith("3 rotations in 0.0 % (exact up to 4.5 %), at 1 and 3 calls a decision.")


def test_a_study_in_which_nothing_moves_has_no_such_line():
    rows = order_rows()
    rows["order_averaging"] = [row for row in rows["order_averaging"] if row["backend"] == "still"]
    words = {line["words"] for card in order_cards(order_report(rows)) for line in card["lines"]}
    assert "Stability" in words and "How many orders to ask" not in words


@pytest.mark.parametrize("options", [2, 7, 8, 9, 77, 160])
def test_the_overview_keeps_one_order_and_all_rotations_within_its_columns(options: int):
    rows = [step(rotations, 0.5, 0.4, 0.6) for rotations in range(1, options + 1)]
    table = asking_table(rows, TITLES, ["new"])
    assert len(table.columns) == 1 + min(options, MOST_COLUMNS) == len(table.rows[0])
    assert (table.columns[1], table.columns[-1]) == ("one order", f"{options} rotations")
    assert len(set(table.columns)) == len(table.columns)


def test_a_system_without_averaging_rows_stands_as_absent():
    table = asking_table([step(1, 0.5, 0.4, 0.6)], TITLES, ["new", "still"])
    assert table.rows == (("Mover 2.0", "50.0 [40.0, 60.0]"), ("Still", "n/a"))


def test_a_curve_has_the_interval_that_its_table_prints():
    more = {"median_range": 3.0, "accuracy": 0.7, "cost_usd": None}
    assert averaging_point(step(1, 0.5, 0.25, 0.75, **more)) == {
        **{"rotations": 1, "range": 3.0, "cost": None},
        **{"large": 50.0, "low": 25.0, "high": 75.0, "accuracy": 70.0},
    }
    none = averaging_point(step(7, 0.0, 0.0, 0.125, **more | {"accuracy": None}))
    assert (none["large"], none["low"], none["high"], none["accuracy"]) == (0.0, 0.0, 12.5, None)


def test_the_gain_of_all_rotations_has_its_interval_and_is_left_out_without_labels():
    gain = {"accuracy_gain": 0.02, "accuracy_gain_low": -0.01, "accuracy_gain_high": 0.03}
    rows = [step(1, 0.5, 0.4, 0.6, accuracy_gain=0.0), step(3, 0.1, 0.0, 0.2, **gain)]
    assert gain_words(rows) == "Gain of 3 rotations over one order, points [95 %]: +2.00 [−1.00, +3.00]."
    assert gain_words([step(3, 0.1, 0.0, 0.2, accuracy_gain=None)]) == gain_words([]) == ""
