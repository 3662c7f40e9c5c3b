"""Which sample groups of a private dataset are too small to be published, and the order tables without them.

What belongs here: the rule and its application to the tables of the choice-order study. What never does: tables with a
row per example, which no publication of a private dataset has (`analysis_inputs`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from zs_assets.protocol.names import AssetName
from zs_assets.protocol.question import ALL_GROUPS
from zs_assets.storage.order_schemas import FOLLOW_UP_COUNTS_TABLE, ORDER_RANGES, ORDER_TABLES

FEWEST_TEXTS = 10
"""Distinct texts a published group has. A figure of one text is a record of that text, and of a few it nearly is: the
maximum, the largest bin or a share of 1/3 name single texts. Ten is the usual least cell of statistical offices."""

PUBLIC_BIN = 10
"""Points of a bin of ranges of a private dataset: a bin of one point would give the extreme samples' own ranges."""

_RANGES = AssetName.ORDER_RANGES.value


@dataclass(frozen=True)
class Withheld:
    """A sample group of a private dataset that no order table of a publication has. `all`: none of the dataset."""

    dataset: str
    sample_group: str
    own: bool  # it is too small itself; else it would tell what a smaller one holds

    @property
    def sentence(self) -> str:
        few = f"fewer than {FEWEST_TEXTS} distinct texts"
        if self.sample_group == ALL_GROUPS:
            return f"No order figures of {self.dataset} are published: it is private and has {few} to compare."
        if self.own:
            return f"Group {self.sample_group} of {self.dataset} is not published: it is private and has {few}."
        return (
            f"Group {self.sample_group} of {self.dataset} is not published: what it leaves of all samples would be "
            f"{few}, and the dataset is private."
        )


def withheld_groups(dataset: str, manifest: pa.Table, sensitivity: pa.Table) -> tuple[Withheld, ...]:
    """The groups of one private dataset that are too small, in the manifest or among the samples that systems share.

    A group left out could be worked out from `all` and the others, so the groups left out together have at least
    FEWEST_TEXTS texts as well: the smallest others go with them.

    Parameters
    ----------
    manifest
        With the columns `text_sha256` and `sample_group`.
    sensitivity
        ORDER_SENSITIVITY; rows of other datasets are passed over.
    """
    sizes = _least_texts(dataset, manifest, sensitivity)
    if sizes.pop(ALL_GROUPS) < FEWEST_TEXTS:
        return (Withheld(dataset, ALL_GROUPS, own=True), *(Withheld(dataset, name, own=True) for name in sizes))
    found = [Withheld(dataset, name, own=True) for name, texts in sizes.items() if texts < FEWEST_TEXTS]
    hidden = sum(sizes[group.sample_group] for group in found)
    larger = sorted((name for name, texts in sizes.items() if texts >= FEWEST_TEXTS), key=lambda name: sizes[name])
    while found and hidden < FEWEST_TEXTS and larger:
        found.append(Withheld(dataset, larger.pop(0), own=False))
        hidden += sizes[found[-1].sample_group]
    return tuple(found)


def _least_texts(dataset: str, manifest: pa.Table, sensitivity: pa.Table) -> dict[str, int]:
    """Distinct texts by group: the least of the manifest's and of those shared under a rule, where any are."""
    texts: dict[str, set[str]] = defaultdict(set)
    for group, text in zip(manifest["sample_group"].to_pylist(), manifest["text_sha256"].to_pylist(), strict=True):
        texts[ALL_GROUPS].add(text)
        if group is not None:
            texts[group].add(text)
    sizes = {ALL_GROUPS: 0} | {group: len(own) for group, own in texts.items()}
    for row in sensitivity.select(["dataset", "sample_group", "texts"]).to_pylist():
        if row["dataset"] == dataset and row["texts"] and row["sample_group"] in sizes:
            sizes[row["sample_group"]] = min(sizes[row["sample_group"]], row["texts"])
    return sizes


def without_small_groups(
    tables: Mapping[str, pa.Table], withheld: Sequence[Withheld], private: Sequence[str]
) -> dict[str, pa.Table]:
    """The tables with no row of a withheld group, and the ranges of private datasets in bins of PUBLIC_BIN points."""
    groups = {(group.dataset, group.sample_group) for group in withheld}
    whole = {group.dataset for group in withheld if group.sample_group == ALL_GROUPS}
    names = {*(asset.value for asset in ORDER_TABLES), FOLLOW_UP_COUNTS_TABLE}
    kept = {
        name: table.filter(pa.array(_is_public(table, groups, whole), pa.bool_())) if name in names else table
        for name, table in tables.items()
    }
    if _RANGES in kept:
        kept[_RANGES] = wide_bins(kept[_RANGES], private)
    return kept


def _is_public(table: pa.Table, groups: set[tuple[str, str]], whole: set[str]) -> list[bool]:
    datasets = table["dataset"].to_pylist()
    if "sample_group" not in table.column_names:
        return [dataset not in whole for dataset in datasets]
    named = table["sample_group"].to_pylist()
    return [d not in whole and (d, group) not in groups for d, group in zip(datasets, named, strict=True)]


def wide_bins(ranges: pa.Table, private: Sequence[str]) -> pa.Table:
    """ORDER_RANGES with the rows of private datasets added up to bins of PUBLIC_BIN points; the last ends at 100."""
    merged: dict[tuple[object, ...], dict[str, object]] = {}
    for number, row in enumerate(ranges.to_pylist()):
        key: tuple[object, ...] = (number,)
        if row["dataset"] in private:
            # A range of 100 points has its place in the last bin.
            low = min(row["low"] // PUBLIC_BIN * PUBLIC_BIN, 100.0 - PUBLIC_BIN)
            row |= {"low": low, "high": low + PUBLIC_BIN}
            key = tuple(row[name] for name in ("dataset", "rule", "sample_group", "backend", "low"))
        if key in merged:
            row["samples"] += merged[key]["samples"]
        merged[key] = row
    return pa.Table.from_pylist(list(merged.values()), schema=ORDER_RANGES)
