"""Clef on Cloudflare Workers AI: a System One body inside Cloudflare's envelope.

`POST {base}/client/v4/accounts/{account}/ai/run/{model}` answers `{"result", "success", "errors", "messages"}`. An
error may come with HTTP 200 and success false: then there is no reply, and the code says whether to ask again.
Source: Cloudflare's documentation of Workers AI; codes as third parties measured them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from zs_assets.backends.base import CallFault, Remedy
from zs_assets.backends.http_faults import SHOWN_DETAIL
from zs_assets.backends.reply_json import BrokenReply, object_of, objects_of, parse_strictly, shown
from zs_assets.backends.systemone import SystemOneBackend, SystemOneSettings
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable

_ACCOUNT = re.compile(r"[A-Za-z0-9_-]+")
_CAPACITY = (3040, 5012)  # out of capacity: another try can help
_DAILY = (3036, 4006)  # the day's allocation is used up: no wait of a run mends that
_AUTHENTICATION = (9106, 9109, 10000, 10001)


class WorkersAiSettings(SystemOneSettings):
    """`body_model` is what stands in the body; the entry's `model` is the one in the address."""

    account_env: str = "CLOUDFLARE_ACCOUNT_ID"
    body_model: str = Field(default="clef", min_length=1)


class WorkersAiBackend(SystemOneBackend):
    """System One's question and answer; address, envelope and errors are Cloudflare's."""

    request_id_header = "cf-ai-req-id"
    settings_model: ClassVar[type[SystemOneSettings]] = WorkersAiSettings

    def path_of(self, spec: SystemSpec) -> str:
        account = os.environ.get(self.settings.account_env, "").strip()
        if not _ACCOUNT.fullmatch(account):
            raise BackendUnavailable(
                f"Backend '{spec.name}' needs the account's id: set {self.settings.account_env} (letters, digits)."
            )
        return f"/client/v4/accounts/{account}/ai/run/{spec.model}"

    def body_model(self) -> str:
        return self.settings.body_model

    def unwrapped(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("success") is False:
            raise BrokenReply(f"the envelope says it failed: {_said(body)}")
        result = body.get("result")
        if not isinstance(result, dict):
            raise BrokenReply(f"the envelope's result is {shown(result)}, not an object")
        return result

    def fault_in(self, body: str, request_id: str | None) -> CallFault | None:
        try:
            parsed = parse_strictly(body)
        except BrokenReply:
            return None
        if parsed.get("success") is not False:
            return None
        kind, remedy = _by_code(parsed, "in_200", Remedy.GIVE_UP)
        return CallFault(kind, remedy, _said(parsed), 200, None, body, request_id)

    def fault_of(self, status: int, headers: Mapping[str, str], body: str, request_id: str | None) -> CallFault:
        """As everywhere, but the envelope's code tells a used-up day from a busy minute."""
        fault = super().fault_of(status, headers, body, request_id)
        try:
            parsed = object_of(json.loads(fault.body or ""))
        except (ValueError, RecursionError):
            return fault
        fault.kind, fault.remedy = _by_code(parsed, str(status), fault.remedy, fault.kind)
        if objects_of(parsed.get("errors")):
            fault.detail = _said(parsed)
        return fault


def _by_code(body: Mapping[str, Any], status: str, otherwise: Remedy, kind: str | None = None) -> tuple[str, Remedy]:
    codes = [error.get("code") for error in objects_of(body.get("errors"))]
    for known, name, remedy in (
        (_AUTHENTICATION, "authentication", Remedy.STOP),
        (_DAILY, "daily_allocation", Remedy.STOP),
        (_CAPACITY, "capacity", Remedy.RETRY),
    ):
        if any(code in known for code in codes if isinstance(code, int)):
            return f"http_{status}_{name}", remedy
    return kind or f"http_{status}", otherwise


def _said(body: Mapping[str, Any]) -> str:
    """The envelope's errors as `code message`, for a sentence."""
    errors = objects_of(body.get("errors"))
    said = "; ".join(f"{shown(error.get('code'))} {error.get('message', '')}".strip() for error in errors)
    # Half a surrogate pair, which JSON can escape, could be written to no file.
    return " ".join((said or "no reason given").encode("utf-8", "replace").decode("utf-8").split())[:SHOWN_DETAIL]
