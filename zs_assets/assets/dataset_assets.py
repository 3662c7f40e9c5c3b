"""source -> examples -> manifest, one partition per dataset."""

import contextlib
import json

import dagster as dg
import pyarrow as pa

from zs_assets.assets.graph import IO_MANAGER, StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.assets.tables import definition_metadata, head_table
from zs_assets.protocol.errors import GateRefused, SourceError
from zs_assets.protocol.hashing import prompt_hash, sha256_bytes
from zs_assets.protocol.manifest_format import manifest_hash, manifest_jsonl
from zs_assets.protocol.names import AssetName, Gate
from zs_assets.sources import load_dataset
from zs_assets.sources.sampling import draw
from zs_assets.storage.examples import examples_of, examples_table, question_from_json, question_json
from zs_assets.storage.frozen import frozen_hashes, refuse_other_hashes, way_out
from zs_assets.storage.lake import metadata_of, with_metadata, write_bytes
from zs_assets.storage.same_code import refuse_other_code
from zs_assets.storage.schemas import EXAMPLES


def dataset_assets(graph: StudyGraph) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    return [_dataset_spec(graph), _examples(graph), _manifest(graph), _manifest_file(graph)]


def _dataset_spec(graph: StudyGraph) -> dg.SourceAsset:
    @dg.observable_source_asset(
        key=graph.key(AssetName.DATASET_SPEC),
        partitions_def=graph.datasets,
        group_name=graph.name,
        description="One version per dataset: its entry in the study's YAML and the pin of its source.",
    )
    def dataset_spec() -> dg.DataVersionsByPartition:
        versions = {}
        for spec in graph.spec.datasets:
            # A source that cannot be read now has no version to tell; its examples say what is wrong with it.
            with contextlib.suppress(SourceError):
                versions[spec.name] = graph.dataset_version(spec)
        return dg.DataVersionsByPartition(versions)

    return dataset_spec


def _examples(graph: StudyGraph) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.EXAMPLES),
        partitions_def=graph.datasets,
        deps=[graph.key(AssetName.DATASET_SPEC)],
        io_manager_key=IO_MANAGER,
        group_name=graph.name,
        kinds={"parquet"},
        code_version="1",
        description="One row per valid example of the source: text untouched, gold label as an option index.",
        metadata=definition_metadata(EXAMPLES),
    )
    def examples(context: dg.AssetExecutionContext) -> dg.Output[pa.Table]:
        spec = graph.spec.dataset(context.partition_key)
        loaded = load_dataset(spec, study_question=graph.spec.question, study_folder=graph.folder)
        excluded = ", ".join(f"{count} {reason}" for reason, count in loaded.excluded.items()) or "none"
        table = with_metadata(
            examples_table(loaded.examples),
            question=question_json(loaded.question),
            excluded=json.dumps(loaded.excluded),
            provenance=json.dumps(loaded.provenance),
        )
        return dg.Output(
            table,
            data_version=dg.DataVersion(manifest_hash(spec.name, spec.task, loaded.examples, loaded.question)),
            metadata={
                "excluded": excluded,
                "options": len(loaded.question),
                "provenance": loaded.provenance,
                "head": head_table(table, ["example_id", "text", "target_index"]),
            },
        )

    return examples


def _manifest(graph: StudyGraph) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.MANIFEST),
        partitions_def=graph.datasets,
        ins={"examples": dg.AssetIn(graph.key(AssetName.EXAMPLES))},
        io_manager_key=IO_MANAGER,
        group_name=graph.name,
        kinds={"parquet"},
        code_version="1",
        description="One row per example in the study's frozen sample. Never replaced by another sample.",
        metadata=definition_metadata(EXAMPLES),
    )
    def manifest(context: dg.AssetExecutionContext, workspace: Workspace, examples: pa.Table) -> dg.Output[pa.Table]:
        spec = graph.spec.dataset(context.partition_key)
        source = metadata_of(examples)
        question = question_from_json(source["question"])
        sample = draw(examples_of(examples), spec.sample, len(question))
        digest = manifest_hash(spec.name, spec.task, sample, question)
        protocol = graph.spec.protocol_hash(spec, question, digest)
        refuse_another_sample(workspace, graph.name, spec.name, digest, protocol)
        table = with_metadata(
            examples_table(sample),
            **{name: source[name] for name in ("question", "excluded", "provenance")},
            source_examples=str(examples.num_rows),
            manifest_hash=digest,
            prompt_hash=prompt_hash(question),
            protocol_hash=protocol,
            dataset_version=graph.dataset_version(spec),
        )
        return dg.Output(
            table,
            data_version=dg.DataVersion(protocol),
            metadata={
                "manifest_hash": digest,
                "protocol_hash": protocol,
                "prompt_hash": prompt_hash(question),
                "head": head_table(table, ["example_id", "text", "target_index"]),
            },
        )

    return manifest


def _manifest_file(graph: StudyGraph) -> dg.AssetsDefinition:
    @dg.asset(
        key=dg.AssetKey([graph.name, "manifest_file"]),
        deps=[dg.AssetDep(graph.key(AssetName.MANIFEST), partition_mapping=dg.AllPartitionMapping())],
        group_name=graph.name,
        kinds={"json"},
        code_version="1",
        check_specs=[
            dg.AssetCheckSpec(
                Gate.MANIFEST_PUBLISHED.value, asset=dg.AssetKey([graph.name, "manifest_file"]), blocking=True
            )
        ],
        description="manifest.jsonl: one line per example of the study, all datasets in the study's order.",
    )
    def manifest_file(context: dg.AssetExecutionContext, workspace: Workspace):  # type: ignore[no-untyped-def]
        refuse_other_code(context.run.tags, f"{graph.name} manifest_file")
        data, absent = study_manifest(workspace, graph)
        digest = sha256_bytes(data)
        write_bytes(workspace.lake.study(graph.name) / "manifest.jsonl", data)
        passed, sentence = published_manifest_verdict(graph, digest, absent)
        yield dg.AssetCheckResult(
            check_name=Gate.MANIFEST_PUBLISHED.value,
            passed=passed,
            metadata={"verdict": sentence, "sha256": digest},
        )
        yield dg.MaterializeResult(metadata={"sha256": digest, "lines": data.count(b"\n"), "missing": absent})

    return manifest_file


def published_manifest_verdict(graph: StudyGraph, digest: str, absent: list[str]) -> tuple[bool, str]:
    """Whether the study's manifest is the published one, where the study reproduces a published one."""
    expected = graph.spec.manifest_sha256
    if expected is None:
        return True, "this study reproduces no published manifest"
    if absent:
        return True, f"not compared yet: no manifest of {', '.join(absent)}"
    if digest == expected:
        return True, f"equal to the published manifest, sha256 {expected}"
    return False, f"manifest has sha256 {digest}, the published one {expected}"


def study_manifest(workspace: Workspace, graph: StudyGraph) -> tuple[bytes, list[str]]:
    """The study's manifest.jsonl from the datasets' frozen manifests, and the datasets that have none yet."""
    parts, absent = [], []
    for spec in graph.spec.datasets:
        try:
            table = workspace.lake.read(graph.name, AssetName.MANIFEST, dataset=spec.name)
        except GateRefused:
            absent.append(spec.name)
            continue
        question = question_from_json(metadata_of(table)["question"])
        parts.append(manifest_jsonl(spec.name, spec.task, examples_of(table), question))
    return b"".join(parts), absent


def refuse_another_sample(workspace: Workspace, study: str, dataset: str, digest: str, protocol: str) -> None:
    """A frozen manifest is never replaced in place. The write itself holds this too, against workers at once."""
    refuse_other_hashes(
        f"study '{study}', dataset '{dataset}',",
        frozen_hashes(workspace.lake.folder(study, AssetName.MANIFEST, dataset=dataset)),
        {"manifest_hash": digest, "protocol_hash": protocol},
        way_out(study),
    )
