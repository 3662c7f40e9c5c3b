"""What `zs-assets publish` says of the bundle it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zs_assets.backends.systems import SystemSpec


def bundle_sentences(hashes: Mapping[str, Any], systems: Mapping[str, SystemSpec]) -> list[str]:
    """What the bundle holds, what it leaves out, and whose terms to read: of hosted systems in it, and no others.

    Parameters
    ----------
    hashes
        The bundle's hashes.json.
    """
    inside, never = len(hashes["partitions"]), len(hashes["left_out"])
    said = "1 partition is in the bundle" if inside == 1 else f"{inside} partitions are in the bundle"
    said += f"; {never} {'was' if never == 1 else 'were'} never run." if never else "."
    asked = {where.rpartition(" x ")[2] for where in hashes["partitions"]}
    hosted = [system.title for name, system in systems.items() if name in asked and not system.is_free]
    terms = f"Before you pass it on, read the terms of {', '.join(hosted)}: a vendor may restrict benchmarks."
    outdated = [f"Without figures: {sentence}." for sentence in hashes.get("outdated_analyses", ())]
    return [said, *hashes["withheld"], *outdated, *([terms] if hosted else [])]
