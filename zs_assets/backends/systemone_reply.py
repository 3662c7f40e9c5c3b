"""What a System One body says about one choice question, whoever served it: over HTTP, in an envelope, in process.

Fields beyond the documented ones are tolerated, because each relative of Jev adds its own. The order of the keys of
`probabilities` means nothing (it differs between identical calls): values are joined by option id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zs_assets.backends.base import Reading
from zs_assets.backends.reply_json import count_of, number_of, object_of, shown, text_of
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Question


def read_answer(
    body: Mapping[str, Any], question: Question, question_id: str, tolerance: float, pin_field: str | None = None
) -> Reading:
    """Vector aligned to the declared order; anything broken is outcome invalid with the problem in words.

    Parameters
    ----------
    pin_field : str, optional
        Dotted path of a text in the body that pins the weights where `model` does not; it joins the model as
        `model@pin`, so that replies of two checkpoints never pass for one model.
    """
    usage = object_of(body.get("usage"))
    answers = object_of(body.get("answers"))
    answer = answers.get(question_id)
    known: dict[str, Any] = {
        "model": _pinned_model(body, pin_field),
        "input_tokens": count_of(usage.get("input_tokens")),
        "output_tokens": count_of(usage.get("output_tokens")),
        "truncated": truncated_in(body),
        "cost_usd": _billed(usage.get("cost")),
    }
    if not isinstance(answer, dict):
        return Reading(Outcome.INVALID, problem=f"the reply has no answer to '{question_id}'", **known)
    if answer.get("type") == "refusal":  # a gateway that speaks System One for a model that may decline
        return Reading(Outcome.REFUSAL, problem="the model declined to answer (type refusal)", **known)
    known |= {"choice": text_of(answer.get("choice")), "confidence": number_of(answer.get("confidence"))}
    vector, problem = read_vector(answer.get("probabilities"), question, tolerance)  # type: ignore[arg-type]
    if problem is None:
        problem = choice_problem(answer, question)
    if problem is None and not known["model"]:
        problem = "the reply does not say which model answered"
    if problem is not None:
        return Reading(Outcome.INVALID, problem=problem, **known)
    return Reading(Outcome.OK, vector, **known)


def choice_problem(answer: Mapping[str, Any], question: Question) -> str | None:
    """What is wrong with an answer whose vector is sound. A choice that is not the argmax is kept, not refused."""
    if answer.get("type", "choice") != "choice":
        return f"the answer is of type {shown(answer['type'])}, not a choice"
    choice = answer.get("choice")
    if not isinstance(choice, str) or choice not in question.index_of:
        return f"choice {shown(choice)} is not among the options"
    confidence = answer.get("confidence")
    number = number_of(confidence)
    if confidence is not None and (number is None or not 0.0 <= number <= 1.0):
        return f"confidence {shown(confidence)} is no number in [0,1]"
    return None


def truncated_in(body: Mapping[str, Any]) -> bool | None:
    """Whether the system says that it cut the state; None where it says nothing.

    Kev says so in `truncated`, Laya in `usage.truncated` and `usage.truncated_questions`, Von in `truncation`.
    """
    usage = object_of(body.get("usage"))
    von = body.get("truncation")
    said = [
        body.get("truncated"),
        usage.get("truncated"),
        bool(usage["truncated_questions"]) if isinstance(usage.get("truncated_questions"), list) else None,
        von.get("truncated") if isinstance(von, dict) else von,
    ]
    known = [value for value in said if isinstance(value, bool)]
    return any(known) if known else None


def text_at(body: Mapping[str, Any], path: str) -> str | None:
    """The text at a dotted path of a body, such as `routing.repo`; None where there is none."""
    found: Any = body
    for part in path.split("."):
        found = object_of(found).get(part)
    return text_of(found)


def _pinned_model(body: Mapping[str, Any], pin_field: str | None) -> str | None:
    model = text_of(body.get("model"))
    pin = None if pin_field is None else text_at(body, pin_field)
    return model if model is None or not pin else f"{model}@{pin}"


def _billed(cost: Any) -> float | None:
    """USD as the gateway billed them (OpenRouter's `usage.cost`)."""
    number = number_of(cost)
    return number if number is not None and number >= 0 else None
