"""The wire of DeepSeek's chat completions with strict tools, as its guides and the published study describe it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from zs_assets.emulator.label_requests import FOREIGN, PROSE, LabelRequest, Refused, Tokens, Wire, labels_of, prompt_in

_BAD = "invalid_request_error"


class DeepSeekWire(Wire):
    """Strict tools live under /beta; json_schema and, with thinking on, a forced tool_choice are refused."""

    routes = ("/beta/chat/completions",)
    faults = ("no_call", "refusal", "max_tokens", "bad_arguments")
    caches_from = 64

    def check_auth(self, headers: Mapping[str, str], key: str | None) -> None:
        if key is not None and headers.get("authorization") != f"Bearer {key}":
            raise Refused(401, "authentication_error", "Authentication Fails, your api key is invalid")

    def asked(self, body: dict[str, Any], path: Mapping[str, str]) -> LabelRequest:
        model = self.check_model(body.get("model"), 400, _BAD)
        if (body.get("response_format") or {}).get("type") == "json_schema":
            raise Refused(400, _BAD, "This response_format type is unavailable now")
        thinks = (body.get("thinking") or {}).get("type") != "disabled"
        if thinks and body.get("tool_choice") not in (None, "auto", "none"):
            raise Refused(400, _BAD, "Thinking mode does not support this tool_choice")
        tools = body.get("tools") or [{}]
        function = tools[0].get("function") or {}
        schema = function.get("parameters") or {}
        closed = schema.get("additionalProperties") is False and schema.get("required") == list(schema["properties"])
        if function.get("strict") and not closed:
            raise Refused(400, _BAD, "Strict mode needs every property required and additionalProperties false")
        field, ids = labels_of(schema, _BAD)
        return LabelRequest(model, prompt_in(body.get("messages"), _BAD), ids, field, function.get("name"))

    def reply(self, asked: LabelRequest, label: str, tokens: Tokens, call_id: str, fault: str | None) -> dict[str, Any]:
        arguments = json.dumps({asked.field: FOREIGN if fault == "foreign_label" else label}, ensure_ascii=False)
        if fault == "bad_arguments":
            arguments = arguments[:-2]
        call = {
            "index": 0,
            "id": f"call_00_{call_id}",
            "type": "function",
            "function": {"name": asked.tool, "arguments": arguments},
        }
        message: dict[str, Any] = {"role": "assistant", "content": "", "reasoning_content": "The text decides it."}
        finish = {"no_call": "stop", "refusal": "content_filter", "max_tokens": "length"}.get(fault or "", "tool_calls")
        message |= {"content": PROSE} if finish != "tool_calls" else {"tool_calls": [call]}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        completion = tokens.answer + tokens.reasoning
        return {
            "id": call_id,
            "object": "chat.completion",
            "created": 1789640000,
            "model": asked.model,
            "choices": [] if fault == "missing_answer" else [choice],
            "usage": {
                "prompt_tokens": tokens.prompt,
                "completion_tokens": completion,
                "total_tokens": tokens.prompt + completion,
                "prompt_tokens_details": {"cached_tokens": tokens.hit},
                "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
                "prompt_cache_hit_tokens": tokens.hit,
                "prompt_cache_miss_tokens": tokens.prompt - tokens.hit,
            },
            "system_fingerprint": "fp_stand_in",
        }

    def error(self, status: int, kind: str | None, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": kind or "server_error", "param": None, "code": kind}}
