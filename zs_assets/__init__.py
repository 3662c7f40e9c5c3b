"""zs-assets: measures zero-shot decision models on pinned data and publishes only what passed its gates."""

__version__ = "0.1.0"
