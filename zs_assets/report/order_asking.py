"""How many orders to ask: what the mean of one, some and all rotations leaves of the large ranges, system by system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zs_assets.report.order_wording import beside, exact_interval, percent, share_interval
from zs_assets.report.tables import Table
from zs_assets.report.wording import ABSENT, listed

Row = dict[str, Any]

MOST_COLUMNS = 8
"""Numbers of rotations in the overview; a question of 77 options has as many."""


def asking_sentences(rows: Sequence[Row], titles: dict[str, str]) -> list[str]:
    """A sentence for each system whose single orders leave large ranges: one order, about half the rotations, all.

    Which numbers are told depends on the number of options alone, never on the figures.

    Parameters
    ----------
    rows
        ORDER_AVERAGING of one dataset, rule and group.
    titles
        Of the systems.
    """
    sentences = []
    for backend in dict.fromkeys(row["backend"] for row in rows):
        own = {row["rotations"]: row for row in rows if row["backend"] == backend}
        if 1 not in own or not own[1]["large_share"]:
            continue
        last = max(own)
        told = [own[rotations] for rotations in sorted({1, max(1, last // 2), last}) if rotations in own]
        shares = [_left(row, at) for at, row in enumerate(told)]
        calls = listed([f"{row['calls']:g}" for row in told])
        word = "call" if len(told) == 1 and told[0]["calls"] == 1 else "calls"
        sentences.append(f"{titles[backend]}: one order leaves {', '.join(shares)}, at {calls} {word} a decision.")
    return sentences


def _left(row: Row, at: int) -> str:
    share = f"{percent(row['large_share'])} %"
    if row["large_share_exact_high"] is None:
        share = beside(share, share_interval(row, "large_share"))
    elif row["large_share"]:
        share += f" (exact from {percent(row['large_share_exact_low'])} %)"
    else:
        share += f" (exact up to {percent(row['large_share_exact_high'])} %)"
    if at == 0:
        return f"large ranges in {share} of samples"
    return f"{row['rotations']} rotations in {share}" if at == 1 else f"{row['rotations']} in {share}"


def asking_table(rows: Sequence[Row], titles: dict[str, str], backends: Sequence[str]) -> Table:
    """Large ranges by number of rotations averaged, a row per system; at most MOST_COLUMNS numbers, 1 and K kept.

    Parameters
    ----------
    rows
        ORDER_AVERAGING of one dataset, rule and group.
    titles
        Of the systems.
    backends
        The rows of the table, in their order.
    """
    numbers = sorted({row["rotations"] for row in rows})
    if len(numbers) > MOST_COLUMNS:
        step = (len(numbers) - 1) / (MOST_COLUMNS - 1)
        numbers = [numbers[round(at * step)] for at in range(MOST_COLUMNS)]
    found = {(row["backend"], row["rotations"]): large_share_left(row) for row in rows}
    body = tuple((titles[b], *(found.get((b, number), ABSENT) for number in numbers)) for b in backends)
    columns = ("system", *("one order" if number == 1 else f"{number} rotations" for number in numbers))
    return Table("Large ranges left after averaging, % of samples", columns, body if numbers else ())


def large_share_left(row: Row) -> str:
    """The share in percent with the exact interval where none or all are large, else that of whole texts."""
    exact = exact_interval(row)
    interval = f"exact {exact}" if exact else share_interval(row, "large_share")
    return beside(percent(row["large_share"]), interval)
