"""From an HTTP answer or a broken connection to a CallFault, and keys kept out of whatever is kept.

Pure functions. What is retried: timeout, connection, 408, 429, 5xx (529 among them) and HTML 403 (an edge block). What
is not: 400, 402, 404, 422. What stops a run: 401 and JSON 403.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import quote

import httpx

from zs_assets.backends.base import CallFault, Remedy

SHOWN_DETAIL = 300
SHORTEST_SECRET = 8
HIDDEN = "[key removed]"
HEADERS_WITH_KEYS = ("Bearer ", "x-api-key: ", "x-goog-api-key: ")


def scrub(text: str, secrets: Sequence[str]) -> str:
    """The text without any of the secrets, as they are and as JSON, a URL or HTML would write them.

    A secret too short to be one ("test", for a local server) goes only where it stands as the value of a header:
    removed everywhere, it would take letters out of labels and digits out of probabilities.
    """
    for secret in filter(None, secrets):
        places = ("",) if len(secret) >= SHORTEST_SECRET else HEADERS_WITH_KEYS
        for shown in (place + secret for place in places):
            text = _without(text, shown)
    return text


def _without(text: str, shown: str) -> str:
    in_json = json.dumps(shown)[1:-1]
    # Longest first, so that no form leaves the tail of another.
    forms = {shown, in_json, in_json.replace("/", "\\/"), quote(shown, safe=""), quote(shown), html.escape(shown)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def response_fault(
    status: int, headers: Mapping[str, str], body: str, *, request_id: str | None, secrets: Sequence[str]
) -> CallFault:
    """The fault of an answer that is no reply. `body` and what is made of it are scrubbed of the secrets."""
    body = scrub(body, secrets)
    is_html = _is_html(headers, body)
    if status == 403:
        kind, remedy = ("http_403_html", Remedy.RETRY) if is_html else ("http_403", Remedy.STOP)
    elif status == 401:
        kind, remedy = "http_401", Remedy.STOP
    elif status in (408, 429) or status >= 500:
        kind, remedy = f"http_{status}", Remedy.RETRY
    else:
        kind, remedy = f"http_{status}", Remedy.GIVE_UP
    return CallFault(
        kind=kind,
        remedy=remedy,
        detail="an HTML page instead of JSON" if is_html else detail_of(body),
        status=status,
        retry_after_s=retry_after_s(headers),
        body=body,
        request_id=request_id,
    )


def transport_fault(error: httpx.HTTPError, secrets: Sequence[str]) -> CallFault:
    """The fault of a call that got no answer: a timeout or a broken connection."""
    kind = "timeout" if isinstance(error, httpx.TimeoutException) else "connection"
    said = scrub(str(error), secrets)
    name = type(error).__name__
    return CallFault(kind, Remedy.RETRY, f"{name}: {said}" if said else name)


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds the server asks to wait: retry-after-ms first, then Retry-After as seconds or as an HTTP date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1e3
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):  # what it raises for no date differs by Python version
        return None
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    return max(0.0, (at - (now or datetime.now(timezone.utc))).total_seconds())


def detail_of(body: str) -> str:
    """What an error body says: `detail` as text, {error_type, message} or a list of problems, or `error` as an object.

    The object of `error` is {type, message} with OpenAI, DeepSeek and Anthropic, {status, message} with Google.
    """
    try:
        return _short(_said(_told(json.loads(body))))
    except (ValueError, RecursionError):  # no JSON, or nested beyond what can be read or shown
        return _short(body)


def _told(parsed: object) -> object:
    if not isinstance(parsed, dict):
        return parsed
    error = parsed.get("error")
    if isinstance(error, dict) and "detail" not in parsed:
        return {"error_type": error.get("status") or error.get("type"), "message": error.get("message")}
    return parsed.get("detail", parsed)


def _said(detail: object) -> str:
    if isinstance(detail, dict):
        parts = [detail.get("error_type"), detail.get("message")]
        return ": ".join(str(part) for part in parts if part) or json.dumps(detail)
    if isinstance(detail, list):
        return "; ".join(_problem(item) for item in detail)
    return detail if isinstance(detail, str) else json.dumps(detail)


def _problem(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    location = item.get("loc")
    where = ".".join(str(part) for part in location) if isinstance(location, list) else ""
    return f"{where}: {item.get('msg', '')}".strip(": ")


def _is_html(headers: Mapping[str, str], body: str) -> bool:
    """An HTML page, by how it starts or by its header; a JSON object is none, whatever its header says."""
    start = body.lstrip("\ufeff \t\r\n")[:15].lower()
    if start.startswith("{"):
        return False
    return "html" in headers.get("content-type", "").lower() or start.startswith(("<!doctype html", "<html"))


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None


def _short(text: str) -> str:
    # Half a surrogate pair, which JSON can escape, could be written to no file.
    text = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    return text if len(text) <= SHOWN_DETAIL else text[: SHOWN_DETAIL - 3] + "..."
