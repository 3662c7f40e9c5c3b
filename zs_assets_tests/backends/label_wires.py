"""What the wires of the label-only systems say in a good reply and in broken ones, written from their documentation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from zs_assets.backends.label_only import TEXT_MARK
from zs_assets_tests.backends.wires import Body, Vector, Wire


@dataclass(frozen=True)
class LabelWire(Wire):
    """A wire without probabilities: only the label, the shape and the end of a reply can be broken."""

    refusal: tuple[str, str] = ("", "")  # the field that tells a refusal, and its value

    def broken(self, body: Body, fault: str) -> str:
        if fault == "foreign_label":
            body = self.reply({}, "no_such_option")
        elif fault == "no_model":
            holder, key = self.names_model(body)
            del holder[key]
        elif fault == "refusal":
            field, value = self.refusal
            self.answer(body)[field] = value
        text = json.dumps(body)
        return text[: len(text) // 2] if fault == "truncated_json" else text


def _chat(vector: Vector, choice: str) -> Body:
    call = {"type": "function", "id": "c", "function": {"name": "answer", "arguments": json.dumps({"label": choice})}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    usage = {
        "prompt_tokens": 392,
        "prompt_cache_hit_tokens": 300,
        "prompt_cache_miss_tokens": 92,
        "completion_tokens": 38,
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    return {
        "id": "r",
        "model": "m-1",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        "usage": usage,
    }


def _messages(vector: Vector, choice: str) -> Body:
    return {
        "id": "r",
        "model": "m-1",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": json.dumps({"label": choice})}],
        "usage": {"input_tokens": 392, "output_tokens": 38},
    }


def _generate(vector: Vector, choice: str) -> Body:
    candidate = {"finishReason": "STOP", "content": {"parts": [{"text": choice}], "role": "model"}}
    usage = {"promptTokenCount": 392, "candidatesTokenCount": 38}
    return {"responseId": "r", "modelVersion": "m-1", "candidates": [candidate], "usageMetadata": usage}


def _after_mark(prompt: Any) -> str:
    return str(prompt).split(TEXT_MARK, 1)[1]


LABEL_WIRES = {
    "chat_tools": LabelWire(
        reply=_chat,
        answer=lambda body: body["choices"][0],
        options=lambda request: request["tools"][0]["function"]["parameters"]["properties"]["label"]["enum"],
        text=lambda request: _after_mark(request["messages"][0]["content"]),
        refuses=True,
        refusal=("finish_reason", "content_filter"),
    ),
    "anthropic": LabelWire(
        reply=_messages,
        answer=lambda body: body,
        options=lambda request: request["output_config"]["format"]["schema"]["properties"]["label"]["enum"],
        text=lambda request: _after_mark(request["messages"][0]["content"]),
        refuses=True,
        refusal=("stop_reason", "refusal"),
    ),
    "gemini": LabelWire(
        reply=_generate,
        answer=lambda body: body["candidates"][0],
        options=lambda request: request["generationConfig"]["responseSchema"]["enum"],
        text=lambda request: _after_mark(request["contents"][0]["parts"][0]["text"]),
        refuses=True,
        refusal=("finishReason", "SAFETY"),
        names_model=lambda body: (body, "modelVersion"),
    ),
}
LABEL_BROKEN = ("truncated_json", "foreign_label", "no_model")
