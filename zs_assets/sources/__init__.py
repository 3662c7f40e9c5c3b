"""Where texts and gold labels come from: BTZSC, the user's own files, the demo sets; and how samples are drawn.

A source never changes a text and never drops an example silently: what is left out is counted by reason.
"""

from __future__ import annotations

from pathlib import Path

from zs_assets.protocol.study import BtzscSource, DatasetSpec, FileSource
from zs_assets.sources import btzsc, demo, file
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
        Where downloads are kept; None: the Hub client's own cache.
    """
    source = spec.source
    if isinstance(source, BtzscSource):
        return btzsc.load(source, spec.instructions or study_question, cache_dir)
    if isinstance(source, FileSource):
        return file.load(source, spec.instructions, study_question, study_folder)
    return demo.load(source, spec.instructions, study_question)


def source_pin(spec: DatasetSpec, study_folder: Path | None) -> str:
    """What pins the source, without a download: the Hub revision, or the sha256 of the local files."""
    source = spec.source
    if isinstance(source, BtzscSource):
        return btzsc.pin(source)
    if isinstance(source, FileSource):
        return file.pin(source, study_folder)
    return demo.pin(source)
