"""BTZSC: 22 zero-shot classification sets on the Hugging Face Hub, read at a pinned revision or from a local copy."""

from __future__ import annotations

import os
import re
from pathlib import Path

from zs_assets.protocol.errors import SourceError, StudyError
from zs_assets.protocol.question import Option, Question
from zs_assets.protocol.source_specs import BtzscSource
from zs_assets.sources.base import Dataset, make_example, sha256_of_files
from zs_assets.sources.pairs import read_pairs

LOCAL_COPY = "ZS_BTZSC_DIR"

CONFIGS = (
    *("amazonpolarity", "imdb", "appreviews", "yelpreviews", "rottentomatoes", "financialphrasebank"),  # sentiment
    *("emotiondair", "empathetic"),  # emotion
    *("banking77", "biasframes_intent", "massive"),  # intent
    *(
        "agnews",
        "yahootopics",
        "trueteacher",
        "manifesto",
        "capsotu",
        "biasframes_offensive",
        "biasframes_sex",
    ),  # topic
    *("wikitoxic_toxicaggregated", "wikitoxic_obscene", "wikitoxic_threat", "wikitoxic_insult"),  # topic
)


def load(source: BtzscSource, instructions: str, cache_dir: Path | None) -> Dataset:
    """Decode one configuration; examples without exactly one positive option are left out and counted.

    The official loader files an example without a positive option under class 0, which makes it wrong by
    construction; the pilot's protocol leaves it out, and so do we. Example ids count all examples of the file, the
    left-out ones too, so an id means the same row whatever is excluded.
    """
    _check(source)
    local = _local_files(source)
    files = local or (_download(source, cache_dir),)
    pairs = read_pairs(files, source.config)
    # Placeholder ids: the hypotheses are the options' meaning, and they are what every system is to read.
    options = tuple(Option(f"label_{i:03d}", hypothesis) for i, hypothesis in enumerate(pairs.hypotheses))
    examples = tuple(
        make_example(f"{source.config}:{group}", text, target)
        for group, text, target in zip(pairs.groups, pairs.texts, pairs.targets, strict=True)
    )
    provenance = {
        "repository": source.repository,
        "revision": f"unverified: local copy of {LOCAL_COPY}" if local else source.revision,
        "path": ", ".join(f"{source.config}/{file.name}" for file in files),
        "sha256": sha256_of_files(files),
        "rows": str(pairs.rows),
        "examples": str(len(examples) + sum(pairs.excluded.values())),
    }
    return Dataset(examples, Question(instructions, options), pairs.excluded, provenance)


def pin(source: BtzscSource) -> str:
    """The revision; for a local copy, whose revision nobody can verify, the sha256 of its files."""
    _check(source)
    local = _local_files(source)
    return sha256_of_files(local) if local else source.revision


def _check(source: BtzscSource) -> None:
    if source.config not in CONFIGS:
        raise StudyError(f"BTZSC has no configuration '{source.config}': use one of {', '.join(sorted(CONFIGS))}.")
    if not re.fullmatch(r"[0-9a-f]{40}", source.revision):
        raise StudyError(
            f"The BTZSC revision '{source.revision}' of '{source.config}' can move: "
            "pin the full 40-digit commit hash instead of a branch, tag or short hash."
        )


def _local_files(source: BtzscSource) -> tuple[Path, ...]:
    """Files of the user's local copy, in order; empty when none is configured."""
    folder = os.environ.get(LOCAL_COPY)
    if not folder:
        return ()
    # A local copy that lacks the configuration is an error, not a reason to download: the user said where to look.
    files = tuple(sorted((Path(folder).expanduser() / source.config).glob("test-*.parquet")))
    if not files:
        raise SourceError(
            f"{LOCAL_COPY} points to {folder}, which holds no {source.config}/test-*.parquet: "
            f"put the file there, or unset {LOCAL_COPY} to download it."
        )
    return files


def _download(source: BtzscSource, cache_dir: Path | None) -> Path:
    """The configuration's file through the Hub client's cache: a cached commit is never asked for again."""
    import httpx
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    # The client reads its environment once, at import; reading it here honours a value set afterwards too.
    endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    offline = constants.HF_HUB_OFFLINE or os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
    filename = f"{source.config}/test-00000-of-00001.parquet"
    wanted = f"{filename} of {source.repository} at revision {source.revision}"
    way_out = f"set HF_ENDPOINT to a Hub that has it, or {LOCAL_COPY} to a folder with {source.config}/test-*.parquet"
    try:
        return Path(
            hf_hub_download(
                source.repository,
                filename,
                repo_type="dataset",
                revision=source.revision,
                cache_dir=cache_dir,
                endpoint=endpoint,
                local_files_only=offline,
            )
        )
    except LocalEntryNotFoundError as error:
        cause = f"{endpoint} gives no usable answer ({type(error.__cause__ or error).__name__})"
        why = "the Hub client is offline (HF_HUB_OFFLINE)" if offline else cause
        raise SourceError(f"{wanted} is not in the cache and {why}: {way_out}.") from error
    except (EntryNotFoundError, HfHubHTTPError) as error:
        status = getattr(getattr(error, "response", None), "status_code", "no status")
        raise SourceError(f"{endpoint} does not give {wanted} (HTTP {status}): {way_out}.") from error
    except (httpx.HTTPError, OSError) as error:
        raise SourceError(f"Downloading {wanted} failed ({type(error).__name__}: {error}): {way_out}.") from error
