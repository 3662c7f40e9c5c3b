"""One ASGI application that stands in for a hosted system: its path, auth, envelope, rounding, errors and faults.

`GET /_emulator/stats` counts requests and replies by text; `POST /_emulator/faults` sets the fault script.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from zs_assets.emulator.decider import Decider
from zs_assets.emulator.faults import BODY_FAULTS, RETRY_HEADERS, STATUS, Script, retry_headers
from zs_assets.emulator.profiles import Profile
from zs_assets.emulator.request_checks import Rejected, check_auth, check_request

SLOW_S = 2.0


def create_app(
    profile: Profile, *, seed: int = 0, key: str | None = None, faults: list[dict[str, Any]] | None = None
) -> Starlette:
    """The stand-in of one profile. `key` is the only one accepted; None accepts any or none."""
    return _Emulator(profile, seed, key, faults).app()


class _Emulator:
    def __init__(self, profile: Profile, seed: int, key: str | None, faults: list[dict[str, Any]] | None):
        self._profile = profile
        self._key = key
        self._decider = Decider(profile, seed)
        self._script = Script(faults)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route(self._profile.path, self.decide, methods=["POST"]),
                Route("/v1/models", self.models, methods=["GET"]),
                Route("/_emulator/stats", self.stats, methods=["GET"]),
                Route("/_emulator/faults", self.set_faults, methods=["POST"]),
            ],
            exception_handlers={404: lambda request, error: self._error(404, "Not Found", "")},
        )

    async def stats(self, request: Request) -> Response:
        return JSONResponse(self._script.stats())

    async def set_faults(self, request: Request) -> Response:
        self._script = Script(await request.json())
        return JSONResponse({"rules": len(self._script.rules)})

    async def models(self, request: Request) -> Response:
        try:
            check_auth(request.headers.get("authorization"), self._key)
        except Rejected as rejected:
            return self._error(rejected.status, rejected.detail, "models")
        aliases = [name for name, resolved in self._profile.aliases.items() if name != resolved]
        return JSONResponse(
            {"models": [{"name": n, "description": "stand-in", "release_date": "2026-09-17"} for n in aliases]}
        )

    async def decide(self, request: Request) -> Response:
        raw = await request.body()
        authorization = request.headers.get("authorization")
        try:
            check_auth(authorization, self._key)
            asked = check_request(raw, request.headers.get("content-encoding"), self._profile)
        except Rejected as rejected:
            return self._error(rejected.status, rejected.detail, hashlib.sha256(raw).hexdigest())
        text = asked.text
        fault = self._script.fault_for(text)
        digest = hashlib.sha256(raw).hexdigest()
        if fault is not None and fault not in BODY_FAULTS and fault not in ("slow", "echo_key_in_reply"):
            return await self._fault(request, fault, authorization or "", digest)
        if fault == "slow":
            await asyncio.sleep(SLOW_S)
        body = self._answer(asked, fault)
        self._script.replies_of_text[text] += 1
        if fault == "echo_key_in_reply":
            body["debug"] = {"authorization": authorization}
        payload = json.dumps(body)
        if fault == "truncated_json":
            payload = payload[: len(payload) // 2]
        if fault == "not_an_object":
            payload = "[1, 2]"
        return Response(payload, media_type="application/json", headers=_request_id(digest))

    def _answer(self, asked: Any, fault: str | None) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        for name, question in asked.questions.items():
            answers[name] = self._choice(asked.text, question, fault)
        characters = len(asked.text) + sum(len(json.dumps(question)) for question in asked.questions.values())
        options = sum(len(question["criteria"]) for question in asked.questions.values())
        body: dict[str, Any] = {
            "model": "jev-0.0.1" if fault == "other_model" else self._profile.aliases[asked.model],
            "answers": {} if fault == "missing_answer" else answers,
            "usage": {"input_tokens": 280 + round(characters / 3.9), "output_tokens": 17 + 7 * options},
        }
        return body

    def _choice(self, text: str, question: dict[str, Any], fault: str | None) -> dict[str, Any]:
        criteria = question["criteria"]
        exact = self._decider.decide(text, question.get("instructions") or "", criteria)
        n, top = len(exact), max(exact.values())
        confidence = 1.0 if n == 1 else (n * top - 1) / (n - 1)
        decimals = self._profile.decimals
        # Rounded one by one, after the confidence: sums of 0.99 and 1.01 are what a real reply has, too.
        shown = {option: value if decimals is None else round(value, decimals) for option, value in exact.items()}
        choice = max(exact, key=exact.__getitem__)
        items: list[tuple[str, float]] = list(shown.items())
        if self._profile.shuffles_keys:
            self._decider.random(text, *criteria).shuffle(items)
        if fault == "foreign_label":
            items[0] = ("no_such_option", items[0][1])
        if fault == "nan":
            items[0] = (items[0][0], float("nan"))
        if fault == "sum_off":
            items = [(option, 0.8 if option == choice else 0.0) for option, _ in items]
        return {
            "type": "choice",
            "choice": choice,
            "confidence": confidence if decimals is None else round(confidence, decimals),
            "probabilities": dict(items),
        }

    async def _fault(self, request: Request, fault: str, authorization: str, digest: str) -> Response:
        if fault in RETRY_HEADERS:
            return self._error(429, {"error_type": "rate_limit_error"}, digest, retry_headers(fault))
        if fault in STATUS:
            detail: Any = {"error_type": "api_usage_error", "message": f"emulated fault {fault}"}
            if fault == "422":
                detail = [{"type": "missing", "loc": ["body", "state"], "msg": "Field required"}]
            return self._error(STATUS[fault], detail, digest)
        if fault == "html_403":
            return HTMLResponse("<!DOCTYPE html><html><body>Attention required</body></html>", status_code=403)
        if fault == "json_403":
            return self._error(403, {"error_type": "authentication_error", "message": "emulated fault"}, digest)
        if fault == "echo_key":
            return self._error(500, f"failed while handling headers: Authorization: {authorization}", digest)
        raise _drop(request)

    def _error(self, status: int, detail: Any, digest: str, headers: dict[str, str] | None = None) -> Response:
        return JSONResponse({"detail": detail}, status_code=status, headers=_request_id(digest) | (headers or {}))


def _drop(request: Request) -> Exception:
    """Closes the connection without an answer."""
    transport = request.scope.get("extensions", {}).get("zs_assets.transport")
    if transport is not None:
        transport.abort()
    return ConnectionResetError("emulated fault dropped_connection")


def _request_id(digest: str) -> dict[str, str]:
    return {"x-typesafe-request-id": f"req_{hashlib.md5(digest.encode(), usedforsecurity=False).hexdigest()}"}
