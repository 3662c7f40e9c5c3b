"""The tables of selective automation in the order of the page: open ones to read, long ones folded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zs_assets.report import calibration_tables, cascade_tables
from zs_assets.report.decision_log_table import decision_log_tables
from zs_assets.report.tables import Table


@dataclass(frozen=True)
class TableGroup:
    """Tables under one heading; `note` says what holds for all of them."""

    id: str
    title: str
    note: str
    shown: tuple[Table, ...]
    folded: tuple[Table, ...]


def selective_table_groups(report: dict[str, Any]) -> list[TableGroup]:
    """Calibration, cascades and the decision log; a group without any row is left out."""
    groups = [
        TableGroup(
            "calibration-tables",
            "Calibration and thresholds",
            "Valid rows with a stated confidence; a system that gives a label only has no row here. Coverage counts "
            "every planned example. “Addition” marks what the published protocol does not have. Where the figure of "
            "a perfectly calibrated system is near the measured one, the figure is noise.",
            (
                calibration_tables.calibration_table(report),
                calibration_tables.certified_table(report),
                calibration_tables.auroc_table(report),
            ),
            (calibration_tables.tier_table(report), *calibration_tables.level_tables(report)),
        ),
        TableGroup(
            "cascade-tables",
            "Cascades",
            "Every planned row counts; a failure is wrong. A cost with an unknown amount in it is unknown, never "
            "partial. Latency of an escalated row is the sum of both systems'. The McNemar p of the gain is exact but "
            "optimistic: the threshold was chosen on the same rows.",
            (
                cascade_tables.points_table(report),
                cascade_tables.targets_table(report),
                cascade_tables.gain_table(report),
                cascade_tables.confirmation_table(report),
                cascade_tables.agreement_table(report),
                cascade_tables.domain_table(report),
            ),
            (cascade_tables.disagreement_table(report), *cascade_tables.shared_error_tables(report)),
        ),
        TableGroup(
            "decision-log-tables",
            "Decision log",
            "Nobody labelled these rows. The figures say how often two systems decide alike, and nothing about which "
            "of them to believe.",
            (),
            tuple(decision_log_tables(report)),
        ),
    ]
    kept = [
        TableGroup(group.id, group.title, group.note, _with_rows(group.shown), _with_rows(group.folded))
        for group in groups
    ]
    return [group for group in kept if group.shown or group.folded]


def _with_rows(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    return tuple(table for table in tables if table.rows)
