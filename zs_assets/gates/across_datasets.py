"""Gates that look at one backend over all datasets of a study: asked by publication."""

from __future__ import annotations

from collections.abc import Mapping

from zs_assets.gates.verdict import Verdict, first
from zs_assets.protocol.names import Gate


def one_model_across_datasets(backend: str, models: Mapping[str, str | None]) -> Verdict:
    """One resolved model per backend: `models` maps dataset -> the model that answered there (None: none did)."""
    answered = {dataset: model for dataset, model in models.items() if model is not None}
    distinct = sorted(set(answered.values()))
    passed = len(distinct) <= 1
    listing = ", ".join(f"{dataset}: {model}" for dataset, model in answered.items())
    sentence = (
        f"{backend} answered as {distinct[0]} on every dataset"
        if len(distinct) == 1
        else f"{backend} answered as several models ({listing})"
        if distinct
        else f"{backend} gave no reply that names a model"
    )
    return Verdict(Gate.ONE_MODEL, passed, True, sentence, {"models": len(distinct)}, first(distinct))
