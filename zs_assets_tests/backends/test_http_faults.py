"""What an HTTP answer or a broken connection means for a call, and keys kept out of all of it."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.backends.base import CallFault, Remedy
from zs_assets.backends.http_faults import HIDDEN, SHOWN_DETAIL, response_fault, retry_after_s, scrub, transport_fault

KEY = 'apikey_0/1"secret'
HTML = "<!DOCTYPE html><html><title>Blocked</title></html>"


def fault(status: int, body: str = '{"detail":"no"}', **headers: str) -> CallFault:
    named = httpx.Headers({name.replace("_", "-"): value for name, value in headers.items()})
    return response_fault(status, named, body, request_id=None, secrets=(KEY,))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_passing_troubles_are_retried(status: int):
    assert (fault(status).kind, fault(status).remedy) == (f"http_{status}", Remedy.RETRY)


@pytest.mark.parametrize("status", [204, 302, 400, 402, 404, 413, 415, 422])
def test_rejected_requests_are_given_up(status: int):
    assert (fault(status).kind, fault(status).remedy) == (f"http_{status}", Remedy.GIVE_UP)


@pytest.mark.parametrize(
    ("given_fault", "kind", "remedy"),
    [
        (fault(401), "http_401", Remedy.STOP),
        (fault(403), "http_403", Remedy.STOP),
        (fault(403, '{"detail":{}}', content_type="text/html"), "http_403", Remedy.STOP),
        (fault(403, HTML), "http_403_html", Remedy.RETRY),
        (fault(403, "\n <HTML>no</HTML>"), "http_403_html", Remedy.RETRY),
        (fault(403, "Sorry", content_type="text/html; charset=UTF-8"), "http_403_html", Remedy.RETRY),
    ],
)
def test_a_refused_key_stops_but_a_page_of_the_network_edge_does_not(given_fault: CallFault, kind: str, remedy: Remedy):
    assert (given_fault.kind, given_fault.remedy) == (kind, remedy)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectTimeout("slow"), "timeout"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.PoolTimeout("slow"), "timeout"),
        (httpx.ConnectError("refused"), "connection"),
        (httpx.ReadError(""), "connection"),
        (httpx.RemoteProtocolError("gone"), "connection"),
    ],
)
def test_a_call_without_an_answer_is_retried(error: httpx.HTTPError, kind: str):
    found = transport_fault(error, (KEY,))
    assert (found.kind, found.remedy, found.status) == (kind, Remedy.RETRY, None)
    assert type(error).__name__ in found.detail


NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "30"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "30"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:07 GMT"}, 7.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:07 -0000"}, 7.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_the_wait_asked_for_is_read_milliseconds_first(headers: dict[str, str], seconds: float | None):
    assert retry_after_s(httpx.Headers(headers), NOW) == seconds


@given(st.text(max_size=60))
def test_no_retry_header_breaks_the_reading(value: str):
    wait = retry_after_s({"retry-after": value}, NOW)
    assert wait is None or 0 <= wait < float("inf")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"detail": "Not Found"}, "Not Found"),
        (
            {"detail": {"error_type": "api_usage_error", "message": "Unknown model: x"}},
            "api_usage_error: Unknown model: x",
        ),
        ({"detail": {"error_type": "max_tokens_exceeded"}}, "max_tokens_exceeded"),
        (
            {"detail": [{"type": "missing", "loc": ["body", "state"], "msg": "Field required"}, {"msg": "Again"}]},
            "body.state: Field required; Again",
        ),
        ({"error": "other"}, '{"error": "other"}'),
        (
            {"error": {"message": "Insufficient Balance", "type": "unknown_error", "param": None, "code": "x"}},
            "unknown_error: Insufficient Balance",
        ),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"},
            "overloaded_error: Overloaded",
        ),
        ({"error": {"code": 503, "message": "Busy", "status": "UNAVAILABLE"}}, "UNAVAILABLE: Busy"),
        ({"detail": None}, "null"),
        ([1], "1"),
    ],
)
def test_the_detail_is_read_in_each_of_its_shapes(body: object, detail: str):
    assert fault(400, json.dumps(body)).detail == detail


def test_a_long_detail_is_shortened_and_a_body_that_is_no_json_is_shown():
    assert len(fault(500, json.dumps({"detail": "x" * 10_000})).detail) == SHOWN_DETAIL
    assert fault(500, "upstream\n  died").detail == "upstream died"
    assert fault(502, HTML).detail == "an HTML page instead of JSON"


@given(st.one_of(st.text(), st.recursive(st.text() | st.none() | st.floats(), st.lists).map(json.dumps)))
def test_no_error_body_breaks_the_reading_and_every_detail_can_be_written(body: str):
    fault(500, body).detail.encode("utf-8")
    fault(500, '{"detail":"\\ud800"}').detail.encode("utf-8")
    fault(500, "[" * 100_000).detail.encode("utf-8")


@pytest.mark.parametrize(
    "echo",
    [
        f"Authorization: Bearer {KEY}",
        json.dumps({"detail": f"Bearer {KEY}"}),
        json.dumps({"detail": f"Bearer {KEY}"}).replace("/", "\\/"),
        "key=apikey_0%2F1%22secret",
        "<html>apikey_0/1&quot;secret</html>",
    ],
)
def test_an_echoed_key_is_removed_from_detail_text_and_body(echo: str):
    for found in (fault(500, echo), transport_fault(httpx.ReadError(echo), (KEY,))):
        for text in (found.detail, str(found), repr(found), found.body or HIDDEN):
            assert "secret" not in text
    assert HIDDEN in scrub(echo, (KEY,))


def test_a_key_too_short_to_be_one_takes_nothing_out_of_a_reply():
    reply = '{"choice":"test","p":0.1}'
    assert scrub(reply, ("test",)) == scrub(reply, ("1",)) == scrub(reply, ("",)) == reply
    for header in ("Bearer test", "x-api-key: test", "x-goog-api-key: test"):
        assert scrub(header, ("test",)) == HIDDEN
