"""What a table can store of a reply's values."""

from __future__ import annotations


def text(value: str | None) -> str | None:
    """JSON escapes can smuggle in lone surrogates, which no table stores."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")


def count(value: int | None) -> int | None:
    """None for what is no count of 64 bits."""
    return value if value is not None and 0 <= value < 2**63 else None
