"""Wires of systems that give probabilities: how a request is read, a reply enveloped, an error said.

All of them ask what System One asks, so the rest of a stand-in knows questions and answers in that form alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zs_assets.emulator.answers import usage
from zs_assets.emulator.faults import SYSTEM_ONE
from zs_assets.emulator.profile import Profile
from zs_assets.emulator.reply_extras import add_extras
from zs_assets.emulator.request_checks import Asked, check_auth, check_request

Answers = Mapping[str, dict[str, Any]]
_CLOUDFLARE_CODES = {401: 10000, 403: 10000, 413: 5021, 429: 3040, 529: 5012}


class SystemOneWire:
    """`POST /v1/systemone`: Jev and its relatives."""

    faults: tuple[str, ...] = SYSTEM_ONE

    def __init__(self, profile: Profile):
        self.profile = profile

    def check_auth(self, authorization: str | None, key: str | None) -> None:
        """Rejected without the key. Jev and its routes answer 403 to a missing one, the local servers 401."""
        if self.profile.has_auth:
            check_auth(authorization, key, 403 if self.profile.rejects_with == 400 else 401)

    def asked(self, raw: bytes, encoding: str | None) -> Asked:
        """The request, or Rejected as the system would."""
        return check_request(raw, encoding, self.profile)

    def body(self, asked: Asked, answers: Answers, model: str) -> dict[str, Any]:
        """The body of a 200."""
        body = {"model": model, "answers": dict(answers), "usage": usage(asked.text, asked.questions)}
        return add_extras(body, asked, self.profile)

    def error(self, status: int, detail: Any) -> dict[str, Any]:
        """The body of any other answer."""
        return {"detail": detail}


class OpenRouterWire(SystemOneWire):
    """A gateway's route: it numbers its replies, names the provider and bills; OpenAI's model may decline there too."""

    faults = (*SYSTEM_ONE, "refusal")

    def body(self, asked: Asked, answers: Answers, model: str) -> dict[str, Any]:
        body = super().body(asked, answers, model)
        cost = body["usage"]["input_tokens"] * 0.042e-6  # the price of the model it routes to
        return body | {"id": "gen-dec-stand-in", "provider": "TypeSafe", "usage": body["usage"] | {"cost": cost}}

    def error(self, status: int, detail: Any) -> dict[str, Any]:
        return {"error": {"code": status, "message": said(detail)}}


class WorkersAiWire(SystemOneWire):
    """Cloudflare's envelope around the same body; its errors are numbered."""

    faults = (*SYSTEM_ONE, "daily_quota", "error_in_200")

    def check_auth(self, authorization: str | None, key: str | None) -> None:
        check_auth(authorization, key, 401)

    def body(self, asked: Asked, answers: Answers, model: str) -> dict[str, Any]:
        result = super().body(asked, answers, model)
        result["usage"]["output_tokens"] = 0
        return {"result": result, "success": True, "errors": [], "messages": []}

    def error(self, status: int, detail: Any) -> dict[str, Any]:
        code = 4006 if detail == "daily_quota" else _CLOUDFLARE_CODES.get(status, 5006)
        return {"result": None, "success": False, "errors": [{"code": code, "message": said(detail)}], "messages": []}


def said(detail: Any) -> str:
    """A System One error's `detail` as one sentence, for envelopes that hold texts."""
    if isinstance(detail, dict):
        return str(detail.get("message") or detail.get("error_type"))
    if isinstance(detail, list) and detail:
        return f"{'.'.join(map(str, detail[0]['loc']))}: {detail[0]['msg']}"
    return str(detail)
