"""The run files of the automation study (Janus): one JSON object a line, columns in this order.

Source: the study's method, "Contrat du JSONL de run". A system that is billed for its output appends the columns of
`BILLED_COLUMNS` it has; a system without a probability vector leaves the five columns after `prediction` null.
"""

from __future__ import annotations

RUN_COLUMNS = (
    *("id", "text", "gold_label", "model_id", "prediction", "confidence", "probabilities"),
    *("margin_top2", "entropy_norm", "ratio_top2"),
    *("input_tokens", "latency_ms", "prompt_hash", "run_date"),
)
BILLED_COLUMNS = (
    *("output_tokens", "cost_usd", "pricing_tier"),
    *("cache_hit_tokens", "cache_miss_tokens", "reasoning_tokens"),
)
DATASET_COLUMNS = ("id", "text", "gold_label")
