"""What `publish` says: a partition is one, and only hosted systems that are in the bundle have terms to read."""

from __future__ import annotations

from typing import Any

from zs_assets.backends.systems import known_systems
from zs_assets.cli.bundle import bundle_sentences

SYSTEMS = {name: known_systems()[name] for name in ("sparrow", "jev_1_14", "openai_luna")}


def hashes(*partitions: str, **changes: Any) -> dict[str, Any]:
    return {"partitions": list(partitions), "left_out": [], "withheld": []} | changes


def test_one_partition_is_one():
    assert bundle_sentences(hashes("texts x sparrow"), SYSTEMS) == ["1 partition is in the bundle."]
    never = hashes("a x sparrow", "b x sparrow", left_out=["c x sparrow: never run"])
    assert bundle_sentences(never, SYSTEMS) == ["2 partitions are in the bundle; 1 was never run."]


def test_terms_are_those_of_hosted_systems_in_the_bundle():
    (_, terms) = bundle_sentences(hashes("texts x sparrow", "texts x jev_1_14"), SYSTEMS)
    assert SYSTEMS["jev_1_14"].title in terms
    assert SYSTEMS["openai_luna"].title not in terms and SYSTEMS["sparrow"].title not in terms


def test_what_was_withheld_is_said():
    said = bundle_sentences(hashes("texts x sparrow", withheld=["Group few of texts is not published."]), SYSTEMS)
    assert said[1] == "Group few of texts is not published."
