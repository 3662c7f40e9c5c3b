"""Reading JSON that others wrote: strict where it is parsed, and a value or None for whatever it holds.

Nothing here raises but BrokenReply, because a broken reply is an outcome.
"""

from __future__ import annotations

import json
import math
from typing import Any


class BrokenReply(ValueError):
    """Why a body is no reply: becomes the problem of an invalid outcome."""


def parse_strictly(text: str, what: str = "the reply") -> dict[str, Any]:
    """A JSON object without duplicate keys and without NaN or Infinity; BrokenReply, which names `what`, otherwise."""

    def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) != len(pairs):
            raise BrokenReply(f"{what} names a key twice")
        return entries

    def no_constant(name: str) -> float:
        raise BrokenReply(f"{what} holds {name}, which is no JSON number")

    try:
        body = json.loads(text, object_pairs_hook=unique_keys, parse_constant=no_constant)
    except BrokenReply:
        raise
    except (ValueError, RecursionError) as error:
        raise BrokenReply(f"{what} is no JSON: {str(error)[:120]}") from None
    if not isinstance(body, dict):
        raise BrokenReply(f"{what} is no JSON object")
    return body


def object_of(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; what is no object, or no list, is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def shown(value: Any) -> str:
    """A value for a problem sentence: short, and of containers only their type, which may nest without end."""
    return f"({type(value).__name__})" if isinstance(value, (dict, list)) else ascii(value)[:60]


def text_of(value: Any) -> str | None:
    """The text in a form every file can hold: JSON can escape half a surrogate pair, UTF-8 cannot."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else None


def count_of(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def sum_of(*counts: int | None) -> int | None:
    """The sum of counts; None where one is unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def number_of(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:  # JSON integers have no limit
        return None
    return number if math.isfinite(number) else None
