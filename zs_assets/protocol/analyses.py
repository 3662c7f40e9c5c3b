"""Models of a study's `analyses`: what is computed of the predictions, and with which seeds. All of them optional."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from zs_assets.protocol.source_specs import Slug, Strict


def _is_a_share(value: str) -> str:
    try:
        share = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{value} is no share: write a fraction such as 1/20 or a decimal such as .05") from None
    if not 0 < share < 1:
        raise ValueError(f"{value} must lie between 0 and 1")
    return value


def _are_different_shares(value: tuple[str, ...]) -> tuple[str, ...]:
    shares = [Fraction(share) for share in value]
    for share, text in zip(shares, value, strict=True):
        if shares.count(share) > 1:
            raise ValueError(f"{text} is named twice: keep one")
    return value


Share = Annotated[str, AfterValidator(_is_a_share)]
"""A share as exact text: `1/20` or `.05`. A float could not say 5 %."""

Shares = Annotated[tuple[Share, ...], AfterValidator(_are_different_shares)]
Seed = Annotated[int, Field(ge=0)]

# Not tuple[Slug, Slug]: Dagster's sample YAML cannot show a schema of fixed positions.
PairOfBackends = tuple[Slug, ...]


def _are_pairs(value: tuple[tuple[str, ...], ...] | str) -> tuple[tuple[str, ...], ...] | str:
    pairs: tuple[tuple[str, ...], ...] = () if isinstance(value, str) else value
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"a pair names two backends, not {len(pair)} ({', '.join(pair)})")
        if pairs.count(pair) > 1:
            raise ValueError(f"the pair {', '.join(pair)} is named twice: keep one")
    return value


class PairedDifferencesAnalysis(Strict):
    """Paired bootstrap of metric differences, a minus b."""

    pairs: tuple[PairOfBackends, ...] | Literal["all"] = "all"
    resamples: int = Field(default=2000, ge=1)
    seed: Seed = 20260917

    _pairs = field_validator("pairs")(_are_pairs)


class CalibrationAnalysis(Strict):
    """Observed confidence levels, tiers, ECE and Brier with intervals, AUROC of four statistics, certified thresholds.

    Made for every backend that reports a confidence; the seed starts a fresh stream for each use, as published.
    """

    resamples: int = Field(default=10_000, ge=1)
    seed: Seed = 1729
    certified_risks: Shares = ("1/20", "2/25", "1/10", "3/20")
    certified_confidences: Shares = ("9/10", "19/20")


class ValidationSplit(Strict):
    """A confirmatory run: thresholds chosen on this share of the examples, evaluated once on the others."""

    share: Share = "1/2"
    seed: Seed = 1


class CascadesAnalysis(Strict):
    """Primary where its confidence is at least a threshold, fallback elsewhere; pairs are [primary, fallback]."""

    pairs: tuple[PairOfBackends, ...] = Field(min_length=1)
    targets: Shares = ("9/10", "19/20", "49/50")  # fixed before any run, never revised
    resamples: int = Field(default=2000, ge=1)  # of the out-of-bag gain
    seed: Seed = 1729
    validation: ValidationSplit | None = None

    _pairs = field_validator("pairs")(_are_pairs)


class DecisionLogAnalysis(Strict):
    """Agreement with a reference backend where there are no gold labels; pairs are [backend, reference]."""

    pairs: tuple[PairOfBackends, ...] = Field(min_length=1)

    _pairs = field_validator("pairs")(_are_pairs)


class OrderSensitivityAnalysis(Strict):
    """What the order of the options does to the answers, of every dataset shown in rotations.

    Datasets asked in one order several times are verified instead: how far do identical requests differ?
    """

    pairs: tuple[PairOfBackends, ...] = ()  # versions compared on the same samples, a minus b
    # Sample group of the verdicts and of the page's first view; None is all samples. Never the group that a file
    # happens to name first.
    main_group: str | None = Field(default=None, min_length=1)
    threshold_points: int = Field(default=10, ge=1, le=100)  # a large range; fixed before the run
    resamples: int = Field(default=2000, ge=1)  # of whole texts
    permutations: int = Field(default=200, ge=1)  # of replies within a sample
    seed: Seed = 1

    _pairs = field_validator("pairs")(_are_pairs)


class Analyses(Strict):
    paired_differences: PairedDifferencesAnalysis | None = None
    calibration: CalibrationAnalysis | None = None
    cascades: CascadesAnalysis | None = None
    decision_log: DecisionLogAnalysis | None = None
    order_sensitivity: OrderSensitivityAnalysis | None = None

    @model_validator(mode="before")
    @classmethod
    def _an_empty_analysis_takes_its_defaults(cls, data: Any) -> Any:
        """`calibration:` with nothing behind it asks for the analysis as published."""
        complete = ("calibration", "order_sensitivity")
        if isinstance(data, dict):
            return {name: {} if name in complete and value is None else value for name, value in data.items()}
        return data

    def named_pairs(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Pairs written in the YAML, by the analysis that names them."""
        found: dict[str, tuple[tuple[str, str], ...]] = {}
        for name in ("paired_differences", "cascades", "decision_log", "order_sensitivity"):
            pairs = getattr(getattr(self, name), "pairs", ())
            found[name] = () if pairs == "all" else tuple((a, b) for a, b in pairs)
        return found
