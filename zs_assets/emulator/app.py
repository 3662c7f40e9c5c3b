"""One ASGI application that stands in for a hosted system: its path, auth, envelope, rounding, errors and faults.

`GET /_emulator/stats` counts requests and replies by text and by body; `POST /_emulator/faults` sets the fault script.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from zs_assets.emulator.answers import answer, usage
from zs_assets.emulator.decider import Decider
from zs_assets.emulator.faults import INSTEAD_OF_A_REPLY, RETRY_HEADERS, STATUS, Rule, Script, retry_headers
from zs_assets.emulator.profiles import Profile
from zs_assets.emulator.request_checks import Asked, Rejected, check_auth, check_request

TRANSPORT = "zs_assets.transport"
"""ASGI extension under which the server hands over the connection, for the fault dropped_connection."""


def create_app(
    profile: Profile, *, seed: int = 0, key: str | None = None, faults: Iterable[Mapping[str, Any]] | None = None
) -> Starlette:
    """The stand-in of one profile. `key` is the only one accepted; None accepts any or none."""
    return _Emulator(profile, seed, key, faults).app()


def reply_body(asked: Asked, decider: Decider, profile: Profile, repeat: int = 0) -> dict[str, Any]:
    """The body of a 200."""
    return {
        "model": profile.aliases[asked.model],
        "answers": {
            name: answer(question, asked.text, decider, profile, repeat) for name, question in asked.questions.items()
        },
        "usage": usage(asked.text, asked.questions),
    }


class _Emulator:
    def __init__(self, profile: Profile, seed: int, key: str | None, faults: Iterable[Mapping[str, Any]] | None):
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
            exception_handlers={HTTPException: _wrong_path},
        )

    async def stats(self, request: Request) -> Response:
        return _json(200, self._script.stats())

    async def set_faults(self, request: Request) -> Response:
        try:
            self._script = Script(await request.json())
        except ValueError as error:
            return _error(400, str(error), "faults")
        return _json(200, {"rules": len(self._script.rules)})

    async def models(self, request: Request) -> Response:
        try:
            check_auth(request.headers.get("authorization"), self._key)
        except Rejected as rejected:
            return _error(rejected.status, rejected.detail, "models")
        aliases = [name for name, resolved in self._profile.aliases.items() if name != resolved]
        described = [{"name": n, "description": "Local stand-in", "release_date": "2026-09-17"} for n in aliases]
        return _json(200, {"models": described}, _request_id("models"))

    async def decide(self, request: Request) -> Response:
        try:
            raw = await request.body()
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        digest = hashlib.sha256(raw).hexdigest()
        authorization = request.headers.get("authorization")
        try:
            check_auth(authorization, self._key)
            asked = check_request(raw, request.headers.get("content-encoding"), self._profile)
        except Rejected as rejected:
            self._script.rejected += 1
            return _error(rejected.status, rejected.detail, digest)
        rule = self._script.meet(asked.text, digest)
        if rule is not None and rule.fault in INSTEAD_OF_A_REPLY:
            return _fault(request, rule.fault, authorization or "", digest)
        if rule is not None and rule.fault == "slow":
            await asyncio.sleep(rule.seconds)
        body = reply_body(asked, self._decider, self._profile, self._script.repeat_of(digest))
        self._script.replied(asked.text, digest)
        payload = _broken(body, rule, authorization) if rule is not None else json.dumps(body, ensure_ascii=False)
        return Response(_utf8(payload), media_type="application/json", headers=_request_id(digest))


def _broken(body: dict[str, Any], rule: Rule, authorization: str | None) -> str:
    """A reply's JSON with what the rule breaks in it."""
    fault = rule.fault
    if fault == "not_an_object":
        return "[1, 2]"
    if fault == "missing_answer":
        body["answers"] = {}
    if fault == "other_model":
        body["model"] = "jev-0.0.1"
    if fault == "echo_key_in_reply":
        body["debug"] = {"authorization": authorization}
    for given in body["answers"].values():
        if given["type"] == "choice":
            given["probabilities"] = _broken_vector(given["probabilities"], given["choice"], fault)
    payload = json.dumps(body, ensure_ascii=False)
    return payload[: len(payload) // 2] if fault == "truncated_json" else payload


def _broken_vector(vector: dict[str, float], choice: str, fault: str) -> dict[str, float]:
    first, *rest = vector.items()
    if fault == "foreign_label":
        return dict([("no_such_option", first[1]), *rest])
    if fault == "nan":
        return dict([(first[0], float("nan")), *rest])
    if fault == "sum_off":
        return {option: 0.8 if option == choice else 0.0 for option in vector}
    return vector


def _fault(request: Request, fault: str, authorization: str, digest: str) -> Response:
    if fault in RETRY_HEADERS:
        return _error(429, {"error_type": "rate_limit_error"}, digest, retry_headers(fault))
    if fault in STATUS:
        detail: Any = {"error_type": "api_usage_error", "message": f"emulated fault {fault}"}
        if fault == "422":
            detail = [{"type": "missing", "loc": ["body", "state"], "msg": "Field required"}]
        return _error(STATUS[fault], detail, digest)
    if fault == "html_403":
        return HTMLResponse("<!DOCTYPE html><html><body>Attention required</body></html>", status_code=403)
    if fault == "json_403":
        return _error(403, {"error_type": "authentication_error", "message": "emulated fault"}, digest)
    if fault == "echo_key":
        return _error(500, f"failed while handling headers: Authorization: {authorization}", digest)
    drop_connection(request)


def drop_connection(request: Request) -> NoReturn:
    """Ends the connection without an answer; where the server does not hand it over, the handler fails instead."""
    transport = request.scope.get("extensions", {}).get(TRANSPORT)
    if transport is not None:
        transport.abort()
    raise ConnectionResetError("emulated fault dropped_connection")


async def _wrong_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, error.detail, request.url.path)


def _error(status: int, detail: Any, digest: str, headers: Mapping[str, str] | None = None) -> Response:
    return _json(status, {"detail": detail}, {**_request_id(digest), **(headers or {})})


def _json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    payload = _utf8(json.dumps(value, ensure_ascii=False))
    return Response(payload, status_code=status, media_type="application/json", headers=headers)


def _utf8(payload: str) -> bytes:
    """Non-ASCII raw, as the service sends it; half a surrogate pair, which a request can smuggle in, becomes '?'."""
    return payload.encode("utf-8", "replace")


def _request_id(digest: str) -> dict[str, str]:
    return {"x-typesafe-request-id": f"req_{hashlib.md5(digest.encode(), usedforsecurity=False).hexdigest()}"}
