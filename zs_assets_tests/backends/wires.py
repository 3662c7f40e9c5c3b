"""What each wire with probabilities says in a good reply and in broken ones, written by hand from its documentation."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]
Vector = dict[str, float]


@dataclass(frozen=True)
class Wire:
    """`reply` gives a good body for a vector and a choice; `answer` the answer object inside a body, to be broken."""

    reply: Callable[[Vector, str], Body]
    answer: Callable[[Body], Body]
    options: Callable[[Body], list[str]]  # option ids of a request, in the order sent
    text: Callable[[Body], str]  # the text of a request
    refuses: bool = False
    names_model: Callable[[Body], tuple[Body, str]] = lambda body: (body, "model")

    def broken(self, body: Body, fault: str) -> str:
        """The reply's text with one thing wrong in it."""
        body = copy.deepcopy(body)
        answer = self.answer(body)
        vector = _as_mapping(answer["probabilities"])
        first, *others = vector
        if fault == "foreign_label":
            vector = {"no_such_option": vector[first], **{name: vector[name] for name in others}}
        elif fault == "missing_label":
            vector = {name: vector[name] for name in others}
        elif fault == "nan":
            vector[first] = float("nan")
        elif fault == "outside":
            vector |= {first: 1.2, others[0]: -0.2}
        elif fault == "sum_off":
            vector = {name: 0.8 if name == answer["choice"] else 0.0 for name in vector}
        elif fault == "foreign_choice":
            answer["choice"] = "no_such_option"
        elif fault == "no_model":
            holder, key = self.names_model(body)
            del holder[key]
        elif fault == "refusal":
            answer.clear()
            answer |= {"type": "refusal", "name": "label"}
            return json.dumps(body)
        answer["probabilities"] = _like(answer["probabilities"], vector)
        text = json.dumps(body)
        return text[: len(text) // 2] if fault == "truncated_json" else text


def _as_mapping(probabilities: Any) -> Vector:
    if isinstance(probabilities, dict):
        return dict(probabilities)
    return {entry["value"]: entry["probability"] for entry in probabilities}


def _like(probabilities: Any, vector: Vector) -> Any:
    if isinstance(probabilities, dict):
        return vector
    return [{"value": name, "probability": p} for name, p in vector.items()]


def _systemone(vector: Vector, choice: str) -> Body:
    answer = {"type": "choice", "choice": choice, "confidence": 0.61, "probabilities": vector}
    return {
        "model": "m-1",
        "answers": {"label": answer},
        "usage": {"input_tokens": 392, "output_tokens": 38},
        "x_extra": {"fingerprint": "f00d"},
    }


def _workers_ai(vector: Vector, choice: str) -> Body:
    return {"result": _systemone(vector, choice), "success": True, "errors": [], "messages": []}


def _openai(vector: Vector, choice: str) -> Body:
    probabilities = [{"value": name, "probability": p} for name, p in vector.items()]
    answer = {"type": "choice", "name": None, "choice": choice, "confidence": 0.61, "probabilities": probabilities}
    usage = {
        "input_tokens": 392,
        "input_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 2},
        "output_tokens": 38,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 430,
    }
    return {"model": "m-1", "answers": [answer], "usage": usage}


def _nanojev(vector: Vector, choice: str) -> Body:
    answer = {"type": "choice", "probabilities": vector, "choice": choice, "value": choice}
    return {
        "schema_version": "openjev-toy-inference-v1",
        "checkpoint": {"directory": "/srv/run", "base_model": "m-1", "base_revision": None, "set_head": "none"},
        "temperature": {"value": 1.0},
        "states": [{"id": "text", "answers": {"label": answer}}],
    }


_SYSTEMONE = Wire(
    reply=_systemone,
    answer=lambda body: body["answers"]["label"],
    options=lambda request: list(request["questions"]["label"]["criteria"]),
    text=lambda request: request["state"]["text"],
    refuses=True,
)
WIRES = {
    "systemone": _SYSTEMONE,
    "workers_ai": Wire(
        reply=_workers_ai,
        answer=lambda body: body["result"]["answers"]["label"],
        options=_SYSTEMONE.options,
        text=_SYSTEMONE.text,
        refuses=True,
        names_model=lambda body: (body["result"], "model"),
    ),
    "openai_decisions": Wire(
        reply=_openai,
        answer=lambda body: body["answers"][0],
        options=lambda request: [choice["value"] for choice in request["questions"][0]["choices"]],
        text=lambda request: request["input"],
        refuses=True,
    ),
    "nanojev": Wire(
        reply=_nanojev,
        answer=lambda body: body["states"][0]["answers"]["label"],
        options=lambda request: list(request["states"][0]["questions"]["label"]["criteria"]),
        text=lambda request: request["states"][0]["state"],
        names_model=lambda body: (body["checkpoint"], "base_model"),
    ),
}
BROKEN = (
    *("truncated_json", "foreign_label", "missing_label", "nan", "outside", "sum_off", "foreign_choice", "no_model"),
)
"""Faults that every wire with probabilities can show, and that make a reply invalid."""
