"""One ASGI application that stands in for a label-only system: its wire, a deterministic label, usage and faults.

The same `/_emulator` addresses as for System One; `GET /_emulator/bodies` gives the requests' bodies, as received.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from zs_assets.emulator.anthropic_wire import AnthropicWire
from zs_assets.emulator.app import drop_connection
from zs_assets.emulator.decider import Decider, EmbeddedModel
from zs_assets.emulator.deepseek_wire import DeepSeekWire
from zs_assets.emulator.disturbances import Disturbances
from zs_assets.emulator.faults import LABEL_REPLIES, RETRY_HEADERS, STATUS, Script, retry_headers
from zs_assets.emulator.gemini_wire import GeminiWire
from zs_assets.emulator.label_requests import LabelRequest, Refused, Wire, tokens_of
from zs_assets.emulator.profile import Profile

_WIRES: dict[str, type[Wire]] = {"deepseek": DeepSeekWire, "anthropic": AnthropicWire, "gemini": GeminiWire}
_BEFORE_A_REPLY = (*RETRY_HEADERS, *STATUS, "dropped_connection", "html_403", "json_403", "echo_key")
_QUOTAS = ("daily_quota", "minute_quota")
_BODIES_KEPT = 100


def create_label_app(
    profile: Profile,
    *,
    seed: int = 0,
    key: str | None = None,
    faults: Iterable[Mapping[str, Any]] | None = None,
    model: EmbeddedModel | None = None,
    disturbances: Iterable[str] = (),
) -> Starlette:
    """The stand-in of one label-only profile; the arguments are those of `app.create_app`."""
    return _LabelEmulator(profile, seed, key, faults, model, disturbances).app()


class _LabelEmulator:
    def __init__(
        self,
        profile: Profile,
        seed: int,
        key: str | None,
        faults: Iterable[Mapping[str, Any]] | None,
        model: EmbeddedModel | None,
        disturbances: Iterable[str],
    ):
        self._wire = _WIRES[profile.wire](profile)
        self._key = key
        self._decider = Decider(profile, seed, model)
        self._disturbances = Disturbances(profile, seed, disturbances)
        self._played = (*_BEFORE_A_REPLY, *LABEL_REPLIES, *self._wire.faults, "slow")
        self._script = Script(faults, self._played)
        self._prefixes: set[str] = set()
        self._bodies: deque[bytes] = deque(maxlen=_BODIES_KEPT)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                *(Route(route, self.decide, methods=["POST"]) for route in self._wire.routes),
                Route("/_emulator/stats", self.stats, methods=["GET"]),
                Route("/_emulator/bodies", self.bodies, methods=["GET"]),
                Route("/_emulator/faults", self.set_faults, methods=["POST"]),
            ]
        )

    async def stats(self, request: Request) -> Response:
        return _json(200, self._script.stats())

    async def bodies(self, request: Request) -> Response:
        return _json(200, [raw.decode("utf-8", "replace") for raw in self._bodies])

    async def set_faults(self, request: Request) -> Response:
        try:
            self._script = Script(await request.json(), self._played)
        except ValueError as error:
            return _json(400, {"detail": str(error)})
        self._prefixes.clear()
        self._bodies.clear()
        return _json(200, {"rules": len(self._script.rules)})

    async def decide(self, request: Request) -> Response:
        try:
            raw = await request.body()
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        self._bodies.append(raw)
        digest = hashlib.sha256(raw).hexdigest()
        try:
            self._wire.check_auth(request.headers, self._key)
            asked = self._asked(raw, request.path_params)
        except Refused as refused:
            self._script.rejected += 1
            return self._error(refused.status, refused.kind, refused.message, digest)
        rule = self._script.meet(asked.text, digest)
        if rule is None:
            rule = await self._disturbances.met(digest)
        fault = None if rule is None else rule.fault
        if fault in _BEFORE_A_REPLY or fault in _QUOTAS:
            return self._fault(request, str(fault), digest)
        if rule is not None and fault == "slow":
            await asyncio.sleep(rule.seconds)
        payload = self._payload(asked, digest, fault, self._wire.key_in(request.headers))
        self._script.replied(asked.text, digest)
        return Response(payload, media_type="application/json", headers=self._request_id(digest))

    def _asked(self, raw: bytes, path: Mapping[str, str]) -> LabelRequest:
        try:
            body = json.loads(raw)
            if isinstance(body, dict):
                return self._wire.asked(body, path)
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError):  # a shape that no check foresaw
            pass
        raise Refused(400, "", "The request is no JSON object of the documented shape")

    def _payload(self, asked: LabelRequest, digest: str, fault: str | None, key: str) -> bytes:
        options = asked.options
        vector = self._decider.decide(asked.text, asked.prefix.partition("\n")[0], options)
        label = max(vector, key=lambda option: vector[option])
        draw = self._decider.random(asked.text, *options)
        tokens = tokens_of(asked, label, self._wire.caches_from, asked.prefix in self._prefixes, draw)
        if asked.prefix:
            self._prefixes.add(asked.prefix)
        body = self._wire.reply(asked, label, tokens, digest[:24], fault)
        if fault == "other_model":
            body["modelVersion" if "modelVersion" in body else "model"] = "another-model"
        if fault == "echo_key_in_reply":
            body["debug"] = {"key": key}
        payload = "[1, 2]" if fault == "not_an_object" else json.dumps(body, ensure_ascii=False)
        return (payload[: len(payload) // 2] if fault == "truncated_json" else payload).encode("utf-8", "replace")

    def _fault(self, request: Request, fault: str, digest: str) -> Response:
        if fault in _QUOTAS:
            return self._error(429, fault, "You exceeded your current quota. Please retry in 15s.", digest)
        if fault in RETRY_HEADERS:
            return self._error(429, None, "Rate limit reached", digest, retry_headers(fault))
        if fault in STATUS:
            return self._error(STATUS[fault], None, f"emulated fault {fault}", digest)
        if fault == "html_403":
            return HTMLResponse("<!DOCTYPE html><html><body>Attention required</body></html>", status_code=403)
        if fault == "json_403":
            return self._error(403, None, "emulated fault", digest)
        if fault == "echo_key":
            return self._error(500, None, f"failed with the key {self._wire.key_in(request.headers)}", digest)
        drop_connection(request)

    def _error(
        self, status: int, kind: str | None, message: str, digest: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        return _json(status, self._wire.error(status, kind, message), {**self._request_id(digest), **(headers or {})})

    def _request_id(self, digest: str) -> dict[str, str]:
        header = self._wire.request_id_header
        return {} if header is None else {header: f"req_{digest[:24]}"}


def _json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    payload = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(payload, status_code=status, media_type="application/json", headers=headers)
