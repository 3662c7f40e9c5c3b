"""Every figure of one system on one dataset, as one row of the table of scores."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from zs_assets.stats.answers import Answers
from zs_assets.stats.calibration import ece_by_level, top_label_ece, top_label_ece_linspace
from zs_assets.stats.discrimination import accuracy, macro_f1
from zs_assets.stats.latency import latency_percentiles
from zs_assets.stats.proper_scores import (
    HALF_STEP_FLOOR,
    PILOT_FLOOR,
    brier_rows,
    gold_probability,
    nll_rows,
)
from zs_assets.stats.selective import coverage_at_error_budget
from zs_assets.stats.vectors import Floats, Integers


@dataclass(frozen=True)
class Scores:
    """One system on one dataset.

    Accuracy, macro-F1 and coverage are over all n planned examples, failures wrong; everything else is
    over the valid ones and None without any. None also where the system sends no vector (proper scores),
    no confidence (calibration, coverage) or has no latency.

    Attributes
    ----------
    n, valid, failures : int
        Planned examples, those with a usable answer, and the others.
    accuracy, macro_f1 : float
        Macro-F1 over declared labels.
    brier, nll, nll_half_step : float
        By the study's rule (raw or renormalised vectors); NLL with the floors 1e-12 and 0.005.
    brier_raw, nll_raw, nll_half_step_raw, brier_renormalised, nll_renormalised, nll_half_step_renormalised
        The same by either rule.
    p_gold_zero_count, p_gold_zero_rate
        Valid rows whose right label has probability 0: what NLL mostly measures.
    mean_confidence : float
    ece, ece_linspace, ece_by_level : float
        Ten exact bins; ten bins with float edges, as the pilot published; every level a bin, only on a grid.
    confidence_level_count : int
        Distinct confidences.
    on_grid : bool
        Whether all values lie on the decimal grid the system is said to round to. False makes bins and
        levels those of plain floats.
    coverage, risk, threshold, accepted, errors
        Coverage at the error budget; risk and threshold None when no threshold qualifies.
    latency_p50_ms, latency_p95_ms : float
    """

    n: int
    valid: int
    failures: int
    accuracy: float
    macro_f1: float
    brier: float | None
    nll: float | None
    nll_half_step: float | None
    brier_raw: float | None
    nll_raw: float | None
    nll_half_step_raw: float | None
    brier_renormalised: float | None
    nll_renormalised: float | None
    nll_half_step_renormalised: float | None
    p_gold_zero_count: int | None
    p_gold_zero_rate: float | None
    mean_confidence: float | None
    ece: float | None
    ece_linspace: float | None
    ece_by_level: float | None
    confidence_level_count: int | None
    on_grid: bool | None
    coverage: float | None
    risk: float | None
    threshold: float | None
    accepted: int | None
    errors: int | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None


def evaluate(answers: Answers, *, budget: Fraction) -> Scores:
    """All figures of one system on one dataset.

    Parameters
    ----------
    answers : Answers of n >= 1 examples
    budget : Fraction
        Error budget of the coverage, `Fraction(1, 20)` in the pilot.
    """
    if len(answers) == 0:
        raise ValueError("answers needs at least one example.")
    valid = int(answers.valid.sum())
    return Scores(
        n=len(answers),
        valid=valid,
        failures=len(answers) - valid,
        accuracy=accuracy(answers.gold, answers.predicted),
        macro_f1=macro_f1(answers.gold, answers.predicted, answers.n_classes),
        **_vector_scores(answers),
        **_confidence_scores(answers, budget),
        **_latency(answers),
    )


def _vector_scores(answers: Answers) -> dict[str, Any]:
    raw, renormalised = answers.raw_vectors, answers.renormalised_vectors
    gold = answers.gold[answers.valid]
    primary = "_renormalised" if answers.renormalise else "_raw"
    by_rule = {
        **_proper_scores(raw, gold, "_raw"),
        **_proper_scores(renormalised, gold, "_renormalised"),
    }
    zeros = None
    if raw is not None and len(gold):
        zeros = int(np.count_nonzero(gold_probability(raw, gold) == 0))
    return {
        **{name: by_rule[name + primary] for name in ("brier", "nll", "nll_half_step")},
        **by_rule,
        "p_gold_zero_count": zeros,
        "p_gold_zero_rate": None if zeros is None else zeros / len(gold),
    }


def _proper_scores(vectors: Floats | None, gold: Integers, rule: str) -> dict[str, Any]:
    if vectors is None or not len(gold):
        return dict.fromkeys(("brier" + rule, "nll" + rule, "nll_half_step" + rule))
    return {
        "brier" + rule: float(np.mean(brier_rows(vectors, gold))),
        "nll" + rule: float(np.mean(nll_rows(vectors, gold, PILOT_FLOOR))),
        "nll_half_step" + rule: float(np.mean(nll_rows(vectors, gold, HALF_STEP_FLOOR))),
    }


def _confidence_scores(answers: Answers, budget: Fraction) -> dict[str, Any]:
    calibration = dict.fromkeys(
        (
            "mean_confidence",
            "ece",
            "ece_linspace",
            "ece_by_level",
            "confidence_level_count",
            "on_grid",
        )
    )
    selection = dict.fromkeys(("coverage", "risk", "threshold", "accepted", "errors"))
    confidence = answers.scored_confidence
    if confidence is None:
        return {**calibration, **selection}
    correct = answers.correct[answers.valid]
    if len(correct):
        calibration = {
            "mean_confidence": float(np.mean(confidence.values)),
            "ece": top_label_ece(confidence, correct),
            "ece_linspace": top_label_ece_linspace(confidence, correct),
            "ece_by_level": ece_by_level(confidence, correct),
            "confidence_level_count": len(np.unique(confidence.levels)),
            "on_grid": confidence.on_grid,
        }
    # With no valid row at all coverage is still a figure: 0.0 of the planned examples.
    chosen = coverage_at_error_budget(confidence.levels, correct, len(answers), budget)
    selection = {name: getattr(chosen, name) for name in selection}
    return {**calibration, **selection}


def _latency(answers: Answers) -> dict[str, Any]:
    if answers.latency_ms is None or not answers.valid.any():
        return {"latency_p50_ms": None, "latency_p95_ms": None}
    percentiles = latency_percentiles(answers.latency_ms[answers.valid])
    return {"latency_p50_ms": percentiles.p50, "latency_p95_ms": percentiles.p95}
