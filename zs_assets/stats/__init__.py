"""Statistics of the studies: pure functions of arrays.

What belongs here: definitions of metrics, intervals and rankings, each beside the trap it avoids and the
source it follows. What does not: reading or writing, tables, study settings, Dagster, charts. The package
imports numpy, scipy and the standard library only. Arrays come in, arrays or small frozen dataclasses go
out; `Answers` checks them once at the door.
"""

from zs_assets.stats.agreement import (
    Agreement,
    ParentErrors,
    ParentSplit,
    SharedError,
    TierDisagreement,
    agreement,
)
from zs_assets.stats.answers import FAILED, Answers
from zs_assets.stats.auroc import (
    ResampledWins,
    auroc,
    resampled_wins,
)
from zs_assets.stats.auroc_comparison import (
    AurocComparison,
    AurocDifference,
    OffAtomComparison,
    compare_auroc,
    compare_off_atom,
    holm_adjusted,
)
from zs_assets.stats.calibration import (
    ECE_BINS,
    CalibrationBins,
    ConfidenceLevels,
    calibration_bins,
    confidence_levels,
    ece_by_level,
    ece_by_level_noise_floor,
    ece_noise_floor,
    equal_width_bin,
    top_label_ece,
    top_label_ece_linspace,
)
from zs_assets.stats.calibration_intervals import (
    BootstrapInterval,
    CalibrationIntervals,
    calibration_intervals,
)
from zs_assets.stats.cascade import (
    CascadePoint,
    CascadeRows,
    CascadeSweep,
    cascade_sweep,
)
from zs_assets.stats.cascade_gain import (
    GAIN_RESAMPLES,
    CascadeGain,
    Confirmation,
    cascade_gain,
    confirm_cascade,
    split_validation,
)
from zs_assets.stats.cascade_verdict import (
    ACCURACY_TARGETS,
    Alone,
    Reference,
    References,
    RouteVerdict,
    TargetResult,
    accuracy_targets,
    best_point,
    best_routed_point,
    cascade_references,
    route_verdict,
)
from zs_assets.stats.certified import (
    CertifiedThreshold,
    certified_threshold,
    rows_to_certify,
)
from zs_assets.stats.cluster_bootstrap import CLUSTER_RESAMPLES, ClusterDraws, exact_edge_interval
from zs_assets.stats.confidence_statistics import (
    RATIO_FLOOR,
    ConfidenceStatistics,
    GridStatistics,
    confidence_statistics,
)
from zs_assets.stats.corrected_ece import (
    CORRECTED_SIMULATIONS,
    CorrectedEce,
    corrected_ece,
    corrected_ece_by_level,
)
from zs_assets.stats.dataset_means import DatasetMean, equal_weight_mean, mean_difference
from zs_assets.stats.decision_log import (
    AgreementShare,
    DecisionAgreement,
    DecisionLog,
    TierAgreement,
    decision_log,
)
from zs_assets.stats.discrimination import ClassCounts, accuracy, class_counts, macro_f1
from zs_assets.stats.intervals import (
    CONFIDENCE_LEVEL,
    ProportionInterval,
    clopper_pearson_interval,
    clopper_pearson_upper,
    wilson_interval,
)
from zs_assets.stats.latency import (
    EmpiricalDistribution,
    LatencyPercentiles,
    empirical_distribution,
    latency_percentiles,
)
from zs_assets.stats.level_table import (
    SMALL_LEVEL,
    TIER_FLOORS,
    TIER_NAMES,
    LevelTable,
    TierTable,
    level_table,
    tier_of,
    tier_table,
)
from zs_assets.stats.mcnemar import (
    McNemarTest,
    mcnemar_exact,
)
from zs_assets.stats.metrics import Metric
from zs_assets.stats.order_averaging import AveragedRotations, averaging, rotation_cycles
from zs_assets.stats.order_completeness import (
    CompletenessRule,
    ScoreCoverage,
    score_coverage,
    shared_samples,
)
from zs_assets.stats.order_controls import RepeatControls, repeat_controls
from zs_assets.stats.order_permutation import Band, NoiseBand, OrderEffect, OrderShuffles, order_effect, order_shuffles
from zs_assets.stats.order_positions import is_balanced, position_means
from zs_assets.stats.order_scores import NO_LABEL, OrderScores
from zs_assets.stats.order_sensitivity import (
    RANGE_EDGES,
    RANGE_TOLERANCE,
    RangeSummary,
    SampleSensitivity,
    range_histogram,
    sample_sensitivity,
    summarise_ranges,
)
from zs_assets.stats.paired import PairedDifferences, PairedInterval, paired_differences
from zs_assets.stats.proper_scores import (
    HALF_STEP_FLOOR,
    PILOT_FLOOR,
    brier_rows,
    gold_probability,
    nll_rows,
)
from zs_assets.stats.ranking import RankingReversal, ranking_reversals, ranks
from zs_assets.stats.repeat_verification import RepeatVerification, repeat_verification
from zs_assets.stats.resampling import (
    Scheme,
    dataset_stream,
    plain_indices,
    published_stream,
    resample_counts,
    sorted_by_id,
    stratified_indices,
)
from zs_assets.stats.selective import (
    Coverage,
    RiskCoverage,
    coverage_at_error_budget,
    risk_coverage,
)
from zs_assets.stats.summary import Scores, evaluate
from zs_assets.stats.vectors import (
    Confidence,
    first_maximum,
    grid_units,
    renormalise,
    reported_confidence,
    row_sums,
    top_probability,
)

__all__ = [
    "ACCURACY_TARGETS",
    "CLUSTER_RESAMPLES",
    "CONFIDENCE_LEVEL",
    "CORRECTED_SIMULATIONS",
    "ECE_BINS",
    "FAILED",
    "GAIN_RESAMPLES",
    "HALF_STEP_FLOOR",
    "NO_LABEL",
    "PILOT_FLOOR",
    "RANGE_EDGES",
    "RANGE_TOLERANCE",
    "RATIO_FLOOR",
    "SMALL_LEVEL",
    "TIER_FLOORS",
    "TIER_NAMES",
    "Agreement",
    "AgreementShare",
    "Alone",
    "Answers",
    "AurocComparison",
    "AurocDifference",
    "AveragedRotations",
    "Band",
    "BootstrapInterval",
    "CalibrationBins",
    "CalibrationIntervals",
    "CascadeGain",
    "CascadePoint",
    "CascadeRows",
    "CascadeSweep",
    "CertifiedThreshold",
    "ClassCounts",
    "ClusterDraws",
    "CompletenessRule",
    "Confidence",
    "ConfidenceLevels",
    "ConfidenceStatistics",
    "Confirmation",
    "CorrectedEce",
    "Coverage",
    "DatasetMean",
    "DecisionAgreement",
    "DecisionLog",
    "EmpiricalDistribution",
    "GridStatistics",
    "LatencyPercentiles",
    "LevelTable",
    "McNemarTest",
    "Metric",
    "NoiseBand",
    "OffAtomComparison",
    "OrderEffect",
    "OrderScores",
    "OrderShuffles",
    "PairedDifferences",
    "PairedInterval",
    "ParentErrors",
    "ParentSplit",
    "ProportionInterval",
    "RangeSummary",
    "RankingReversal",
    "Reference",
    "References",
    "RepeatControls",
    "RepeatVerification",
    "ResampledWins",
    "RiskCoverage",
    "RouteVerdict",
    "SampleSensitivity",
    "Scheme",
    "ScoreCoverage",
    "Scores",
    "SharedError",
    "TargetResult",
    "TierAgreement",
    "TierDisagreement",
    "TierTable",
    "accuracy",
    "accuracy_targets",
    "agreement",
    "auroc",
    "averaging",
    "best_point",
    "best_routed_point",
    "brier_rows",
    "calibration_bins",
    "calibration_intervals",
    "cascade_gain",
    "cascade_references",
    "cascade_sweep",
    "certified_threshold",
    "class_counts",
    "clopper_pearson_interval",
    "clopper_pearson_upper",
    "compare_auroc",
    "compare_off_atom",
    "confidence_levels",
    "confidence_statistics",
    "confirm_cascade",
    "corrected_ece",
    "corrected_ece_by_level",
    "coverage_at_error_budget",
    "dataset_stream",
    "decision_log",
    "ece_by_level",
    "ece_by_level_noise_floor",
    "ece_noise_floor",
    "empirical_distribution",
    "equal_weight_mean",
    "equal_width_bin",
    "evaluate",
    "exact_edge_interval",
    "first_maximum",
    "gold_probability",
    "grid_units",
    "holm_adjusted",
    "is_balanced",
    "latency_percentiles",
    "level_table",
    "macro_f1",
    "mcnemar_exact",
    "mean_difference",
    "nll_rows",
    "order_effect",
    "order_shuffles",
    "paired_differences",
    "plain_indices",
    "position_means",
    "published_stream",
    "range_histogram",
    "ranking_reversals",
    "ranks",
    "renormalise",
    "repeat_controls",
    "repeat_verification",
    "reported_confidence",
    "resample_counts",
    "resampled_wins",
    "risk_coverage",
    "rotation_cycles",
    "route_verdict",
    "row_sums",
    "rows_to_certify",
    "sample_sensitivity",
    "score_coverage",
    "shared_samples",
    "sorted_by_id",
    "split_validation",
    "stratified_indices",
    "summarise_ranges",
    "tier_of",
    "tier_table",
    "top_label_ece",
    "top_label_ece_linspace",
    "top_probability",
    "wilson_interval",
]
