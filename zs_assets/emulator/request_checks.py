"""Checks of a System One request in the order the service makes them: auth, then shape, then meaning."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from zs_assets.emulator.profiles import Profile


@dataclass
class Rejected(Exception):
    """An answer other than 200: status and `detail`."""

    status: int
    detail: Any


@dataclass(frozen=True)
class Asked:
    text: str
    model: str
    questions: dict[str, dict[str, Any]]


def check_auth(authorization: str | None, key: str | None) -> None:
    if key is None:
        return
    if authorization is None or not authorization.startswith("Bearer "):
        raise Rejected(403, {"error_type": "authentication_error", "message": "Missing bearer token"})
    if authorization.removeprefix("Bearer ") != key:
        raise Rejected(401, {"error_type": "authentication_error", "message": "Invalid API key"})


def check_request(raw: bytes, encoding: str | None, profile: Profile) -> Asked:
    if encoding not in (None, "identity"):
        raise Rejected(415, f"Content-Encoding {encoding} is not supported by this stand-in")
    body = _shape(raw)
    unknown = set(body) - {"state", "model", "questions"}
    if unknown:
        raise _usage(f"Unknown field: {sorted(unknown)[0]}")
    if body["model"] not in profile.aliases:
        raise _usage(f"Unknown model: {body['model']}")
    for name, question in body["questions"].items():
        _check_question(name, question, profile)
    state = body["state"]
    text = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)
    if isinstance(state, dict) and isinstance(state.get("text"), str):
        text = state["text"]
    longest = max(len(json.dumps(question)) for question in body["questions"].values()) / 3.9
    state_tokens = len(text) / 3.9
    total = state_tokens + sum(len(json.dumps(question)) for question in body["questions"].values()) / 3.9
    if total > profile.total_token_cap or state_tokens + longest > profile.question_token_cap:
        raise Rejected(400, {"error_type": "max_tokens_exceeded"})
    return Asked(text, body["model"], body["questions"])


def _shape(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except ValueError:
        raise Rejected(422, [{"type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error"}]) from None
    if not isinstance(body, dict):
        raise Rejected(422, [{"type": "model_attributes_type", "loc": ["body"], "msg": "Input should be an object"}])
    problems = [
        {"type": "missing", "loc": ["body", name], "msg": "Field required"}
        for name in ("state", "model", "questions")
        if body.get(name) is None
    ]
    if not problems and not isinstance(body["model"], str):
        problems.append({"type": "string_type", "loc": ["body", "model"], "msg": "Input should be a valid string"})
    if not problems and not isinstance(body["state"], (str, dict, list)):
        problems.append(
            {"type": "union_type", "loc": ["body", "state"], "msg": "Input should be text, object or array"}
        )
    if not problems and (not isinstance(body["questions"], dict) or not body["questions"]):
        problems.append({"type": "too_short", "loc": ["body", "questions"], "msg": "At least one question is required"})
    if not problems and not all(isinstance(question, dict) for question in body["questions"].values()):
        problems.append({"type": "dict_type", "loc": ["body", "questions"], "msg": "Input should be an object"})
    if problems:
        raise Rejected(422, problems)
    return body


def _check_question(name: str, question: dict[str, Any], profile: Profile) -> None:
    if not name:
        raise Rejected(400, "Question keys must not be empty")
    if question.get("type") != "choice":
        raise _usage("Unknown question type; this stand-in answers choice questions")
    criteria = question.get("criteria")
    if not isinstance(criteria, dict):
        raise Rejected(422, [{"type": "dict_type", "loc": ["body", "questions", name, "criteria"], "msg": "An object"}])
    if not 1 <= len(criteria) <= profile.option_cap:
        raise Rejected(400, f"Choice questions take 1 to {profile.option_cap} options, got {len(criteria)}")


def _usage(message: str) -> Rejected:
    return Rejected(400, {"error_type": "api_usage_error", "message": message})
