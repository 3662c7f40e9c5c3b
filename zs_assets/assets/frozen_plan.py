"""Replies are placed by the plan they were asked with: a seed that changed afterwards would name other orders."""

from zs_assets.assets.gated_reading import PlannedPartition, changed_after_freezing
from zs_assets.assets.graph import StudyGraph
from zs_assets.protocol.errors import StudyError


def require_frozen_plan(graph: StudyGraph, dataset: str, planned: PlannedPartition) -> None:
    """StudyError unless the study still asks what the dataset's frozen manifest was made for."""
    changed = changed_after_freezing(graph, dataset, planned)
    if changed is not None:
        raise StudyError(changed)
