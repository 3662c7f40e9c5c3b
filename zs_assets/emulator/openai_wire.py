"""The wire of OpenAI Decisions: lists in the order of the questions, typed values, refusals with HTTP 200."""

from __future__ import annotations

from typing import Any

from zs_assets.emulator.answers import usage
from zs_assets.emulator.decision_wires import Answers, SystemOneWire, said
from zs_assets.emulator.faults import SYSTEM_ONE
from zs_assets.emulator.request_checks import Asked, Rejected, check_auth, check_meaning, cut, parsed

_FIELDS = ("model", "input", "questions", "prompt_cache_key", "prompt_cache_options", "safety_identifier")
_KINDS = {401: "invalid_request_error", 429: "rate_limit_exceeded"}


class OpenAiWire(SystemOneWire):
    """Questions become System One's under their position, answers are turned back into a list."""

    faults = (*SYSTEM_ONE, "refusal")

    def check_auth(self, authorization: str | None, key: str | None) -> None:
        check_auth(authorization, key, 401)

    def asked(self, raw: bytes, encoding: str | None) -> Asked:
        try:
            return self._asked(parsed(raw))
        except Rejected as rejected:  # this service answers 400 where System One has 422
            raise Rejected(400 if rejected.status == 422 else rejected.status, rejected.detail) from None
        except (KeyError, TypeError, AttributeError):
            raise Rejected(400, "The request is not of the documented shape") from None

    def _asked(self, body: dict[str, Any]) -> Asked:
        unknown = sorted(set(body) - set(_FIELDS))
        if unknown:
            raise Rejected(400, f"Unknown parameter: '{unknown[0]}'.")
        model = self.profile.resolved(body["model"])
        if model is None:
            raise Rejected(404, f"The model '{body['model']}' does not exist")
        if not body["questions"]:
            raise Rejected(400, "questions: at least one is required")
        questions = {f"q{position}": _system_one(question) for position, question in enumerate(body["questions"])}
        check_meaning(questions, self.profile)
        return cut(Asked(_text(body["input"]), model, questions, body), self.profile)

    def body(self, asked: Asked, answers: Answers, model: str) -> dict[str, Any]:
        sent = asked.sent["questions"]
        listed = [_listed(answers[f"q{at}"], question) for at, question in enumerate(sent) if f"q{at}" in answers]
        tokens = usage(asked.text, asked.questions)
        counts = {
            "input_tokens": tokens["input_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": tokens["output_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sum(tokens.values()),
        }
        return {"model": model, "answers": listed, "usage": counts}

    def error(self, status: int, detail: Any) -> dict[str, Any]:
        kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
        return {"error": {"message": said(detail), "type": kind, "param": None, "code": None}}


def _system_one(question: dict[str, Any]) -> dict[str, Any]:
    instructions = _text(question["instructions"])
    if question["type"] == "predicate":
        return {"type": "noul", "instructions": instructions}
    if question["type"] == "score":
        levels = [level.get("description") or level["label"] for level in question["levels"]]
        return {"type": "score", "instructions": instructions, "criteria": levels}
    if question["type"] != "choice":
        raise Rejected(400, f"Invalid value: '{question['type']}'. Supported: 'predicate', 'choice', 'score'.")
    criteria = {_id(one["value"]): one.get("description") for one in question["choices"]}
    if len(criteria) < len(question["choices"]):
        raise Rejected(400, "choices: values must be unique")
    return {"type": "choice", "instructions": instructions, "criteria": criteria}


def _listed(answer: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    name = question.get("name")
    if answer["type"] == "refusal":
        return {"type": "refusal", "name": name}
    if answer["type"] == "noul":
        return {"type": "predicate", "name": name, "probability": answer["noul"]}
    given = {"type": answer["type"], "name": name, "confidence": answer["confidence"]}
    if answer["type"] == "score":
        labels = [level["label"] for level in question["levels"]]
        vector = answer["probabilities"]
        listed = [{"value": at, "label": label, "probability": vector[str(at)]} for at, label in enumerate(labels)]
        return given | {"score": answer["score"], "probabilities": listed}
    values = {_id(one["value"]): one["value"] for one in question["choices"]}  # a fault's foreign label is not in it
    vector = [{"value": values.get(name, name), "probability": p} for name, p in answer["probabilities"].items()]
    return given | {"choice": values.get(answer["choice"], answer["choice"]), "probabilities": vector}


def _id(value: str | bool) -> str:
    """A value as an option id: the text "true" is not the boolean."""
    return f"{value} (boolean)" if isinstance(value, bool) else value


def _text(value: Any) -> str:
    """Text of an input: a text, or messages and parts that hold texts."""
    if isinstance(value, str):
        return value
    parts = [part.get("content", part.get("text", "")) if isinstance(part, dict) else "" for part in value]
    return "\n".join(part if isinstance(part, str) else _text(part) for part in parts)
