"""The report of a study: report.json, whose schema is documented, and one self-contained page made from it alone.

What belongs here: sentences, tables and charts of figures that others computed. What does not: statistics, reading
the lake, deciding what may be published.
"""

from zs_assets.report.build import build_report
from zs_assets.report.inputs import DatasetFacts, MissingPartition, PartitionVerdict, ReportInputs
from zs_assets.report.page import render_page

__all__ = [
    "DatasetFacts",
    "MissingPartition",
    "PartitionVerdict",
    "ReportInputs",
    "build_report",
    "render_page",
]
