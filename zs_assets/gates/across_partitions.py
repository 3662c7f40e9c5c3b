"""Gates over several partitions of a study, asked by the report and by publication."""

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


def one_prompt_across_backends(dataset: str, prompts: Mapping[str, str]) -> Verdict:
    """Every backend of a dataset was asked the same: `prompts` maps backend -> the prompt_hash of its partition."""
    distinct = sorted(set(prompts.values()))
    listing = ", ".join(f"{backend}: {prompt[:12]}" for backend, prompt in prompts.items())
    sentence = (
        f"every backend of {dataset} was asked prompt {distinct[0]}"
        if len(distinct) == 1
        else f"backends of {dataset} were asked several prompts ({listing})"
        if distinct
        else f"no backend of {dataset} was asked anything"
    )
    counts: dict[str, float] = {"prompts": len(distinct), "backends": len(prompts)}
    return Verdict(Gate.ONE_PROMPT, len(distinct) <= 1, True, sentence, counts, first(distinct))
