"""Hashes that name a protocol. All are sha256 in hex over UTF-8."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from zs_assets.protocol.question import Question


def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sha256_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_json(value: Any) -> str:
    """Hash of a JSON value, independent of key order: for specs, whose key order means nothing."""
    return sha256_text(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def prompt_hash(question: Question) -> str:
    """Hash of the instructions and criteria over the declared option order (key order matters here)."""
    body = {"instructions": question.instructions, "criteria": question.criteria}
    return sha256_text(json.dumps(body, separators=(",", ":"), ensure_ascii=False))
