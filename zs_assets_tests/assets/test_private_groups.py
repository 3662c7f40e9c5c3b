"""Which groups of a private dataset are too small to be published, and what tables look like without them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.assets.private_groups import FEWEST_TEXTS, Withheld, wide_bins, withheld_groups, without_small_groups
from zs_assets.storage.order_schemas import FOLLOW_UP_COUNTS, ORDER_RANGES, ORDER_SENSITIVITY


def manifest(**groups: int) -> pa.Table:
    """So many distinct texts of each group."""
    rows = [(f"{name} {i}", None if name == "none" else name) for name, texts in groups.items() for i in range(texts)]
    return pa.table({"text_sha256": [text for text, _ in rows], "sample_group": [group for _, group in rows]})


def sensitivity(**texts: int) -> pa.Table:
    """So many texts shared by the compared systems, by group."""
    rows = [
        {"dataset": "mine", "rule": "strict_complete", "sample_group": group, "backend": "any", "texts": shared}
        for group, shared in texts.items()
    ]
    return pa.Table.from_pylist(rows, schema=ORDER_SENSITIVITY)


def names(groups: tuple[Withheld, ...]) -> list[tuple[str, bool]]:
    return [(group.sample_group, group.own) for group in groups]


def test_a_group_of_ten_texts_is_published_and_one_of_nine_is_not():
    both = manifest(random=50, added=10)
    assert withheld_groups("mine", both, sensitivity()) == ()
    found = withheld_groups("mine", manifest(random=50, other=20, added=9), sensitivity())
    assert found[0].sample_group == "added" and "fewer than 10 distinct texts" in found[0].sentence


def test_a_small_group_cannot_be_worked_out_from_all_and_the_others():
    found = withheld_groups("mine", manifest(random=50, other=20, added=3), sensitivity())
    assert names(found) == [("added", True), ("other", False)]  # the smallest other group goes with it
    assert "what it leaves of all samples" in found[1].sentence


def test_two_small_groups_that_hide_each_other_take_no_third_with_them():
    assert names(withheld_groups("mine", manifest(random=50, a=5, b=6), sensitivity())) == [("a", True), ("b", True)]


def test_nine_texts_in_all_publish_nothing():
    found = withheld_groups("mine", manifest(none=9), sensitivity())
    assert names(found) == [("all", True)]
    assert found[0].sentence.startswith("No order figures of mine are published")


def test_texts_are_counted_once_however_often_they_stand_in_the_sample():
    repeated = pa.table({"text_sha256": ["same"] * 50, "sample_group": [None] * 50}, schema=manifest(none=1).schema)
    assert names(withheld_groups("mine", repeated, sensitivity())) == [("all", True)]


def test_few_shared_samples_of_a_large_group_are_few():
    large = manifest(random=50, other=50)
    assert names(withheld_groups("mine", large, sensitivity(all=60, random=4, other=40))) == [
        ("random", True),
        ("other", False),
    ]
    assert withheld_groups("mine", large, sensitivity(all=40, random=0, other=40)) == ()  # no sample, no record


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), max_size=6))
def test_what_is_left_out_is_never_a_few_texts(groups):
    found = withheld_groups("mine", manifest(**groups), sensitivity())
    left_out = {group.sample_group for group in found}
    if "all" in left_out or not groups:
        assert left_out == {"all", *groups} and sum(groups.values()) < FEWEST_TEXTS
        return
    hidden = sum(groups[name] for name in left_out)
    assert hidden == 0 or hidden >= FEWEST_TEXTS
    assert all(groups[name] >= FEWEST_TEXTS for name in set(groups) - left_out)


def test_tables_lose_the_group_and_other_datasets_keep_theirs():
    mine = sensitivity(all=60, random=50, added=3)
    open_ = mine.set_column(0, ORDER_SENSITIVITY.field("dataset"), pa.array(["open"] * 3))
    tables = {"order_sensitivity": pa.concat_tables([mine, open_]), "metrics": pa.table({"dataset": ["mine"]})}
    kept = without_small_groups(tables, [Withheld("mine", "added", True)], ["mine"])
    pairs = zip(*(kept["order_sensitivity"][name].to_pylist() for name in ("dataset", "sample_group")), strict=True)
    assert sorted(pairs) == [("mine", "all"), ("mine", "random"), *(("open", g) for g in ("added", "all", "random"))]
    assert kept["metrics"].num_rows == 1  # not of the choice-order study


def test_a_withheld_dataset_loses_tables_without_groups_too():
    counts = pa.Table.from_pylist(
        [{"dataset": "mine", "backend": "a"}, {"dataset": "open", "backend": "a"}], schema=FOLLOW_UP_COUNTS
    )
    kept = without_small_groups({"follow_up_counts": counts}, [Withheld("mine", "all", True)], ["mine"])
    assert kept["follow_up_counts"]["dataset"].to_pylist() == ["open"]


@pytest.mark.parametrize(
    ("dataset", "bins"),
    [
        ("mine", [(0.0, 10.0, 5), (10.0, 20.0, 1), (90.0, 100.0, 4)]),
        ("open", [(0.0, 1.0, 2), (9.0, 10.0, 3), (10.0, 11.0, 1), (99.0, 100.0, 4)]),
    ],
)
def test_ranges_of_a_private_dataset_have_bins_of_ten_points(dataset, bins):
    rows = [
        {"dataset": dataset, "rule": "strict_complete", "sample_group": "all", "backend": "a", "low": low}
        | {"high": low + 1, "samples": samples}
        for low, samples in ((0.0, 2), (9.0, 3), (10.0, 1), (99.0, 4))
    ]
    merged = wide_bins(pa.Table.from_pylist(rows, schema=ORDER_RANGES), ["mine"])
    assert [(row["low"], row["high"], row["samples"]) for row in merged.to_pylist()] == bins
