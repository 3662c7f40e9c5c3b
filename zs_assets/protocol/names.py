"""The dictionary: outcomes, gates and asset names, each written once."""

from __future__ import annotations

from enum import Enum


class Outcome(str, Enum):
    """What became of one planned presentation (one prediction each)."""

    OK = "ok"
    INVALID = "invalid"  # a billed reply that breaks integrity; raw kept, never asked again
    REFUSAL = "refusal"
    NO_CALL = "no_call"
    ERROR = "error"  # no reply within the attempt budget, or a request the system rejects
    NOT_APPLICABLE = "not_applicable"  # the system's option cap, known before any call


class Gate(str, Enum):
    """Conditions on a predictions partition or a manifest; what fails is not published."""

    CODE_IDENTITY = "code_identity"  # of the run and of the worker that carries it out
    VECTOR_INTEGRITY = "vector_integrity"
    MAX_INVALID_RATE = "max_invalid_rate"
    MANIFEST_COVERAGE = "manifest_coverage"
    ONE_PROMPT = "one_prompt"  # within a partition, and of all backends of a dataset
    ONE_MODEL = "one_model"
    FAILURE_RATE = "failure_rate"  # a warning
    TRUNCATION = "truncation"  # a warning
    MANIFEST_FROZEN = "manifest_frozen"
    MANIFEST_PUBLISHED = "manifest_published"


class AssetName(str, Enum):
    """Last part of every asset key `[study, asset]` and folder name in the lake."""

    DATASET_SPEC = "dataset_spec"
    BACKEND_SPEC = "backend_spec"
    EXAMPLES = "examples"
    MANIFEST = "manifest"
    PREDICTIONS = "predictions"
    ATTEMPTS = "attempts"
    METRICS = "metrics"
    PAIRED_DIFFERENCES = "paired_differences"
    DATASET_MEANS = "dataset_means"
    RANKINGS = "rankings"
    CONFIDENCE_LEVELS = "confidence_levels"
    CONFIDENCE_TIERS = "confidence_tiers"
    CALIBRATION = "calibration"
    AUROC_COMPARISONS = "auroc_comparisons"
    CERTIFIED_THRESHOLDS = "certified_thresholds"
    CASCADE_SWEEP = "cascade_sweep"
    CASCADE_TARGETS = "cascade_targets"
    CASCADES = "cascades"
    AGREEMENTS = "agreements"
    SHARED_ERRORS = "shared_errors"
    ERROR_DOMAINS = "error_domains"
    TIER_DISAGREEMENTS = "tier_disagreements"
    DECISION_LOG = "decision_log"
    ORDER_SENSITIVITY = "order_sensitivity"
    ORDER_COVERAGE = "order_coverage"
    ORDER_EXCLUSIONS = "order_exclusions"
    ORDER_RANGES = "order_ranges"
    ORDER_DIFFERENCES = "order_differences"
    ORDER_POSITIONS = "order_positions"
    ORDER_AVERAGING = "order_averaging"
    ORDER_SCORES = "order_scores"
    REPEAT_VERIFICATION = "repeat_verification"
    FOLLOW_UP = "follow_up"
    WAREHOUSE = "warehouse"
    REPORT = "report"
    PUBLICATION = "publication"


PAIR_SEPARATOR = "__vs__"

PROCESS_TAG = "zs_assets/process"
"""Tag of a run that the command line carries out itself, one after the other: the number of its process."""
