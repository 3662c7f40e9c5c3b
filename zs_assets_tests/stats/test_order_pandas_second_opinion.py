"""Every figure of the study against plain pandas, on systems that round, do not round, refuse and mislabel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from zs_assets.stats import OrderScores
from zs_assets_tests.stats.order_cases import order_scores
from zs_assets_tests.stats.order_figures import order_figures
from zs_assets_tests.stats.order_pandas_form import pandas_order_figures

SAMPLES = 60


def systems() -> dict[str, OrderScores]:
    rng = np.random.default_rng(41)
    base = rng.dirichlet(np.ones(7), SAMPLES)[:, None, None, :]
    replies = {
        None: 0.8 * base + 0.2 * rng.dirichlet(np.full(7, 3.0), (SAMPLES, 14, 3)),
        2: np.round(0.7 * base + 0.3 * rng.dirichlet(np.ones(7), (SAMPLES, 14, 3)), 2),
        4: np.round(np.broadcast_to(base, (SAMPLES, 14, 3, 7)), 4),
    }
    named = {f"decimals {decimals}": order_scores(values, decimals=decimals) for decimals, values in replies.items()}
    rounding = named["decimals 2"]
    refused = rounding.scores.copy()
    refused[:4, 3, 1] = np.nan
    named["refuses"] = order_scores(refused, decimals=2)
    chosen = rounding.chosen.copy()
    chosen[-5:, 0, 0] = rounding.scores[-5:, 0, 0].argmin(axis=1)
    named["mislabels"] = order_scores(rounding.scores, decimals=2, chosen=chosen)
    return named


def frame_of(scores: OrderScores) -> pd.DataFrame:
    sample, order, repeat = (axis.ravel() for axis in np.indices(scores.chosen.shape))
    options = [f"option {k}" for k in range(scores.n_options)]
    frame = pd.DataFrame(scores.scores.reshape(-1, scores.n_options), columns=options)
    label = pd.Series(options).reindex(scores.chosen.ravel()).to_numpy()
    outcome = np.where(scores.scored.ravel(), "ok", "refusal")
    return frame.assign(example_id=sample, order_index=order, repeat=repeat, outcome=outcome, choice=label)


def test_every_figure_is_what_pandas_says():
    texts = np.concatenate([np.zeros(8, dtype=int), np.arange(SAMPLES - 8) // 2])
    group = np.arange(SAMPLES) % 5 > 0
    ours = order_figures(systems(), texts, group, resamples=100, seed=3)
    theirs = pandas_order_figures(
        {name: frame_of(scores) for name, scores in systems().items()},
        pd.DataFrame({"text": texts, "grouped": group}),
        {name: scores.decimals for name, scores in systems().items()},
        orders=14,
        repeats=3,
        resamples=100,
        seed=3,
    )
    assert list(ours) == list(theirs)
    for name, figures in ours.items():
        assert figures == pytest.approx(theirs[name], abs=1e-9), name
    assert {name: figures["strict_complete"] for name, figures in ours.items()} == {
        "decimals None": 60,
        "decimals 2": 60,
        "decimals 4": 60,
        "refuses": 56,
        "mislabels": 55,
    }
    assert ours["decimals 4"]["max_range"] == 0
    # The case is worth something: figures are neither empty nor full.
    for figure in ("large_ranges", "winner_changes", "tied_samples", "repeat_winner_changes"):
        assert ours["decimals 2"][figure] > 0
    assert 0 < ours["decimals 2"]["winner_changes"] < ours["decimals 2"]["samples"]
