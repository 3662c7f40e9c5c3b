"""Arrow schemas: the dictionary of every stored table. One place for each column name and its meaning."""

from __future__ import annotations

import pyarrow as pa


def field(name: str, kind: pa.DataType, meaning: str, nullable: bool = True) -> pa.Field:
    """A column with its meaning in its metadata."""
    return pa.field(name, kind, nullable=nullable, metadata={"description": meaning})


EXAMPLES = pa.schema(
    [
        field("example_id", pa.string(), "unique within the dataset", False),
        field("text", pa.string(), "the text as the source has it, never stripped", False),
        field("text_sha256", pa.string(), "sha256 of the UTF-8 text", False),
        field("target_index", pa.int32(), "gold option, index into the declared options; null without gold label"),
        field("sample_group", pa.string(), "part of the sample that is reported apart; null without groups"),
    ]
)
"""Examples and manifests: one row per example. Key-value metadata `question` holds instructions and options."""

PREDICTIONS = pa.schema(
    [
        field("presentation_id", pa.string(), "example_id/o<order>r<repeat>", False),
        field("example_id", pa.string(), "example asked about", False),
        field("text_sha256", pa.string(), "sha256 of the text that was sent", False),
        field("target_index", pa.int32(), "gold option, index into the declared options"),
        field("order_index", pa.int32(), "which option order of the plan", False),
        field("repeat", pa.int32(), "which repeat of the plan", False),
        field("option_order", pa.list_(pa.int32()), "declared indices in the order sent", False),
        field("outcome", pa.string(), "ok, invalid, refusal, no_call, error or not_applicable", False),
        field("probabilities", pa.list_(pa.float64()), "raw, in declared option order; null without a vector"),
        field("choice", pa.string(), "option id the system itself named"),
        field("predicted_index", pa.int32(), "first maximum of the vector, or the choice of a label-only system"),
        field("confidence", pa.float64(), "the system's own confidence field, as given"),
        field("top_probability", pa.float64(), "largest raw probability, recomputed"),
        field("truncated", pa.bool_(), "evidence that the system cut the input"),
        field("model_requested", pa.string(), "model string sent", False),
        field("model_resolved", pa.string(), "what the system answered under, never the alias sent"),
        field("request_id", pa.string(), "the system's id of the call"),
        field("attempts", pa.int32(), "calls made for this presentation", False),
        field("input_tokens", pa.int64(), "whole prompt as the system reported it, tokens from its cache included"),
        field("output_tokens", pa.int64(), "billed output as the system reported it, reasoning included"),
        field("cache_hit_tokens", pa.int64(), "input tokens billed as found in the prompt cache; null if not reported"),
        field("cache_miss_tokens", pa.int64(), "input tokens billed at the plain price; null if not reported"),
        field("reasoning_tokens", pa.int64(), "output tokens spent on reasoning; null if not reported"),
        field("cost_usd", pa.float64(), "by the price that held at run_date; null where unknown"),
        field(
            "pricing_tier",
            pa.string(),
            "standard, off_peak, peak or peak_unlisted_year; null where no price was applied",
        ),
        field("latency_ms", pa.float64(), "successful attempt only, no waits"),
        field("in_flight", pa.int32(), "calls in flight when this one was sent, itself included"),
        field("run_date", pa.string(), "UTC before the call, suffix Z"),
        field("problem", pa.string(), "why the outcome is not ok"),
        field("raw", pa.large_string(), "the reply's body byte for byte"),
        field("prompt_hash", pa.string(), "sha256 of instructions and criteria in declared order", False),
    ]
)
"""One row per planned presentation of a dataset x backend."""

ATTEMPTS = pa.schema(
    [
        field("presentation_id", pa.string(), "what was asked", False),
        field("attempt", pa.int32(), "1 is the first call", False),
        field("asked_at", pa.string(), "UTC before the call, suffix Z", False),
        field("result", pa.string(), "reply, a fault kind, or in_flight_at_stop", False),
        field("status", pa.int32(), "HTTP status where one came"),
        field("detail", pa.string(), "what the fault said, free of keys"),
        field("wait_ms", pa.float64(), "wait before the next attempt"),
        field("latency_ms", pa.float64(), "duration of this attempt"),
        field("request_id", pa.string(), "the system's id of the call"),
        field("input_tokens", pa.int64(), "as the system reported"),
        field("output_tokens", pa.int64(), "as the system reported"),
        field("cost_usd", pa.float64(), "null where unknown"),
        field("pricing_tier", pa.string(), "which of the provider's prices held at asked_at"),
    ]
)
"""One row per call of a dataset x backend, faults included."""

METRICS = pa.schema(
    [
        field("dataset", pa.string(), "dataset partition", False),
        field("backend", pa.string(), "backend partition", False),
        field("title", pa.string(), "the system's name for people", False),
        field("deployment", pa.string(), "hosted or local: latencies of the two are different modes", False),
        field("rehearsal", pa.bool_(), "true: a stand-in answered, and nothing here is a result"),
        field("model_resolved", pa.string(), "the one model the replies came from"),
        field("applicable", pa.bool_(), "false: the option cap rules this partition out, all metrics null", False),
        field("n", pa.int64(), "planned presentations", False),
        *(
            field(f"{o}_count", pa.int64(), f"presentations with outcome {o}", False)
            for o in ("ok", "invalid", "refusal", "no_call", "error", "not_applicable")
        ),
        field("valid", pa.int64(), "rows the proper scores use", False),
        field("failures", pa.int64(), "planned but not valid; wrong in accuracy, macro-F1 and coverage", False),
        *(
            field(name, pa.float64(), meaning)
            for name, meaning in (
                ("accuracy", "share of planned presentations predicted right"),
                ("macro_f1", "mean F1 over the declared labels"),
                ("brier", "sum over classes, [0,2], by the study's renormalising rule"),
                ("nll", "floor 1e-12, by the study's renormalising rule"),
                ("nll_half_step", "floor 0.005, by the study's renormalising rule"),
                ("brier_raw", "raw vectors"),
                ("nll_raw", "raw vectors, floor 1e-12"),
                ("nll_half_step_raw", "raw vectors, floor 0.005"),
                ("brier_renormalised", "vectors divided by their sum"),
                ("nll_renormalised", "vectors divided by their sum, floor 1e-12"),
                ("nll_half_step_renormalised", "vectors divided by their sum, floor 0.005"),
                ("p_gold_zero_rate", "share of valid rows that give the gold label probability 0"),
                ("mean_confidence", "mean over valid rows"),
                ("ece", "top-label, 10 equal bins, exact on the grid"),
                ("ece_linspace", "top-label, 10 bins with float edges, as published"),
                ("ece_by_level", "every observed confidence a bin; null off a grid"),
                ("coverage", "largest accepted share within the error budget"),
                ("risk", "error share among the accepted"),
                ("threshold", "confidence that selects them"),
                ("latency_p50_ms", "type 7"),
                ("latency_p95_ms", "type 7"),
                ("cost_usd", "sum of known costs"),
            )
        ),
        *(
            field(name, pa.int64(), meaning)
            for name, meaning in (
                ("p_gold_zero_count", "valid rows that give the gold label probability 0"),
                ("choice_below_maximum_count", "ok rows whose own choice has less than the largest probability"),
                ("confidence_level_count", "distinct confidences"),
                ("accepted", "rows accepted at the threshold"),
                ("errors", "wrong among the accepted"),
                ("input_tokens", "sum of reported tokens"),
                ("output_tokens", "sum of reported tokens"),
                ("attempts", "calls made"),
                ("cost_unknown_count", "calls whose cost is unknown"),
            )
        ),
        field("on_grid", pa.bool_(), "every probability lies on the stated grid"),
    ]
)
"""One row: a dataset x backend."""

INTERVAL_FIELDS = [
    field("metric", pa.string(), "accuracy, macro_f1, brier, nll ...", False),
    field("scheme", pa.string(), "target_stratified (the protocol's) or plain (ours)", False),
    field("n", pa.int64(), "items valid for both", False),
    field("difference", pa.float64(), "a minus b", False),
    field("ci95_low", pa.float64(), "2.5 % quantile", False),
    field("ci95_high", pa.float64(), "97.5 % quantile", False),
    field("supported", pa.bool_(), "the interval excludes zero", False),
    field("better", pa.string(), "the backend a supported difference favours"),
    field("weak", pa.string(), "why the interval should not be leaned on"),
]

PAIRED_DIFFERENCES = pa.schema(
    [
        field("dataset", pa.string(), "dataset partition", False),
        field("backend_a", pa.string(), "minuend", False),
        field("backend_b", pa.string(), "subtrahend", False),
        *INTERVAL_FIELDS,
    ]
)
"""One row per metric and resampling scheme of a dataset x pair."""

DATASET_MEANS = pa.schema(
    [
        field("backend_a", pa.string(), "minuend", False),
        field("backend_b", pa.string(), "subtrahend", False),
        field("datasets", pa.list_(pa.string()), "datasets in the mean, equally weighted", False),
        *INTERVAL_FIELDS,
    ]
)
"""One row per pair, metric and resampling scheme: equal-weight mean of the datasets' differences."""

RANKINGS = pa.schema(
    [
        field("metric", pa.string(), "metric the two backends are ranked by", False),
        field("backend_a", pa.string(), "one of the two", False),
        field("backend_b", pa.string(), "the other", False),
        field("a_ahead", pa.list_(pa.string()), "datasets where a is better", False),
        field("b_ahead", pa.list_(pa.string()), "datasets where b is better", False),
        field("a_largest_lead", pa.float64(), "largest lead of a"),
        field("b_largest_lead", pa.float64(), "largest lead of b"),
    ]
)
"""One row per metric and pair of backends whose ranking reverses by dataset."""
