"""Where texts and gold labels come from: BTZSC, Banking77, WOS, the user's own files, the demo sets; and the draws.

A source never changes a text and never drops an example silently: what is left out is counted by reason.
"""

from __future__ import annotations

from pathlib import Path

from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.hashing import prompt_hash
from zs_assets.protocol.source_specs import Banking77Source, BtzscSource, FileSource, WosSource
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import banking77, btzsc, demo, file, wos
from zs_assets.sources.base import Dataset

__all__ = ["Dataset", "load_dataset", "source_pin"]


def load_dataset(
    spec: DatasetSpec, *, study_question: str, study_folder: Path | None, cache_dir: Path | None = None
) -> Dataset:
    """Every valid example of the dataset's source; the sample is drawn from them afterwards.

    Parameters
    ----------
    study_question
        Asked where neither the dataset's entry nor its labels file has instructions of its own.
    study_folder
        Where relative paths of `file` sources start; None: the working folder.
    cache_dir
        Where downloads from the Hub are kept; None: the Hub client's own cache.

    Raises
    ------
    SourceError
        If the source cannot be read, or leads to another prompt than the study pins.
    """
    dataset = _load(spec, study_question, study_folder, cache_dir)
    digest = prompt_hash(dataset.question)
    if spec.prompt_hash is not None and spec.prompt_hash != digest:
        raise SourceError(
            f"Dataset '{spec.name}' leads to prompt_hash {digest} where the study pins {spec.prompt_hash}: restore "
            "the instructions, labels, descriptions and their order, or change the pin."
        )
    return dataset


def _load(spec: DatasetSpec, study_question: str, study_folder: Path | None, cache_dir: Path | None) -> Dataset:
    source = spec.source
    if isinstance(source, BtzscSource):
        return btzsc.load(source, spec.instructions or study_question, cache_dir)
    if isinstance(source, FileSource):
        return file.load(source, spec.instructions, study_question, study_folder)
    if isinstance(source, Banking77Source):
        return file.load(banking77.as_file(source), spec.instructions, study_question, study_folder)
    if isinstance(source, WosSource):
        return wos.load(source, spec.instructions, study_question, study_folder)
    return demo.load(source, spec.instructions, study_question)


def source_pin(spec: DatasetSpec, study_folder: Path | None) -> str:
    """What pins the source, without a download: the Hub revision, the sha256 of the local files, or a URL."""
    source = spec.source
    if isinstance(source, BtzscSource):
        return btzsc.pin(source)
    if isinstance(source, FileSource):
        return file.pin(source, study_folder)
    if isinstance(source, Banking77Source):
        return file.pin(banking77.as_file(source), study_folder)
    if isinstance(source, WosSource):
        return file.pin(wos.as_file(source), study_folder)
    return demo.pin(source)
