"""zs-assets: measures zero-shot decision models on pinned data and publishes only what passed its gates."""

from __future__ import annotations

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`zs_assets.Study` is the component's public name; importing it late keeps `zs_assets.stats` free of Dagster."""
    if name == "Study":
        from zs_assets.components.study import Study

        return Study
    raise AttributeError(f"module 'zs_assets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), "Study"]
