"""Arrow schemas of selective automation: calibration by level, AUROC, certified thresholds, cascades, agreement.

Every row names its dataset and its backend (or primary and fallback), so a table can be read without its folder.
"""

from __future__ import annotations

import pyarrow as pa

from zs_assets.protocol.names import AssetName
from zs_assets.storage.schemas import field

_CELL = [
    field("dataset", pa.string(), "dataset partition", False),
    field("backend", pa.string(), "backend partition", False),
]
_CASCADE = [
    field("dataset", pa.string(), "dataset partition", False),
    field("primary", pa.string(), "answers where its confidence is at least the threshold", False),
    field("fallback", pa.string(), "answers the other rows", False),
]


def _counts(*named: tuple[str, str]) -> list[pa.Field]:
    return [field(name, pa.int64(), meaning) for name, meaning in named]


def _figures(*named: tuple[str, str]) -> list[pa.Field]:
    return [field(name, pa.float64(), meaning) for name, meaning in named]


CONFIDENCE_LEVELS = pa.schema(
    [
        *_CELL,
        field("level", pa.float64(), "an observed confidence; never a band, the atom 1.00 never split", False),
        field("tier", pa.string(), "tier of the level", False),
        field("atom", pa.bool_(), "confidence 1.00", False),
        field("small", pa.bool_(), "fewer than 10 rows", False),
        *_counts(("count", "valid rows at the level"), ("correct", "right answers among them")),
        *_figures(
            ("accuracy", "correct / count"),
            ("wilson_low", "95 % interval, Wilson"),
            ("wilson_high", "95 % interval, Wilson"),
            ("exact_low", "95 % interval, Clopper-Pearson (addition)"),
            ("exact_high", "95 % interval, Clopper-Pearson (addition)"),
        ),
        *_counts(("accepted", "valid rows at or above the level"), ("errors", "wrong answers among them")),
        *_figures(
            ("coverage", "accepted / planned"),
            ("risk", "errors / accepted"),
            ("risk_upper", "one-sided 95 % Clopper-Pearson bound of the risk at this one level (addition)"),
        ),
    ]
)
"""One row per observed confidence level of a dataset x backend, from the highest down."""

CONFIDENCE_TIERS = pa.schema(
    [
        *_CELL,
        field("tier", pa.string(), "1.00; [.95,1); [.90,.95); [.70,.90); below .70", False),
        *_counts(("count", "valid rows"), ("correct", "right answers among them")),
        *_figures(("accuracy", "correct / count"), ("mean_confidence", "mean over the tier's rows")),
    ]
)
"""One row per confidence tier of a dataset x backend."""

CALIBRATION = pa.schema(
    [
        *_CELL,
        field("figure", pa.string(), "accuracy, mean_confidence, confidence_gap, ece_by_level, ece, brier", False),
        field("method", pa.string(), "protocol (percentile bootstrap) or addition (ours)", False),
        *_counts(("n", "valid rows"), ("resamples", "bootstrap resamples")),
        *_figures(
            ("value", "the figure on the rows"),
            ("ci95_low", "lower end of its 95 % interval"),
            ("ci95_high", "upper end of its 95 % interval"),
            ("noise_mean", "mean of the figure for a perfectly calibrated system at these confidences"),
            ("noise_p95", "its 95th percentile"),
        ),
        field("remark", pa.string(), "what the interval can be leaned on for"),
    ]
)
"""One row per figure and method of a dataset x backend."""

AUROC_COMPARISONS = pa.schema(
    [
        *_CELL,
        field("form", pa.string(), "integer (ties exact, primary) or float (as published)", False),
        field("statistic", pa.string(), "confidence, margin_top2, entropy_norm or ratio_top2", False),
        *_counts(
            ("atom", "rows of confidence 1.00, left out"),
            ("n", "rows outside the atom"),
            ("correct", "right answers among them"),
            ("kept", "resamples with both classes"),
            ("dropped", "resamples of one class"),
        ),
        *_figures(
            ("auroc", "probability that a right answer scores above a wrong one, ties 1/2"),
            ("difference", "AUROC of the confidence minus this one"),
            ("ci95_low", "paired percentile bootstrap"),
            ("ci95_high", "paired percentile bootstrap"),
            ("p_value", "two-sided bootstrap p"),
            ("p_holm", "the same corrected over the comparisons (addition)"),
        ),
        field("undefined", pa.string(), "why figures are null"),
    ]
)
"""One row per confidence statistic and form of a dataset x backend."""

CERTIFIED_THRESHOLDS = pa.schema(
    [
        *_CELL,
        field("risk_limit", pa.string(), "largest share of errors among the accepted, exact", False),
        field("confidence_level", pa.string(), "probability that the promise holds, exact", False),
        *_figures(
            ("threshold", "lowest certified threshold; null when none is"),
            ("coverage", "accepted / planned; 0 when none is"),
            ("p_value", "exact binomial test the threshold passed"),
            ("stopped_at", "first threshold that failed"),
            ("plug_in_coverage", "coverage of the uncertified choice on the same rows"),
        ),
        *_counts(("accepted", "rows at or above the threshold"), ("errors", "wrong among them")),
    ]
)
"""One row per risk limit and confidence level of a dataset x backend."""

CASCADE_SWEEP = pa.schema(
    [
        *_CASCADE,
        field("kind", pa.string(), "threshold, primary, fallback or oracle", False),
        field("threshold", pa.float64(), "kept iff the confidence is at least this; null for the reference rows"),
        field("best", pa.bool_(), "the protocol's choice among the thresholds", False),
        *_counts(
            ("kept", "rows the primary answers"),
            ("escalated", "rows the fallback answers"),
            ("correct", "right answers"),
            ("cost_unknown", "amounts in the cost that are unknown"),
        ),
        *_figures(
            ("coverage", "kept / planned"),
            ("accuracy", "correct / planned"),
            ("cost_usd", "primary on every row plus fallback on the escalated; null where part is unknown"),
            ("latency_p50_ms", "both systems' latency where escalated; null where one is unknown"),
            ("latency_p95_ms", "likewise"),
            ("saving", "1 - cost / cost of the fallback alone; negative: dearer"),
        ),
    ]
)
"""One row per threshold of a dataset x cascade, and one each for primary, fallback and oracle."""

CASCADE_TARGETS = pa.schema(
    [
        *_CASCADE,
        field("target", pa.string(), "accuracy fixed before the runs, exact", False),
        field("attainable", pa.bool_(), "a threshold or a single system reaches it", False),
        field("oracle_misses", pa.bool_(), "even the best routing of these two stays below it", False),
        field("reached_by", pa.string(), "threshold, primary or fallback; null when unattainable"),
        *_figures(
            ("threshold", "cheapest that reaches it"),
            ("accuracy", "reached there"),
            ("cost_usd", "paid there"),
            ("best_accuracy", "highest accuracy reached by anything"),
        ),
    ]
)
"""One row per accuracy target of a dataset x cascade. Unattainable targets stay; none is revised."""

CASCADES = pa.schema(
    [
        *_CASCADE,
        field("route", pa.bool_(), "the best routed threshold beats the better single system", False),
        field("verdict", pa.string(), "route or do not route, with the reason", False),
        field("better_single", pa.string(), "primary or fallback, by right answers", False),
        *_counts(
            ("n", "planned rows"),
            ("primary_correct", "right answers of the primary alone"),
            ("fallback_correct", "right answers of the fallback alone"),
            ("oracle_correct", "right when either is: the ceiling of every routing"),
            ("neither", "rows both get wrong"),
            ("best_correct", "right answers at the best threshold"),
            ("best_escalated", "rows escalated there"),
            ("gain_in_sample", "right answers of the best routed point minus the better single system, in sample"),
            ("only_cascade", "rows only the best threshold gets right, against the better single system"),
            ("only_single", "rows only the better single system gets right"),
        ),
        *_figures(
            ("best_threshold", "of the protocol's choice"),
            ("best_accuracy", "there"),
            ("best_cost_usd", "there"),
            ("best_latency_p50_ms", "there"),
            ("best_saving", "1 - cost / cost of the fallback alone"),
            ("gain_out_of_bag", "gain in accuracy on rows that did not choose the threshold (addition)"),
            ("gain_ci95_low", "its 95 % interval"),
            ("gain_ci95_high", "its 95 % interval"),
            ("routed_share", "share of resamples whose best point routes"),
            ("mcnemar_p", "exact, two-sided, at a threshold chosen on the same rows: too small (addition)"),
        ),
        *_counts(
            ("validation_rows", "rows that chose the confirmed threshold; null without a confirmatory run"),
            ("test_rows", "rows that had no say in it"),
            ("confirmed_correct", "right answers on the test rows"),
            ("confirmed_single_correct", "right answers of the single system chosen on the validation rows"),
        ),
        field("confirmed_single", pa.string(), "that single system"),
        *_figures(
            ("confirmed_threshold", "chosen on the validation rows; null where escalating everything was best"),
            ("confirmed_accuracy", "on the test rows"),
            ("confirmed_low", "exact 95 % interval"),
            ("confirmed_high", "exact 95 % interval"),
            ("confirmed_difference", "accuracy of the cascade minus the single system's, on the test rows"),
            ("confirmed_p", "exact McNemar test on the test rows"),
            ("confirmed_cost_usd", "on the test rows"),
        ),
    ]
)
"""One row: a dataset x cascade."""

AGREEMENTS = pa.schema(
    [
        *_CASCADE,
        *_counts(
            ("n", "planned rows"),
            ("both_correct", "both right"),
            ("both_wrong_same", "both wrong with one label"),
            ("both_wrong_different", "both wrong with different labels"),
            ("primary_only", "only the primary right"),
            ("fallback_only", "only the fallback right"),
            ("distinct_shared_errors", "distinct (gold, shared prediction) pairs"),
        ),
    ]
)
"""One row: how the two systems of a dataset x cascade agree."""

SHARED_ERRORS = pa.schema(
    [
        *_CASCADE,
        field("gold", pa.string(), "gold label", False),
        field("predicted", pa.string(), "wrong label both systems gave", False),
        field("same_parent", pa.bool_(), "both labels lie in one parent domain; null without parents"),
        *_counts(("count", "rows")),
    ]
)
"""One row per (gold, shared wrong prediction) pair of a dataset x cascade, most frequent first."""

ERROR_DOMAINS = pa.schema(
    [
        *_CASCADE,
        field("errors", pa.string(), "shared_primary, shared_fallback, same or primary", False),
        *_counts(
            ("n", "wrong answers that name a label"),
            ("inside", "in the gold label's parent domain"),
            ("across", "in another"),
            ("failed", "rows without an answer"),
        ),
    ]
)
"""One row per kind of error of a dataset x cascade, where labels have parent domains."""

TIER_DISAGREEMENTS = pa.schema(
    [
        *_CASCADE,
        field("tier", pa.string(), "tier of the primary's confidence", False),
        *_counts(
            ("n", "rows of the tier"),
            ("disagreements", "rows with different answers"),
            ("primary_wins", "only the primary right"),
            ("fallback_wins", "only the fallback right"),
            ("neither", "different and both wrong"),
        ),
    ]
)
"""One row per confidence tier of a dataset x cascade."""

DECISION_LOG = pa.schema(
    [
        field("dataset", pa.string(), "dataset partition", False),
        field("backend", pa.string(), "whose decisions are logged", False),
        field("reference", pa.string(), "the system they are compared with", False),
        field("stratum", pa.string(), "all, majority_baseline, decision, tier, or tier and decision", False),
        field("decision", pa.string(), "logged decision of the stratum"),
        field("tier", pa.string(), "tier of the logged confidence"),
        *_counts(("n", "rows where both decided"), ("agree", "rows where both decided alike")),
        *_figures(("share", "agree / n"), ("ci95_low", "Wilson"), ("ci95_high", "Wilson")),
    ]
)
"""One row per stratum of a dataset x (backend, reference): agreement with the reference, and nothing more."""

CELL_TABLES = {
    AssetName.CONFIDENCE_LEVELS: CONFIDENCE_LEVELS,
    AssetName.CONFIDENCE_TIERS: CONFIDENCE_TIERS,
    AssetName.CALIBRATION: CALIBRATION,
    AssetName.AUROC_COMPARISONS: AUROC_COMPARISONS,
    AssetName.CERTIFIED_THRESHOLDS: CERTIFIED_THRESHOLDS,
}
"""Tables of the calibration analysis, partitioned by dataset x backend."""

CASCADE_TABLES = {
    AssetName.CASCADE_SWEEP: CASCADE_SWEEP,
    AssetName.CASCADE_TARGETS: CASCADE_TARGETS,
    AssetName.CASCADES: CASCADES,
    AssetName.AGREEMENTS: AGREEMENTS,
    AssetName.SHARED_ERRORS: SHARED_ERRORS,
    AssetName.ERROR_DOMAINS: ERROR_DOMAINS,
    AssetName.TIER_DISAGREEMENTS: TIER_DISAGREEMENTS,
}
"""Tables of the cascade analysis, partitioned by dataset x pair."""

DECISION_LOG_TABLES = {AssetName.DECISION_LOG: DECISION_LOG}
"""The decision log, partitioned by dataset x pair."""
