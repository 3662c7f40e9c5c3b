"""The wire of Anthropic's Messages: required headers and fields, thinking before the answer, its stop reasons."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from zs_assets.emulator.label_requests import FOREIGN, PROSE, LabelRequest, Refused, Tokens, Wire, labels_of, prompt_in

_BAD = "invalid_request_error"
_VERSIONS = ("2023-06-01", "2026-10-21")  # the documented one, with x-api-key; the SDK 2.14.0's, with a bearer token
_KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_KINDS |= {400: _BAD, 402: "billing_error", 529: "overloaded_error"}


class AnthropicWire(Wire):
    """Nothing is cached without cache_control; sampling parameters and a forced tool are refused."""

    routes = ("/v1/messages",)
    request_id_header = "request-id"
    faults = ("no_call", "refusal", "max_tokens", "bad_arguments")

    def check_auth(self, headers: Mapping[str, str], key: str | None) -> None:
        if key is not None and headers.get("x-api-key") != key and headers.get("authorization") != f"Bearer {key}":
            raise Refused(401, "authentication_error", "invalid x-api-key")
        if headers.get("anthropic-version") not in _VERSIONS:
            raise Refused(400, _BAD, f"anthropic-version: one of {', '.join(_VERSIONS)} is required")

    def key_in(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-api-key", "")

    def asked(self, body: dict[str, Any], path: Mapping[str, str]) -> LabelRequest:
        model = self.check_model(body.get("model"), 404, "not_found_error")
        if not isinstance(body.get("max_tokens"), int):
            raise Refused(400, _BAD, "max_tokens: Field required")
        for name in ("temperature", "top_p", "top_k", "fallbacks"):
            if name in body:
                raise Refused(400, _BAD, f"{name}: Extra inputs are not permitted")
        prompt = prompt_in(body.get("messages"), _BAD)
        tools = body.get("tools")
        if not tools:
            form = (body.get("output_config") or {}).get("format") or {}
            field, ids = labels_of(form.get("schema"), _BAD)
            return LabelRequest(model, prompt, ids, field)
        if (body.get("tool_choice") or {}).get("type", "auto") != "auto":
            raise Refused(400, _BAD, "Thinking may not be enabled when tool_choice forces tool use.")
        field, ids = labels_of(tools[0].get("input_schema"), _BAD)
        return LabelRequest(model, prompt, ids, field, tools[0].get("name"))

    def reply(self, asked: LabelRequest, label: str, tokens: Tokens, call_id: str, fault: str | None) -> dict[str, Any]:
        answer = {asked.field: FOREIGN if fault == "foreign_label" else label}
        text = json.dumps(answer, ensure_ascii=False)
        given: dict[str, Any] = {"type": "text", "text": text[:-2] if fault == "bad_arguments" else text}
        stop = "end_turn"
        if fault == "no_call":
            given = {"type": "text", "text": PROSE}
        elif asked.tool is not None:
            given = {"type": "tool_use", "id": f"toolu_{call_id}", "name": asked.tool, "input": answer}
            if fault == "bad_arguments":
                given["input"] = {}
            stop = "tool_use"
        content = [{"type": "thinking", "thinking": "", "signature": "c3RhbmQtaW4="}, given]
        if fault in ("refusal", "max_tokens"):
            stop, content = fault, [] if fault == "refusal" else content[:1]
        return {
            "id": f"msg_{call_id}",
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": [] if fault == "missing_answer" else content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": tokens.prompt,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": tokens.answer + tokens.reasoning,
                "output_tokens_details": {"thinking_tokens": tokens.reasoning},
                "service_tier": "standard",
            },
        }

    def error(self, status: int, kind: str | None, message: str) -> dict[str, Any]:
        named = kind or _KINDS.get(status, "api_error")
        return {"type": "error", "error": {"type": named, "message": message}, "request_id": "req_stand_in"}
