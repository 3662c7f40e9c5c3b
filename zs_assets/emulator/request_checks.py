"""Checks of a System One request in the order the service makes them: auth, then shape, then meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from zs_assets.emulator.answers import CHARACTERS_PER_TOKEN
from zs_assets.emulator.profile import Profile

_FIELDS = ("state", "model", "questions")
_TYPES = ("noul", "choice", "score")


@dataclass
class Rejected(Exception):
    """An answer other than 200: status and `detail`."""

    status: int
    detail: Any


@dataclass(frozen=True)
class Asked:
    """A request that passed: `text` is what the model reads of the state, `model` what answers.

    `sent` is the body as it came. `truncated`: the text was cut, as some systems do without an error.
    """

    text: str
    model: str
    questions: dict[str, dict[str, Any]]
    sent: dict[str, Any] = field(default_factory=dict)
    truncated: bool = False


def check_auth(authorization: str | None, key: str | None, status_without: int = 403) -> None:
    """`status_without` a bearer token, 401 with a wrong one; no key: anything goes."""
    if key is None:
        return
    if authorization is None or not authorization.startswith("Bearer "):
        raise Rejected(status_without, {"error_type": "authentication_error", "message": "Missing bearer token"})
    if authorization.removeprefix("Bearer ") != key:
        raise Rejected(401, {"error_type": "authentication_error", "message": "Invalid API key"})


def check_request(raw: bytes, encoding: str | None, profile: Profile) -> Asked:
    """The request, or Rejected: 415 for a compressed body, 422 for its shape, the profile's status for its meaning."""
    if encoding not in (None, "", "identity"):
        raise Rejected(415, f"Content-Encoding {encoding} is not supported by this stand-in")
    body = parsed(raw)
    problems = _shape_problems(body)
    if problems:
        raise Rejected(422, problems)
    unknown = sorted(set(body) - set(_FIELDS)) if profile.strict else []
    if unknown:
        raise _misused(profile, f"Unknown field: {unknown[0]}", [unknown[0]])
    model = profile.resolved(body["model"])
    if model is None:
        raise _misused(profile, f"Unknown model: {body['model']}", ["model"])
    check_meaning(body["questions"], profile)
    text = text_of_state(body["state"])
    return cut(Asked(text, model, body["questions"], body), profile)


def text_of_state(state: Any) -> str:
    """What the model reads of a state."""
    if isinstance(state, dict) and list(state) == ["text"] and isinstance(state["text"], str):
        return state["text"]
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)


def cut(asked: Asked, profile: Profile) -> Asked:
    """The request within the profile's token caps: refused, or its text cut in silence."""
    kept = None if profile.cut_at_tokens is None else round(profile.cut_at_tokens * CHARACTERS_PER_TOKEN)
    if kept is not None and len(asked.text) > kept:
        asked = replace(asked, text=asked.text[:kept], truncated=True)
    sizes = [
        len(json.dumps(question, ensure_ascii=False)) / CHARACTERS_PER_TOKEN for question in asked.questions.values()
    ]
    state = len(asked.text) / CHARACTERS_PER_TOKEN
    if state + sum(sizes) > profile.total_token_cap or state + max(sizes) > profile.question_token_cap:
        raise Rejected(profile.rejects_with, {"error_type": "max_tokens_exceeded"})
    return asked


def parsed(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Rejected(422, [_problem("json_invalid", [0], "JSON decode error")]) from None
    if not isinstance(body, dict):
        raise Rejected(422, [_problem("model_attributes_type", [], "Input should be an object")])
    return body


def _shape_problems(body: dict[str, Any]) -> list[dict[str, Any]]:
    missing = [_problem("missing", [name], "Field required") for name in _FIELDS if body.get(name) is None]
    if missing:
        return missing
    problems = []
    if not isinstance(body["model"], str):
        problems.append(_problem("string_type", ["model"], "Input should be a valid string"))
    if not isinstance(body["state"], (str, dict, list)):
        problems.append(_problem("union_type", ["state"], "Input should be text, an object or an array"))
    questions = body["questions"]
    if not isinstance(questions, dict):
        return [*problems, _problem("dict_type", ["questions"], "Input should be a valid dictionary")]
    if not questions:
        problems.append(_problem("too_short", ["questions"], "Dictionary should have at least 1 item"))
    return problems + [p for name, question in questions.items() for p in _question_problems(name, question)]


def _question_problems(name: str, question: Any) -> list[dict[str, Any]]:
    at: list[str | int] = ["questions", name]
    if not isinstance(question, dict):
        return [_problem("dict_type", at, "Input should be a valid dictionary")]
    kind = question.get("type")
    if kind is None:
        return [_problem("union_tag_not_found", at, "Unable to extract tag using discriminator 'type'")]
    if not isinstance(question.get("instructions"), (str, dict, list, type(None))):
        return [_problem("union_type", [*at, "instructions"], "Input should be text, an object or an array")]
    criteria = question.get("criteria")
    if kind == "score" and not isinstance(criteria, list):
        return [_problem("list_type", [*at, "score", "criteria"], "Input should be a valid list")]
    needs_object = kind == "choice" or (kind == "noul" and criteria is not None)
    if needs_object and not isinstance(criteria, dict):
        return [_problem("dict_type", [*at, kind, "criteria"], "Input should be a valid dictionary")]
    values = list(criteria.values()) if isinstance(criteria, dict) else criteria if isinstance(criteria, list) else []
    allowed = (str, dict, list) if kind == "score" else (str, dict, list, type(None))  # a level needs its words
    if not all(isinstance(value, allowed) for value in values):
        return [_problem("union_type", [*at, kind, "criteria"], "Input should be text, an object or an array")]
    return []


def check_meaning(questions: Mapping[str, dict[str, Any]], profile: Profile) -> None:
    """Rejected for what a question asks beyond the system's limits."""
    if profile.question_cap is not None and len(questions) > profile.question_cap:
        raise _rejected(profile, f"Requests take 1 to {profile.question_cap} questions, got {len(questions)}", [])
    for name, question in questions.items():
        _check_question(name, question, profile)


def _check_question(name: str, question: dict[str, Any], profile: Profile) -> None:
    kind, criteria = question["type"], question.get("criteria")
    if not name:
        raise _rejected(profile, "Question keys must not be empty", [name])
    if kind not in _TYPES:
        raise _misused(profile, "The request holds a question of an unknown type", ["questions", name, "type"])
    for counted, least, most, what in (
        ("choice", profile.option_min, profile.option_cap, "options"),
        ("score", 1, profile.level_cap, "levels"),
    ):
        count = len(criteria or ())
        if kind == counted and not least <= count <= most:
            said = f"{kind.capitalize()} questions take {least} to {most} {what}, got {count}"
            raise _rejected(profile, said, ["questions", name, "criteria"])
    if kind == "noul" and not question.get("instructions") and not any((criteria or {}).values()):
        raise _rejected(profile, "Noul questions need instructions or a described outcome", ["questions", name])


def _problem(kind: str, location: list[Any], message: str) -> dict[str, Any]:
    return {"type": kind, "loc": ["body", *location], "msg": message}


def _rejected(profile: Profile, message: str, location: list[Any]) -> Rejected:
    """A plain text from a service that answers 400, a list of problems from the servers that answer 422."""
    return Rejected(400, message) if profile.rejects_with == 400 else _unprocessable(message, location)


def _misused(profile: Profile, message: str, location: list[Any]) -> Rejected:
    if profile.rejects_with == 400:
        return Rejected(400, {"error_type": "api_usage_error", "message": message})
    return _unprocessable(message, location)


def _unprocessable(message: str, location: list[Any]) -> Rejected:
    return Rejected(422, [_problem("value_error", location, message)])


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
