"""The Study component: a study's YAML becomes assets, checks, partitions and jobs."""

from __future__ import annotations

import warnings
from pathlib import Path

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster.components.component.component_scaffolder import Scaffolder
from dagster.components.scaffold.scaffold import ScaffoldRequest
from pydantic import BaseModel

from zs_assets.assets.analysis_inputs import analysis_tables
from zs_assets.assets.calibration_assets import calibration_assets
from zs_assets.assets.comparison_assets import comparison_assets
from zs_assets.assets.dataset_assets import dataset_assets
from zs_assets.assets.follow_up_asset import follow_up_asset, follow_up_job
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.metrics_assets import metrics_asset
from zs_assets.assets.order_assets import order_assets
from zs_assets.assets.pair_analysis_assets import pair_analysis_assets
from zs_assets.assets.predictions_assets import prediction_assets
from zs_assets.assets.publication_asset import publication_asset
from zs_assets.assets.report_asset import report_asset
from zs_assets.assets.warehouse_asset import warehouse_asset
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.study import StudySpec

# Partitioned checks and multi-partition mappings are previews that we rely on knowingly, at a pinned version.
warnings.filterwarnings("ignore", category=dg.PreviewWarning)
warnings.filterwarnings("ignore", category=dg.BetaWarning)

STARTER = """\
type: zs_assets.Study

attributes:
  name: {name}
  question: Which single label best describes the input text?
  datasets:
    - name: my_dataset
      source:
        kind: file
        path: my_dataset.csv        # beside this file, or absolute; csv, jsonl or parquet
        text_column: text
        label_column: label
        labels:                     # in the order every system sees them
          first_label: One short sentence that says when this label is right.
          second_label: One short sentence that says when this label is right.
      sample: {{kind: balanced, size: 100, seed: 1}}
  backends: [uniform, sparrow]      # names of systems.yaml; `zs-assets run {name} --backend uniform` runs one
  analyses:
    paired_differences: {{pairs: all, resamples: 2000, seed: 1}}
    calibration:                    # for every backend with a confidence: levels, ECE, certified thresholds
    # cascades:                     # primary, then fallback below a confidence threshold
    #   pairs: [[sparrow, minilm]]
    #   targets: [9/10, 19/20]      # fix them before you run
"""


class StudyScaffolder(Scaffolder):
    """`dg scaffold defs zs_assets.Study NAME` writes a study to fill in."""

    def scaffold(self, request: ScaffoldRequest) -> None:
        request.target_path.mkdir(parents=True, exist_ok=True)
        text = STARTER.format(name=request.target_path.name)
        (request.target_path / "defs.yaml").write_text(text, encoding="utf-8")


@dg.scaffold_with(StudyScaffolder)
class Study(dg.Component):
    """A study: datasets x backends x a plan of presentations, then analyses, a report and a gated publication."""

    def __init__(self, spec: StudySpec, folder: Path):
        self.graph = StudyGraph(spec, folder)

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        return StudySpec

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> Study:
        assert isinstance(attributes, StudySpec)
        return cls(attributes, Path(context.path))

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        return study_definitions(self.graph)


def measured_assets(graph: StudyGraph) -> list[AssetName]:
    """What is made for a dataset x backend in one run: its answers, and all that is computed of them alone."""
    return [
        *(AssetName.PREDICTIONS, AssetName.ATTEMPTS, AssetName.METRICS),
        *analysis_tables(graph).get("calibration", ()),
    ]


def study_definitions(graph: StudyGraph) -> dg.Definitions:
    """Assets and jobs of one study, without resources: definitions.py and tests give them."""
    key = graph.key
    cells = [key(name) for name in measured_assets(graph)]
    summary = [key(name) for name in (AssetName.RANKINGS, AssetName.WAREHOUSE, AssetName.REPORT)]
    summary.append(dg.AssetKey([graph.name, "manifest_file"]))
    if graph.spec.pairs:
        summary.append(key(AssetName.DATASET_MEANS))
    return dg.Definitions(
        assets=[
            *dataset_assets(graph),
            *prediction_assets(graph),
            metrics_asset(graph),
            *comparison_assets(graph),
            *calibration_assets(graph),
            *pair_analysis_assets(graph),
            *order_assets(graph),
            *([follow_up_asset(graph)] if graph.spec.analyses.order_sensitivity is not None else []),
            warehouse_asset(graph),
            report_asset(graph),
            publication_asset(graph),
        ],
        jobs=[
            dg.define_asset_job(
                f"{graph.name}__prepare",
                selection=[key(AssetName.EXAMPLES), key(AssetName.MANIFEST)],
                partitions_def=graph.datasets,
                description="Reads the sources and freezes the samples.",
            ),
            dg.define_asset_job(
                f"{graph.name}__measure",
                selection=cells,
                partitions_def=graph.cells,
                description="Asks one backend about one dataset, checks the gates and scores the answers.",
            ),
            *_analysis_jobs(graph),
            *([follow_up_job(graph)] if graph.spec.analyses.order_sensitivity is not None else []),
            dg.define_asset_job(
                f"{graph.name}__summarise",
                selection=summary,
                description="Means, rankings, warehouse and report over all partitions that passed.",
            ),
            dg.define_asset_job(
                f"{graph.name}__publish",
                selection=[key(AssetName.PUBLICATION)],
                description="Publishes the report bundle if every gate of every included partition passes.",
            ),
        ],
    )


def _analysis_jobs(graph: StudyGraph) -> list[UnresolvedAssetJobDefinition]:
    """One job per analysis: their partitions differ."""
    return [
        dg.define_asset_job(
            f"{graph.name}__analyse_{name}",
            selection=[graph.key(asset) for asset in tables],
            description=f"The tables of the analysis `{name}` for one partition that passed its gates.",
        )
        for name, tables in analysis_tables(graph).items()
    ]
