"""Fields that some relatives of Jev add to a System One reply, and what they say of themselves when asked.

From the systems' sources; values are placeholders of the documented form.
"""

from __future__ import annotations

import hashlib
from typing import Any

from zs_assets.emulator.profile import Profile
from zs_assets.emulator.request_checks import Asked

_LAYA = {"repo": "convaiinnovations/laya", "revision": "55cf4c4e"}


def add_extras(body: dict[str, Any], asked: Asked, profile: Profile) -> dict[str, Any]:
    """The body with its system's own fields; `body` itself is changed."""
    if profile.name == "kev_4b":
        body["latency_ms"] = 41.5
    elif profile.name == "laya":
        _add_laya(body, asked)
    elif profile.name == "von":
        body["truncation"] = {"truncated": asked.truncated}
    elif profile.name == "nimble_9b":
        body["usage"]["output_tokens"] = len(asked.questions) + 1
    elif profile.name == "clef_27b":
        body["usage"]["output_tokens"] = 0
    elif profile.name == "semif":
        body["semif"] = {"prompt_version": "direct-options-v1", "prompt_sha256": _fingerprint(asked.text)}
    elif profile.name == "rizzo_flow_4b":
        timing = {"total_ms": 350.0}
        body["x_rizzo"] = {
            "timing": timing,
            "probability_status": "uncalibrated",
            "fingerprint": _fingerprint(profile.name),
        }
    return body


def identity(profile: Profile) -> dict[str, Any]:
    """What `/health` answers."""
    known: dict[str, dict[str, Any]] = {
        "laya": {"models": [{"name": "english", **_LAYA}]},
        "von": {"model": "von-1.3.0"},
        "nimble_9b": {"model": profile.aliases.get("nimble-latest"), "adapter_sha256": _fingerprint("adapter")},
        "rizzo_flow_4b": {"model": "rizzo-flow-4b-q8_0", "fingerprint": _fingerprint(profile.name)},
        "semif": {"model": profile.answers_as},
        "nanojev": {"checkpoint": checkpoint()},
    }
    return {"status": "ok", **known.get(profile.name, {})}


def described_models(profile: Profile) -> list[dict[str, Any]]:
    """What `GET /v1/models` lists: aliases, and for Kev the run behind them."""
    names = [name for name, resolved in profile.aliases.items() if name != resolved] or list(profile.aliases)
    described = [{"name": name, "description": "Local stand-in", "release_date": "2026-09-17"} for name in names]
    if profile.name == "kev_4b":
        run = {"run": "jaredpalmer/kev-4b@139fdd94", "base": "Qwen/Qwen3.5-4B-Base", "temperature": 2.406}
        return [one | run | {"dtype": "bfloat16", "max_state_tokens": 65_536} for one in described]
    return described


def checkpoint() -> dict[str, Any]:
    """NanoJev's own: it names the base model alone."""
    return {
        "directory": "/models/nanojev",
        "base_model": "Qwen/Qwen3-0.6B",
        "base_revision": "c1899de2",
        "set_head": True,
    }


def _add_laya(body: dict[str, Any], asked: Asked) -> None:
    body["routing"] = {"model": "english", "repo": _LAYA["repo"], "reason": "requested", "detection": None}
    body["usage"] |= {"truncated": asked.truncated, "truncated_questions": [], "options": {}}
    for answer in body["answers"].values():
        if answer["type"] != "noul":
            answer["answer_confidence"] = max(answer["probabilities"].values())
        answer["action"] = None


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
