"""The wire of Gemini's generateContent: enum answers, thoughts beside the candidate, blocked prompts, quota errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from zs_assets.emulator.label_requests import FOREIGN, LabelRequest, Refused, Tokens, Wire, labels_of

_BAD = "INVALID_ARGUMENT"
_STATUS = {400: _BAD, 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
_STATUS |= {500: "INTERNAL", 503: "UNAVAILABLE"}
_GOOGLE = "type.googleapis.com/google.rpc."


class GeminiWire(Wire):
    """The model stands in the path; a prefix is cached from 1,024 tokens on, which is called implicit caching."""

    routes = (
        "/v1beta/models/{model}:generateContent",
        "/v1/models/{model}:generateContent",
    )  # SDK 3.6.1 defaults to v1
    faults = ("refusal", "blocked_prompt", "max_tokens", "daily_quota", "minute_quota")
    caches_from = 1024

    def check_auth(self, headers: Mapping[str, str], key: str | None) -> None:
        if key is None:
            return
        if not headers.get("x-goog-api-key"):
            raise Refused(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers")
        if headers["x-goog-api-key"] != key:
            raise Refused(400, "API_KEY_INVALID", "API key not valid. Please pass a valid API key.")

    def key_in(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-goog-api-key", "")

    def asked(self, body: dict[str, Any], path: Mapping[str, str]) -> LabelRequest:
        model = self.check_model(path["model"], 404, "NOT_FOUND")
        config = body.get("generationConfig") or {}
        if config.get("responseLogprobs"):
            raise Refused(400, _BAD, "Logprobs is not enabled for this model")
        parts = [part for content in body.get("contents") or [] for part in content.get("parts") or []]
        prompt = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        if not prompt:
            raise Refused(400, _BAD, "contents is not specified")
        if config.get("responseMimeType") == "text/x.enum":
            schema = config.get("responseSchema") or {}
            if schema.get("type") != "STRING" or not schema.get("enum"):
                raise Refused(400, _BAD, "text/x.enum needs a response schema of type STRING with an enum")
            return LabelRequest(model, prompt, tuple(schema["enum"]), "")
        field, ids = labels_of(config.get("responseJsonSchema") or config.get("responseSchema"), _BAD)
        return LabelRequest(model, prompt, ids, field)

    def reply(self, asked: LabelRequest, label: str, tokens: Tokens, call_id: str, fault: str | None) -> dict[str, Any]:
        given = FOREIGN if fault == "foreign_label" else label
        text = json.dumps({asked.field: given}, ensure_ascii=False) if asked.field else given
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        if fault in ("refusal", "max_tokens"):
            candidate = {"finishReason": {"refusal": "SAFETY", "max_tokens": "MAX_TOKENS"}[fault]}
        usage: dict[str, Any] = {
            "promptTokenCount": tokens.prompt,
            "candidatesTokenCount": tokens.answer,
            "thoughtsTokenCount": tokens.reasoning,
            "cachedContentTokenCount": tokens.hit,
        }
        if fault == "blocked_prompt":
            usage |= {"candidatesTokenCount": 0, "thoughtsTokenCount": 0}
        usage["totalTokenCount"] = tokens.prompt + usage["candidatesTokenCount"] + usage["thoughtsTokenCount"]
        body = {
            "usageMetadata": {name: count for name, count in usage.items() if count},  # zeros are not on this wire
            "modelVersion": asked.model,
            "responseId": call_id,
        }
        if fault == "blocked_prompt":
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}} | body
        return ({} if fault == "missing_answer" else {"candidates": [candidate | {"index": 0}]}) | body

    def error(self, status: int, kind: str | None, message: str) -> dict[str, Any]:
        error: dict[str, Any] = {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}
        if kind == "API_KEY_INVALID":
            error["details"] = [{"@type": f"{_GOOGLE}ErrorInfo", "reason": kind, "domain": "googleapis.com"}]
        if kind in ("daily_quota", "minute_quota"):
            error["details"] = _quota_details("Day" if kind == "daily_quota" else "Minute")
        return {"error": error}


def _quota_details(period: str) -> list[dict[str, Any]]:
    """What a 429 names: the quota, and a hint to retry that holds for a minute's quota only."""
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": f"GenerateRequestsPer{period}PerProjectPerModel-FreeTier",
        "quotaDimensions": {"location": "global"},
        "quotaValue": "20",
    }
    return [
        {"@type": f"{_GOOGLE}QuotaFailure", "violations": [violation]},
        {"@type": f"{_GOOGLE}RetryInfo", "retryDelay": "15s"},
    ]
