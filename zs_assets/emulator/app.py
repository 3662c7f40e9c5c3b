"""One ASGI application that stands in for a hosted system: its path, auth, envelope, rounding, errors and faults.

`GET /_emulator/stats` counts requests and replies by text and by body; `POST /_emulator/faults` sets the fault script.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from zs_assets.emulator.answers import answer
from zs_assets.emulator.decider import Decider, EmbeddedModel
from zs_assets.emulator.decision_wires import OpenRouterWire, SystemOneWire, WorkersAiWire
from zs_assets.emulator.disturbances import Disturbances
from zs_assets.emulator.faults import INSTEAD_OF_A_REPLY, RETRY_HEADERS, STATUS, Rule, Script, retry_headers
from zs_assets.emulator.nanojev_wire import NanoJevWire
from zs_assets.emulator.openai_wire import OpenAiWire
from zs_assets.emulator.profile import Profile
from zs_assets.emulator.reply_extras import described_models, identity
from zs_assets.emulator.request_checks import Asked, Rejected

TRANSPORT = "zs_assets.transport"
"""ASGI extension under which the server hands over the connection, for the fault dropped_connection."""

WIRES: dict[str, type[SystemOneWire]] = {
    "systemone": SystemOneWire,
    "openrouter": OpenRouterWire,
    "workers_ai": WorkersAiWire,
    "openai_decisions": OpenAiWire,
    "nanojev": NanoJevWire,
}
_OTHER_MODEL = "jev-0.0.1"


def create_app(
    profile: Profile,
    *,
    seed: int = 0,
    key: str | None = None,
    faults: Iterable[Mapping[str, Any]] | None = None,
    model: EmbeddedModel | None = None,
    disturbances: Iterable[str] = (),
) -> Starlette:
    """The stand-in of one profile with probabilities.

    `key` is the only one accepted; None accepts any or none. `model` is shared between the stand-ins of a process.
    `disturbances` are names of `disturbances.NAMES`; none is on unless it is asked for.
    """
    return _Emulator(profile, seed, key, faults, model, disturbances).app()


def reply_body(
    asked: Asked, decider: Decider, profile: Profile, repeat: int = 0, rule: Rule | None = None
) -> dict[str, Any]:
    """The body of a 200, with what a rule breaks in its answers or its model."""
    fault = None if rule is None else rule.fault
    answers = {
        name: answer(question, asked.text, decider, profile, repeat) for name, question in asked.questions.items()
    }
    if fault == "refusal" or declines(asked, decider, profile):
        answers = {name: {"type": "refusal"} for name in answers}
    if fault == "missing_answer":
        answers = {}
    for given in answers.values():
        if given["type"] == "choice" and fault is not None:
            given["probabilities"] = _broken_vector(given["probabilities"], given["choice"], fault)
    return WIRES[profile.wire](profile).body(asked, answers, _OTHER_MODEL if fault == "other_model" else asked.model)


def declines(asked: Asked, decider: Decider, profile: Profile) -> bool:
    """Refusals gather on few texts: there, one order in eight meets one (published: 178 of 34 texts' 1,428 replies)."""
    if not profile.refusal_rate or decider.random("refused text", asked.text).random() >= profile.refusal_rate * 8:
        return False
    options = (name for question in asked.questions.values() for name in question.get("criteria") or ())
    return decider.random("refused order", asked.text, *options).random() < 1 / 8


class _Emulator:
    def __init__(
        self,
        profile: Profile,
        seed: int,
        key: str | None,
        faults: Iterable[Mapping[str, Any]] | None,
        model: EmbeddedModel | None,
        disturbances: Iterable[str],
    ):
        self._disturbances = Disturbances(profile, seed, disturbances)
        noise = profile.repeat_noise if self._disturbances.repeats_vary else 0.0
        self._profile = replace(profile, repeat_noise=noise)
        self._wire = WIRES[profile.wire](profile)
        self._key = key
        self._decider = Decider(self._profile, seed, model)
        self._script = Script(faults, self._wire.faults)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                *(Route(path, self.decide, methods=["POST"]) for path in self._profile.paths),
                Route("/v1/models", self.models, methods=["GET"]),
                *(Route(path, self.health, methods=["GET"]) for path in ("/health", "/api/health")),
                Route("/_emulator/stats", self.stats, methods=["GET"]),
                Route("/_emulator/faults", self.set_faults, methods=["POST"]),
            ],
            exception_handlers={HTTPException: self._wrong_path},
        )

    async def stats(self, request: Request) -> Response:
        return _json(200, self._script.stats())

    async def set_faults(self, request: Request) -> Response:
        try:
            self._script = Script(await request.json(), self._wire.faults)
        except ValueError as error:
            return _json(400, {"detail": str(error)})
        return _json(200, {"rules": len(self._script.rules)})

    async def models(self, request: Request) -> Response:
        try:
            self._wire.check_auth(request.headers.get("authorization"), self._key)
        except Rejected as rejected:
            return self._error(rejected.status, rejected.detail, "models")
        return _json(200, {"models": described_models(self._profile)}, self._request_id("models"))

    async def health(self, request: Request) -> Response:
        return _json(200, identity(self._profile))

    async def decide(self, request: Request) -> Response:
        try:
            raw = await request.body()
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        digest = hashlib.sha256(raw).hexdigest()
        authorization = request.headers.get("authorization")
        try:
            self._wire.check_auth(authorization, self._key)
            asked = self._wire.asked(raw, request.headers.get("content-encoding"))
        except Rejected as rejected:
            self._script.rejected += 1
            return self._error(rejected.status, rejected.detail, digest)
        rule = self._script.meet(asked.text, digest)
        if rule is None:
            rule = await self._disturbances.met(digest)
        if rule is not None and (rule.fault in INSTEAD_OF_A_REPLY or rule.fault in ("daily_quota", "error_in_200")):
            return self._fault(request, rule.fault, authorization or "", digest)
        if rule is not None and rule.fault == "slow":
            await asyncio.sleep(rule.seconds)
        body = reply_body(asked, self._decider, self._profile, self._script.repeat_of(digest), rule)
        self._script.replied(asked.text, digest)
        payload = _broken(body, rule, authorization) if rule is not None else json.dumps(body, ensure_ascii=False)
        headers = self._request_id(digest)
        if asked.truncated and self._profile.name == "von":
            headers["x-von-truncated"] = "true"
        return Response(_utf8(payload), media_type="application/json", headers=headers)

    def _fault(self, request: Request, fault: str, authorization: str, digest: str) -> Response:
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
        if fault == "daily_quota":
            return self._error(429, fault, digest)
        if fault == "error_in_200":
            return _json(200, self._wire.error(529, "out of capacity"), self._request_id(digest))
        if fault == "echo_key":
            return self._error(500, f"failed while handling headers: Authorization: {authorization}", digest)
        drop_connection(request)

    async def _wrong_path(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self._error(error.status_code, error.detail, request.url.path)

    def _error(self, status: int, detail: Any, digest: str, headers: Mapping[str, str] | None = None) -> Response:
        return _json(status, self._wire.error(status, detail), {**self._request_id(digest), **(headers or {})})

    def _request_id(self, digest: str) -> dict[str, str]:
        header = self._profile.request_id_header
        number = hashlib.md5(digest.encode(), usedforsecurity=False).hexdigest()
        return {} if header is None else {header: f"req_{number}"}


def _broken(body: dict[str, Any], rule: Rule, authorization: str | None) -> str:
    """A reply's JSON with what the rule breaks in its envelope."""
    fault = rule.fault
    if fault == "not_an_object":
        return "[1, 2]"
    if fault == "echo_key_in_reply":
        body["debug"] = {"authorization": authorization}
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


def drop_connection(request: Request) -> NoReturn:
    """Ends the connection without an answer; where the server does not hand it over, the handler fails instead."""
    transport = request.scope.get("extensions", {}).get(TRANSPORT)
    if transport is not None:
        transport.abort()
    raise ConnectionResetError("emulated fault dropped_connection")


def _json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    payload = _utf8(json.dumps(value, ensure_ascii=False))
    return Response(payload, status_code=status, media_type="application/json", headers=headers)


def _utf8(payload: str) -> bytes:
    """Non-ASCII raw, as the service sends it; half a surrogate pair, which a request can smuggle in, becomes '?'."""
    return payload.encode("utf-8", "replace")
