"""The NanoJev interface: `POST {base}/api/evaluate`, a batch of states with exactly one in it.

The state is sent as a bare text: the server renders an object as Python would print it, which its training data never
held. Options without a description are refused, so their id is sent. There is no confidence and no token count, and
the reply names base model and revision, never the checkpoint's weights. Source: scripts/predict_toy_decisions.py and
serve_decisions.py of TianyuCodings/NanoJev.
"""

from __future__ import annotations

import json
from typing import Any

from zs_assets.backends.base import RawReply, Reading
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.local import Settings, read_settings
from zs_assets.backends.reply_json import BrokenReply, object_of, parse_strictly, shown, text_of
from zs_assets.backends.systemone_reply import choice_problem
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation, Question

QUESTION_ID = "label"
STATE_ID = "text"
SCHEMA = "openjev-toy-inference-v1"


class NanojevBackend(HostedBackend):
    """One choice question about one state; options in the order of the presentation."""

    path = "/api/evaluate"
    identity_path = "/api/health"

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        read_settings(spec, Settings)  # it has none: an entry that sets one is told so

    def request_body(self, presentation: Presentation) -> bytes:
        options = [self.question.options[index] for index in presentation.order]
        asked = {
            "type": "choice",
            "instructions": self.question.instructions,
            "criteria": {option.id: option.sentence for option in options},
        }
        # Exactly these keys: the server refuses any other.
        state = {"id": STATE_ID, "state": presentation.example.text, "questions": {QUESTION_ID: asked}}
        return json.dumps({"states": [state]}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        """Vector aligned to the declared order; anything broken is outcome invalid with the problem in words."""
        try:
            body = parse_strictly(reply.body)
            if body.get("schema_version") != SCHEMA:
                raise BrokenReply(f"the reply's schema_version is {shown(body.get('schema_version'))}, not '{SCHEMA}'")
            answer = _only_answer(body.get("states"))
        except BrokenReply as broken:
            return Reading.invalid(str(broken))
        model, choice = _model(object_of(body.get("checkpoint"))), text_of(answer.get("choice"))
        vector, problem = read_vector(answer.get("probabilities"), self.question, self.sum_tolerance)  # type: ignore[arg-type]
        problem = problem or choice_problem(answer, self.question)
        if problem is None and not model:
            problem = "the reply does not say which base model answered"
        if problem is not None:
            return Reading(Outcome.INVALID, problem=problem, model=model, choice=choice)
        return Reading(Outcome.OK, vector, choice, model=model)


def _only_answer(states: Any) -> dict[str, Any]:
    if not isinstance(states, list) or len(states) != 1 or object_of(states[0]).get("id") != STATE_ID:
        raise BrokenReply("one state was sent, and the reply does not hold exactly that one")
    answer = object_of(states[0].get("answers")).get(QUESTION_ID)
    if not isinstance(answer, dict):
        raise BrokenReply(f"the reply has no answer to '{QUESTION_ID}'")
    return answer


def _model(checkpoint: dict[str, Any]) -> str | None:
    """`base model@revision`; the checkpoint's folder is a path of the server's machine and says nothing of weights."""
    base, revision = text_of(checkpoint.get("base_model")), text_of(checkpoint.get("base_revision"))
    return base if base is None or revision is None else f"{base}@{revision}"
