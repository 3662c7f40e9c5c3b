"""What a report is made of. The caller reads tables and gates; nothing here does."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.study import StudySpec
from zs_assets.stats import CalibrationBins, RiskCoverage

Partition = tuple[str, str]
"""(dataset, backend)"""


@dataclass(frozen=True)
class DatasetFacts:
    """One dataset of the study: where its examples come from and how many were left at every step."""

    name: str
    task: str
    source_examples: int
    excluded: dict[str, int]  # reason -> examples
    sampled: int
    labels: int
    source_pin: str
    protocol_hash: str
    prompt_hash: str
    private: bool
    options: tuple[str, ...] = ()  # ids in declared order


@dataclass(frozen=True)
class PartitionVerdict:
    """One gate's answer about one partition. An empty dataset or backend stands for all of them."""

    dataset: str
    backend: str
    gate: str
    passed: bool
    blocking: bool
    sentence: str

    @property
    def stops(self) -> bool:
        return self.blocking and not self.passed


@dataclass(frozen=True)
class MissingPartition:
    """A partition without readable results, and why."""

    dataset: str
    backend: str
    reason: str


@dataclass(frozen=True, eq=False)
class ReportInputs:
    """Everything a report says. Tables follow `storage`; curves and identities go by (dataset, backend)."""

    study: StudySpec
    systems: dict[str, SystemSpec]
    datasets: tuple[DatasetFacts, ...]
    manifest_sha256: str
    metrics: pa.Table
    paired_differences: pa.Table
    dataset_means: pa.Table
    rankings: pa.Table
    latencies_ms: dict[Partition, np.ndarray]
    calibration: dict[Partition, CalibrationBins]
    risk_coverage: dict[Partition, RiskCoverage]
    verdicts: tuple[PartitionVerdict, ...]
    missing: tuple[MissingPartition, ...]
    versions: dict[str, str]
    identities: dict[Partition, dict[str, str]]
    generated_at: str
    rehearsal: bool
    public: bool = False  # the report of a publication, read by others than its author
    analyses: dict[str, pa.Table] = field(default_factory=dict)  # name -> table
