"""A server on this machine that speaks one wire and does what a text asks for: `fault=429` in it is answered so."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from zs_assets_tests.backends.wires import Wire

SLEEP_S = 1.0
"""How long a call with fault=timeout is left waiting."""
_FAULT = re.compile(r"fault=(\w+)")
ONCE = "_once"
"""A fault with this end strikes the first call of its text alone."""


_ServerT = TypeVar("_ServerT", bound="WireServer")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64  # with the default of 5, connections opened at once wait a second


class WireServer:
    """`texts` counts calls by text, `paths` by address, `headers` are those of the last call."""

    def __init__(self, wire: Wire):
        self.wire = wire
        self.texts: Counter[str] = Counter()
        self.paths: Counter[str] = Counter()
        self.headers: dict[str, str] = {}
        handler = type("Handler", (_Handler,), {"teller": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self: _ServerT) -> _ServerT:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def good(self, request: dict[str, Any]) -> dict[str, Any]:
        """0.7 for the option sent first, the rest spread; the keys come back in another order than they were sent."""
        options = self.wire.options(request)
        share = 0.3 / max(len(options) - 1, 1)
        return self.wire.reply({name: 0.7 if name == options[0] else share for name in reversed(options)}, options[0])


class _Handler(BaseHTTPRequestHandler):
    teller: WireServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        return None

    def do_GET(self) -> None:
        self._send(200, json.dumps({"runs": "a-run", "seen": dict(self.headers)}))

    def do_POST(self) -> None:
        teller = self.teller
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = teller.wire.text(request)
        teller.texts[text] += 1
        teller.paths[self.path] += 1
        teller.headers = {name.lower(): value for name, value in self.headers.items()}
        found = _FAULT.search(text)
        fault = found[1] if found else ""
        if fault.endswith(ONCE):
            fault = fault.removesuffix(ONCE) if teller.texts[text] == 1 else ""
        self._answer(fault, teller.good(request))

    def _answer(self, fault: str, body: dict[str, Any]) -> None:
        if fault == "timeout":
            time.sleep(SLEEP_S)
        if fault in ("timeout", "dropped"):
            self.close_connection = True
            return
        if fault == "html_403":
            self._send(403, "<!DOCTYPE html><html>Attention required</html>", "text/html")
        elif fault in ("json_403", "echo_key") or fault.isdigit():
            status = 500 if fault == "echo_key" else int(fault.removeprefix("json_"))
            self._send(status, json.dumps({"detail": f"headers were {dict(self.headers)}"}))
        elif fault == "echo_in_reply":
            self._send(200, json.dumps({**body, "debug": dict(self.headers)}))
        else:
            self._send(200, self.teller.wire.broken(body, fault) if fault else json.dumps(body))

    def _send(self, status: int, text: str, kind: str = "application/json") -> None:
        payload = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)
