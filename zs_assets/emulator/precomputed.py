"""Replies from a cache, one for each label set: a server fast enough that a benchmark measures the client.

Bare HTTP/1.1 over asyncio. The first request of a label set is checked and answered like any other; later ones get the
same bytes whatever their text.
"""

from __future__ import annotations

import asyncio
import json
import socket

from zs_assets.emulator.app import reply_body
from zs_assets.emulator.decider import Decider
from zs_assets.emulator.profile import Profile
from zs_assets.emulator.request_checks import Rejected, check_auth, check_request


class PrecomputedReplies:
    """Answers by what follows the last `"questions"` of a body."""

    def __init__(self, profile: Profile, seed: int, key: str | None):
        self._profile = profile
        self._key = key
        self._decider = Decider(profile, seed)
        self._known: dict[bytes, bytes] = {}
        self.requests = 0

    def answer(self, head: bytes, body: bytes) -> bytes:
        """The whole response to one request."""
        if head.startswith(b"GET /_emulator/stats "):
            return _response(200, {"requests": self.requests, "replies": self.requests})
        self.requests += 1
        label_set = body[body.rfind(b'"questions"') :]
        known = self._known.get(label_set)
        if known is not None:
            return known
        try:
            check_auth(_header(head, b"authorization"), self._key)
            asked = check_request(body, _header(head, b"content-encoding"), self._profile)
        except Rejected as rejected:
            return _response(rejected.status, {"detail": rejected.detail})
        response = self._known[label_set] = _response(200, reply_body(asked, self._decider, self._profile))
        return response


class _Connection(asyncio.Protocol):
    def __init__(self, replies: PrecomputedReplies):
        self._replies = replies
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head, start = self._received[:end], end + 4
            stop = start + int(_header(head, b"content-length") or 0)
            if len(self._received) < stop:
                return
            body, self._received = self._received[start:stop], self._received[stop:]
            self._transport.write(self._replies.answer(head, body))


async def serve_precomputed(replies: PrecomputedReplies, listener: socket.socket) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(replies), sock=listener)
    await server.serve_forever()


def _header(head: bytes, name: bytes) -> str | None:
    at = head.lower().find(b"\r\n" + name + b":")
    if at < 0:
        return None
    line = head[at + len(name) + 3 :].split(b"\r\n", 1)[0]
    return line.strip().decode("latin-1")


def _response(status: int, value: object) -> bytes:
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    head = (
        f"HTTP/1.1 {status} Precomputed\r\ncontent-type: application/json\r\n"
        f"x-typesafe-request-id: req_{0:032x}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
