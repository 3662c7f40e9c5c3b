"""What a store raises: which failures may pass in a moment, and that a sentence holds no secret and stays readable."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from upath import UPath

from zs_assets.protocol.errors import StorageError
from zs_assets.storage.object_store import create_once, object_bytes, object_names, put_object, store_path
from zs_assets.storage.store_failures import StoreUnreachable, clear_failures, shown


class Failing(BaseHTTPRequestHandler):
    """Answers every request with the status and the body of its server."""

    protocol_version = "HTTP/1.1"  # answers Expect: 100-continue
    status = 500
    body = b""

    def _fail(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(self.status)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else self.body)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _fail

    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[UPath]:
    """A path on an S3 that fails; botocore's own tries, some seconds of them, are switched off."""
    pytest.importorskip("s3fs", reason="needs the extra s3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret-of-the-store")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield type(store_path("s3://bucket/x"))(
        "s3://bucket/x",
        endpoint_url=f"http://127.0.0.1:{server.server_port}",
        config_kwargs={"retries": {"max_attempts": 0}},
        skip_instance_cache=True,
    )
    server.shutdown()
    server.server_close()


def answers(monkeypatch: pytest.MonkeyPatch, status: int, code: str) -> None:
    monkeypatch.setattr(Failing, "status", status)
    body = f"<Error><Code>{code}</Code><Message>Please come back.</Message></Error>".encode()
    monkeypatch.setattr(Failing, "body", body if code else b"<html>Bad gateway</html>")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (429, "TooManyRequests"),
        (409, "ConditionalRequestConflict"),
        (502, ""),  # a proxy before the store
    ],
)
def test_a_store_that_fails_itself_may_answer_in_a_moment(failing: UPath, monkeypatch, status: int, code: str):
    answers(monkeypatch, status, code)
    for asked in (lambda: put_object(failing, b"1"), lambda: create_once(failing, b"1"), lambda: object_bytes(failing)):
        with pytest.raises(StoreUnreachable, match=rf"s3://bucket/x: the store fails with status {status} \(.+\)"):
            asked()
    with pytest.raises(StoreUnreachable):
        object_names(failing)


@pytest.mark.parametrize(("status", "code"), [(403, "AccessDenied"), (501, "NotImplemented"), (400, "InvalidRequest")])
def test_what_another_try_would_not_mend_is_no_silence(failing: UPath, monkeypatch, status: int, code: str):
    answers(monkeypatch, status, code)
    with pytest.raises(StorageError) as said:
        put_object(failing, b"1")
    assert not isinstance(said.value, StoreUnreachable)


class Refused(Exception):
    """As gcsfs and Azure's library raise: a status of their own."""

    def __init__(self, **status: int):
        super().__init__("no")
        vars(self).update(status)


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (Refused(code=503), True),
        (Refused(status_code=429), True),
        (Refused(status=404), False),
        (asyncio.TimeoutError(), True),
        (ConnectionResetError(), True),
        (ValueError("no"), False),
    ],
)
def test_other_stores_failures_are_told_apart_too(error: Exception, passes: bool):
    with pytest.raises(StorageError) as said, clear_failures("gs://bucket/x", "read"):
        raise error
    assert isinstance(said.value, StoreUnreachable) is passes


def test_a_key_of_few_characters_does_not_garble_the_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "0123456789abcdef")
    with pytest.raises(StorageError) as said, clear_failures("s3://lake/x", "read"):
        raise RuntimeError("Please reduce what 0123456789abcdef asks")
    assert "Please reduce what *** asks" in str(said.value)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("s3://KEYID:plain@bucket/prefix", "s3://bucket/prefix"),
        ("s3://KEYID:wJalr/XUtn/bPx@bucket/prefix", "s3://bucket/prefix"),
        ("abfs://container@account.example/zs", "abfs://account.example/zs"),
        ("/data/lake", "/data/lake"),
    ],
)
def test_an_address_is_shown_without_its_password_whatever_it_holds(address: str, said: str):
    assert shown(address) == said
