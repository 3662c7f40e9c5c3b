"""The downloads of the choice-order study: aggregates and pinned settings; nobody's text, id or seed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from zs_assets.report.order_downloads import aggregates, comparison_csv, is_secret
from zs_assets_tests.report.order_inputs import order_report, order_rows, verification_rows


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(item)


def test_the_comparison_has_a_row_per_dataset_rule_group_and_system():
    rows = list(csv.DictReader(io.StringIO(comparison_csv(order_report()))))
    assert len(rows) == 2 * 5 * (3 + 1)
    (new,) = [
        row
        for row in rows
        if (row["dataset"], row["rule"], row["sample_group"], row["backend"])
        == ("feelings", "strict_complete", "random", "new")
    ]
    assert new["title"] == "Mover 2.0"
    assert (int(new["large_ranges"]), int(new["samples"]), float(new["large_share"])) == (44, 80, 0.55)
    assert new["large_share_exact_low"] == ""


def test_a_title_with_a_comma_and_quotes_stays_one_cell():
    report = order_report()
    report["systems"][0]["title"] = 'Still, "the" one\nand only'
    rows = list(csv.DictReader(io.StringIO(comparison_csv(report))))
    assert rows[0]["title"] == 'Still, "the" one\nand only'


def test_aggregates_name_no_seed_id_or_text():
    rows = order_rows()
    rows["repeat_verification"] += verification_rows("letters")
    made = json.loads(json.dumps(aggregates(order_report(rows)), allow_nan=False))
    assert [key for key in keys(made) if is_secret(key)] == []
    assert "77" not in json.dumps(made["settings"]) and "79" not in json.dumps(made["settings"])
    assert made["settings"]["plan"] == {"orders": {"kind": "rotations"}, "repeats": 3}
    assert "id000" not in json.dumps(made) and "Sentence number" not in json.dumps(made)


def test_only_public_sentences_of_the_repeat_verification_go_out():
    rows = order_rows()
    rows["repeat_verification"] += verification_rows("letters")
    found = aggregates(order_report(rows))["repeat_verification"]
    assert [(row["dataset"], "sentence" in row) for row in found] == [("smoke", True)] * 2 + [("letters", False)] * 2
    assert (found[0]["scored"], found[0]["largest_range"]) == (20, 8.0)


def test_aggregates_hold_pinned_settings_retry_counts_and_every_aggregate_table():
    made = aggregates(order_report())
    (new,) = [system for system in made["systems"] if system["name"] == "new"]
    assert (new["model"], new["decimals"], new["identity"]) == ("new-1", 2, {})
    assert made["datasets"][0]["options"] == ["joy", "anger", "doubt"]
    (row,) = [
        row
        for row in made["tables"]["order_coverage"]
        if (row["dataset"], row["sample_group"], row["backend"]) == ("feelings", "random", "new")
    ]
    assert (row["faults"], row["recovered"]) == (19, 19)
    assert set(made["tables"]) == set(made["columns"]) and "order_scores" not in made["tables"]
    assert all(made["tables"].values())
