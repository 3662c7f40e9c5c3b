"""The Gemini interface: `POST {base}/v1beta/models/{model}:generateContent` (Gemini 3.8 Flash).

Log-probabilities are not asked for: Gemini 3 and later refuse them. Source: types of the google-genai SDK 3.6.1, which
sends the same body to /v1 unless it is told v1beta, the documented address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

from zs_assets.backends.base import CallFault, Remedy
from zs_assets.backends.label_only import ANSWER, LabelOnlyBackend, NoLabel, label_in
from zs_assets.backends.local import Settings
from zs_assets.backends.reply_json import (
    BrokenReply,
    count_of,
    object_of,
    objects_of,
    parse_strictly,
    shown,
    sum_of,
    text_of,
)
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Question

_REFUSED = ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR")
_PER_DAY = re.compile(r"per[\s_-]?day", re.IGNORECASE)


class GeminiSettings(Settings):
    """`mode` enum: the reply's text is the label itself (text/x.enum); json: an object by a JSON schema."""

    mode: Literal["enum", "json"] = "enum"
    thinking_level: Literal["LOW", "MEDIUM", "HIGH"] | None = None  # null: the provider's default
    max_output_tokens: int | None = None


class GeminiBackend(LabelOnlyBackend):
    """One user content; the answer is the text of the first candidate, thoughts left out."""

    settings_model = GeminiSettings
    id_field = "responseId"

    def __init__(self, spec: SystemSpec, question: Question):
        self.path = f"/v1beta/models/{quote(spec.model or spec.name, safe='')}:generateContent"
        super().__init__(spec, question)

    def envelope(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        config: dict[str, Any]
        if self.settings.mode == "enum":
            labels = {"type": "STRING", "enum": schema["properties"][ANSWER]["enum"]}
            config = {"responseMimeType": "text/x.enum", "responseSchema": labels}
        else:
            config = {"responseMimeType": "application/json", "responseJsonSchema": schema}
        if self.settings.max_output_tokens is not None:
            config["maxOutputTokens"] = self.settings.max_output_tokens
        if self.settings.thinking_level is not None:
            config["thinkingConfig"] = {"thinkingLevel": self.settings.thinking_level}
        return {"contents": [{"parts": [{"text": prompt}], "role": "user"}], "generationConfig": config}

    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        """Thoughts are outside candidatesTokenCount and billed as output; cached tokens are inside promptTokenCount.

        A count of zero is left out on the wire.
        """
        usage = object_of(body.get("usageMetadata"))
        known: dict[str, Any] = {"model": text_of(body.get("modelVersion"))}
        prompt = count_of(usage.get("promptTokenCount"))
        if prompt is None:
            return known
        cached, thoughts, written = (
            count_of(usage.get(name, 0))
            for name in ("cachedContentTokenCount", "thoughtsTokenCount", "candidatesTokenCount")
        )
        missed = None if cached is None else prompt - cached
        return known | {
            "input_tokens": prompt,
            "output_tokens": sum_of(written, thoughts),
            "cache_hit_tokens": cached,
            "cache_miss_tokens": None if missed is None or missed < 0 else missed,
            "reasoning_tokens": thoughts,
        }

    def label(self, body: dict[str, Any]) -> Any:
        blocked = object_of(body.get("promptFeedback")).get("blockReason")
        if blocked is not None:
            raise NoLabel(Outcome.REFUSAL, f"the prompt was blocked ({shown(blocked)})")
        candidates = objects_of(body.get("candidates"))
        if not candidates:
            raise BrokenReply("the reply has no candidates")
        finish = candidates[0].get("finishReason")
        if finish in _REFUSED:
            raise NoLabel(Outcome.REFUSAL, f"the reply was withheld (finishReason {finish})")
        if finish != "STOP":
            # Billed and never asked again; a cut-off answer may still be a label.
            raise NoLabel(Outcome.INVALID, f"the reply did not come to its end (finishReason {shown(finish)})")
        parts = objects_of(object_of(candidates[0].get("content")).get("parts"))
        texts = [
            part["text"] for part in parts if part.get("thought") is not True and isinstance(part.get("text"), str)
        ]
        if not texts:
            raise BrokenReply("the reply has no text")
        text = "".join(texts)
        return text if self.settings.mode == "enum" else label_in(parse_strictly(text, "the text"), "the text")

    def fault_of(self, status: int, headers: Mapping[str, str], body: str, request_id: str | None) -> CallFault:
        """A used-up quota per day and a wrong key (a 400 here) stop the run; the rest is as everywhere."""
        fault = super().fault_of(status, headers, body, request_id)
        details = _details(fault.body or "")
        if status == 429:
            quota = _daily_quota(details)
            if quota is not None:
                # The reply still hints at a retry in seconds. Waiting for it was tried for minutes, in vain.
                said = f"the quota of requests per day is used up ({quota}), which no wait of this run mends"
                return CallFault("http_429_daily_quota", Remedy.STOP, said, status, None, fault.body, request_id)
        if status == 400 and any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
            return CallFault("http_400_key", Remedy.STOP, fault.detail, status, None, fault.body, request_id)
        return fault

    def _auth_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}


def _details(body: str) -> list[dict[str, Any]]:
    try:
        return objects_of(object_of(object_of(json.loads(body)).get("error")).get("details"))
    except (ValueError, RecursionError):
        return []


def _daily_quota(details: list[dict[str, Any]]) -> str | None:
    """The name of a quota per day that a 429 names, with its limit; None where it names none."""
    for violation in (each for detail in details for each in objects_of(detail.get("violations"))):
        name = text_of(violation.get("quotaId")) or ""
        if _PER_DAY.search(name):
            limit = violation.get("quotaValue")
            return name[:120] if limit is None else f"{name[:120]}, limit {shown(limit)}"
    return None
