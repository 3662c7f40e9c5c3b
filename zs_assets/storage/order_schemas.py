"""Arrow schemas of the choice-order study: ranges, completeness, controls, positions, averaging, follow-up.

Points are percentage points of a score. `rule` says which samples a row is about: those on which every compared system
has all scores (`score_complete`), or also passes its label check in all of them (`strict_complete`). `sample_group` is
a group of the manifest, or `all`.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from zs_assets.protocol.names import AssetName
from zs_assets.stats import CompletenessRule
from zs_assets.storage.schemas import field

SCORE_COMPLETE = CompletenessRule.SCORE_COMPLETE.value
STRICT_COMPLETE = CompletenessRule.STRICT_COMPLETE.value
NO_SCORES, LABEL_MISMATCH = "no_scores", "label_mismatch"
"""Reasons beside the outcomes: an answer that is a label alone, and a label that is not among its highest scores."""

_DATASET = [field("dataset", pa.string(), "dataset partition", False)]
_BACKEND = [field("backend", pa.string(), "backend partition", False)]
_GROUP = [field("sample_group", pa.string(), "group of the manifest, or all", False)]
_SHARED = [field("rule", pa.string(), "score_complete or strict_complete", False), *_GROUP]


def _counts(*named: tuple[str, str]) -> list[pa.Field]:
    return [field(name, pa.int64(), meaning) for name, meaning in named]


def _figures(*named: tuple[str, str]) -> list[pa.Field]:
    return [field(name, pa.float64(), meaning) for name, meaning in named]


def _interval(name: str, meaning: str) -> list[pa.Field]:
    return _figures((f"{name}_low", f"2.5 % quantile: {meaning}"), (f"{name}_high", f"97.5 % quantile: {meaning}"))


def _columns(*groups: Iterable[pa.Field]) -> pa.Schema:
    return pa.schema([column for group in groups for column in group])


ORDER_SENSITIVITY = _columns(
    _DATASET,
    _SHARED,
    _BACKEND,
    _counts(
        ("samples", "shared samples of the row"),
        ("texts", "distinct texts among them"),
        ("options", "options of the question"),
        ("orders", "different orders"),
        ("repeats", "repeats of each order"),
    ),
    _figures(
        ("median_range", "points; type 7"),
        ("p95_range", "points; type 7"),
        ("max_range", "points"),
        ("threshold_points", "a range is large from here on"),
    ),
    _interval("median_range", "whole texts resampled"),
    _counts(("large_ranges", "samples whose range reaches the threshold, exactly")),
    _figures(("large_share", "large_ranges / samples")),
    _interval("large_share", "whole texts resampled, samples weigh alike (the protocol's)"),
    _figures(("large_share_by_text", "mean over distinct texts")),
    _interval("large_share_by_text", "whole texts resampled, texts weigh alike"),
    _figures(
        ("large_share_exact_low", "Clopper-Pearson over texts, where none or all are large; else null (ours)"),
        ("large_share_exact_high", "likewise"),
        ("range_tolerance", "points by which a range of a system that does not round may miss the threshold"),
    ),
    _counts(
        ("winner_changes", "samples without a tie whose winner differs between orders"),
        ("tied_samples", "samples with a tied highest score in some order"),
    ),
    _figures(("winner_change_share", "winner_changes / samples, tied ones included"), ("tied_share", "of samples")),
    _interval("winner_change_share", "whole texts resampled, samples weigh alike"),
    _figures(
        ("same_order", "mean absolute difference between repeats of one order, points; null without repeats"),
        ("different_order", "mean absolute difference between replies of two orders, points"),
        ("excess", "different_order minus same_order"),
    ),
    _interval("excess", "whole texts resampled, samples weigh alike"),
    _counts(
        ("repeat_groups", "sample-order groups of repeats"),
        ("repeat_winner_changes", "groups in which two repeats have unique, different winners"),
        ("repeat_change_samples", "samples with at least one such group"),
    ),
    _figures(
        ("order_p_value", "permutation test of the mean range: replies shuffled over the orders of a sample"),
        ("order_sample_share", "samples whose own test gives p <= .05; .05 is expected without an order effect"),
        ("noise_median_range", "median range that repeat noise alone would show, points; null without repeats"),
    ),
    _interval("noise_median_range", "over the shuffles of the residuals"),
    _figures(("noise_large_share", "share of large ranges that repeat noise alone would show")),
    _interval("noise_large_share", "over the shuffles of the residuals"),
)
"""One row per system on the samples it shares with the others."""

ORDER_COVERAGE = _columns(
    _DATASET,
    _GROUP,
    _BACKEND,
    _counts(
        ("samples", "samples of the manifest"),
        ("planned", "planned replies"),
        ("scored", "replies with scores, recovered ones included"),
        ("label_mismatches", "scored replies whose own label is not among the highest scores"),
        ("score_complete", "samples with all scores"),
        ("strict_complete", "samples that also pass the label check in every reply"),
        ("faults", "calls without a reply"),
        ("recovered", "replies that came after such a fault"),
    ),
    [field("compared", pa.bool_(), "the system takes part in the intersection", False)],
    [field("why_not", pa.string(), "why it does not")],
)
"""One row per system and sample group: how complete its scores are, before any intersection."""

ORDER_EXCLUSIONS = _columns(
    _DATASET,
    _GROUP,
    _BACKEND,
    [field("reason", pa.string(), "an outcome, no_scores, or label_mismatch", False)],
    _counts(("replies", "replies with this reason"), ("samples", "samples they make incomplete")),
)
"""One row per system, sample group and reason that keeps samples from being complete."""

ORDER_RANGES = _columns(
    _DATASET,
    _SHARED,
    _BACKEND,
    _figures(("low", "points, included"), ("high", "points, excluded, but for the last bin")),
    _counts(("samples", "samples whose range lies there")),
)
"""One row per bin of the distribution of ranges."""

ORDER_DIFFERENCES = _columns(
    _DATASET,
    _SHARED,
    [
        field("backend_a", pa.string(), "minuend", False),
        field("backend_b", pa.string(), "subtrahend", False),
        field("figure", pa.string(), "large_share or winner_change_share", False),
        field("weighting", pa.string(), "sample (the protocol's) or text", False),
    ],
    _counts(("samples", "shared samples"), ("texts", "distinct texts among them")),
    _figures(("difference", "a minus b, percentage points")),
    _interval("difference", "the same draws of whole texts for both"),
)
"""One row per pair of systems or versions, figure and weighting."""

ORDER_POSITIONS = _columns(
    _DATASET,
    _SHARED,
    _BACKEND,
    _counts(("position", "0 is what is sent first")),
    _figures(
        ("mean_score", "mean score of whatever stands there, points"),
        ("even", "mean over the positions: no preference"),
    ),
    _interval("mean_score", "whole texts resampled, samples weigh alike"),
)
"""One row per system and position."""

ORDER_AVERAGING = _columns(
    _DATASET,
    _SHARED,
    _BACKEND,
    _counts(("rotations", "consecutive rotations averaged for one decision"), ("samples", "shared samples")),
    _figures(
        ("median_range", "points, over where the rotations may start and both directions"),
        ("p95_range", "likewise"),
        ("large_share", "samples whose range reaches the threshold, exactly"),
    ),
    _interval("large_share", "whole texts resampled, samples weigh alike"),
    _figures(
        ("large_share_exact_low", "Clopper-Pearson over texts, where none or all are large; else null (ours)"),
        ("large_share_exact_high", "likewise"),
        ("winner_change_share", "samples without a tie whose winner depends on the start"),
        ("tied_share", "samples with a tied highest mean in some decision"),
        ("agreement", "decisions equal to that of all orders together"),
        ("accuracy", "null without gold labels"),
        ("accuracy_gain", "accuracy minus that of one order"),
    ),
    _interval("accuracy_gain", "whole texts resampled, samples weigh alike"),
    _figures(("cost_usd", "mean cost of one decision; null where a cost is unknown"), ("calls", "per decision")),
)
"""One row per system and number of rotations: what asking more orders buys. Of the first repeat of each order alone."""

ORDER_SCORES = _columns(
    _DATASET,
    _BACKEND,
    [
        field("example_id", pa.string(), "example of a public dataset", False),
        field("text", pa.string(), "its text", False),
        field("order_index", pa.int32(), "which order", False),
        field("option_order", pa.list_(pa.int32()), "declared indices in the order sent", False),
        field("scores", pa.list_(pa.float64()), "mean of the repeats in declared option order; null unless complete"),
        field("repeats", pa.int32(), "scored repeats", False),
    ],
)
"""One row per system, example and order of a public dataset; none of a private one."""

REPEAT_VERIFICATION = _columns(
    _DATASET,
    _BACKEND,
    [field("example_id", pa.string(), "example", False), field("text", pa.string(), "null in a private dataset")],
    [field("model_resolved", pa.string(), "what answered")],
    _counts(
        ("planned", "identical requests"),
        ("scored", "replies with scores"),
        ("distinct_vectors", "different score vectors among them"),
        ("distinct_labels", "different chosen labels"),
        ("distinct_winners", "different unique highest options"),
    ),
    _figures(("largest_range", "largest range of one option's score over the replies, points")),
)
"""One row per system and example that was asked the same request many times."""

FOLLOW_UP = _columns(
    _DATASET,
    _BACKEND,
    [
        field("presentation_id", pa.string(), "what was asked again", False),
        field("example_id", pa.string(), "its example", False),
        field("reason", pa.string(), "an outcome, no_scores, or label_mismatch", False),
        field("tries", pa.int32(), "further replies asked for", False),
        field("recovered", pa.bool_(), "the last of them is valid", False),
        field("outcome", pa.string(), "of the last try; other_model where another model answered it", False),
    ],
    _figures(("cost_usd", "of the further calls; null where unknown")),
)
"""One row per affected presentation; apart from the predictions, never merged into them."""

FOLLOW_UP_COUNTS = _columns(
    _DATASET,
    _BACKEND,
    _counts(
        ("affected", "presentations without scores or against their own label"),
        ("recovered", "valid at a further try"),
        ("tries", "further replies asked for"),
        ("samples", "samples of the manifest"),
        ("complete_before", "strict-complete samples"),
        ("complete_after", "likewise, if recovered presentations counted, which they never do"),
    ),
    _figures(("cost_usd", "of the further calls; null where unknown")),
)
"""One row per system that was followed up: whether asking again restores complete samples."""

FOLLOW_UP_COUNTS_TABLE = "follow_up_counts"
"""Name of that table in report.json and in a publication; it is made of the follow-up whenever a report is."""

ORDER_TABLES = {
    AssetName.ORDER_SENSITIVITY: ORDER_SENSITIVITY,
    AssetName.ORDER_COVERAGE: ORDER_COVERAGE,
    AssetName.ORDER_EXCLUSIONS: ORDER_EXCLUSIONS,
    AssetName.ORDER_RANGES: ORDER_RANGES,
    AssetName.ORDER_DIFFERENCES: ORDER_DIFFERENCES,
    AssetName.ORDER_POSITIONS: ORDER_POSITIONS,
    AssetName.ORDER_AVERAGING: ORDER_AVERAGING,
    AssetName.ORDER_SCORES: ORDER_SCORES,
    AssetName.REPEAT_VERIFICATION: REPEAT_VERIFICATION,
}
"""What one step makes of all systems of a dataset."""
