"""Gates: pure functions of predictions and manifest. What fails is not published.

Each gate returns a Verdict with counts and the first offenders. Nothing here reads files or knows Dagster; the same
functions are asked by the producing step, by every reader and by publication.
"""

from zs_assets.gates.across_partitions import one_model_across_datasets, one_prompt_across_backends
from zs_assets.gates.code_identity import one_code, same_code
from zs_assets.gates.predictions import Expected, predictions_verdicts
from zs_assets.gates.verdict import Verdict

__all__ = [
    "Expected",
    "Verdict",
    "one_code",
    "one_model_across_datasets",
    "one_prompt_across_backends",
    "predictions_verdicts",
    "same_code",
]
