"""The wire of NanoJev: a batch of states, `boolean` for a noul, no confidence, no usage, no key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zs_assets.emulator.decision_wires import Answers, SystemOneWire, said
from zs_assets.emulator.reply_extras import checkpoint
from zs_assets.emulator.request_checks import Asked, Rejected, check_meaning, cut, parsed, text_of_state

_STATE_KEYS = {"id", "state", "questions"}
_QUESTION_KEYS = {"type", "instructions", "criteria"}
_CHOICES = "choice criteria must be 2 to 255 non-empty texts by option"


class NanoJevWire(SystemOneWire):
    """Exact keys only; whatever is wrong is 400 with one sentence. This stand-in answers one state a request."""

    def check_auth(self, authorization: str | None, key: str | None) -> None:
        """There is none."""

    def asked(self, raw: bytes, encoding: str | None) -> Asked:
        try:
            return self._asked(parsed(raw))
        except Rejected as rejected:
            raise Rejected(400, said(rejected.detail)) from None
        except (KeyError, TypeError, AttributeError):
            raise Rejected(400, "the request is not of the documented shape") from None

    def _asked(self, body: dict[str, Any]) -> Asked:
        if set(body) != {"states"} or not isinstance(body["states"], list) or len(body["states"]) != 1:
            raise Rejected(400, "body must hold states alone, and this stand-in takes one")
        state = body["states"][0]
        if set(state) != _STATE_KEYS or not state["questions"]:
            raise Rejected(400, "a state must hold id, state and questions alone")
        questions = {name: _system_one(question) for name, question in state["questions"].items()}
        check_meaning(questions, self.profile)
        text = text_of_state(state["state"])
        for question in questions.values():  # a candidate is a path of its own: the others do not lengthen it
            for said_of_one in question["criteria"].values():
                one = {"text": [question["instructions"], said_of_one]}
                cut(Asked(text, "", {"path": one}), self.profile)
        return Asked(text, str(self.profile.answers_as), questions, body)

    def body(self, asked: Asked, answers: Answers, model: str) -> dict[str, Any]:
        given = {name: _SHAPES[answer["type"]](answer) for name, answer in answers.items()}
        return {
            "schema_version": "openjev-toy-inference-v1",
            "checkpoint": checkpoint() | {"base_model": model},
            "temperature": {"value": 1.0},
            "execution": {"device": "cpu", "dtype": "float32"},
            "states": [{"id": asked.sent["states"][0]["id"], "answers": given}],
        }

    def error(self, status: int, detail: Any) -> dict[str, Any]:
        return {"error": said(detail)}


def _system_one(question: dict[str, Any]) -> dict[str, Any]:
    if not set(question) <= _QUESTION_KEYS or not isinstance(question["instructions"], str):
        raise Rejected(400, "a question must hold type, instructions and criteria alone")
    kind, criteria = question["type"], question.get("criteria")
    if kind == "boolean":
        return {"type": "noul", "instructions": question["instructions"], "criteria": criteria or {}}
    if kind == "score":
        raise Rejected(400, "this stand-in answers boolean and choice questions")
    described = isinstance(criteria, dict) and all(isinstance(text, str) and text.strip() for text in criteria.values())
    if kind != "choice" or not described:
        raise Rejected(400, _CHOICES)
    return question


def _choice(answer: dict[str, Any]) -> dict[str, Any]:
    kept = {key: answer[key] for key in ("type", "probabilities", "choice")}
    return kept | {"value": answer["choice"]}


def _boolean(answer: dict[str, Any]) -> dict[str, Any]:
    return {"type": "boolean", "p_true": answer["noul"], "value": answer["noul"] >= 0.5}


_SHAPES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"choice": _choice, "noul": _boolean}
