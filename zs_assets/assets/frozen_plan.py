"""Replies are placed by the plan they were asked with: a seed that changed afterwards would name other orders."""

from zs_assets.assets.gated_reading import PlannedPartition
from zs_assets.assets.graph import StudyGraph
from zs_assets.protocol.errors import StudyError


def require_frozen_plan(graph: StudyGraph, dataset: str, planned: PlannedPartition) -> None:
    """StudyError unless the study still asks what the dataset's frozen manifest was made for.

    An order is stored as its number in the plan, so after a change of the plan's seed every prediction still fits the
    manifest, and each of its scores would be laid on another option's position.
    """
    now = graph.spec.protocol_hash(graph.spec.dataset(dataset), planned.question, planned.manifest_hash)
    if now != planned.protocol_hash:
        raise StudyError(
            f"The plan, source or question of {graph.name} {dataset} changed after its manifest was frozen "
            f"({planned.protocol_hash[:12]}, now {now[:12]}), so it is not known in which orders its replies were "
            f"asked: change it back, or move the old outputs aside with `zs-assets reset {graph.name} --archive`."
        )
