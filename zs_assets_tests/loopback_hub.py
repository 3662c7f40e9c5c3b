"""A Hugging Face Hub on loopback: the real client downloads from it, so no test patches the loader.

Serves a folder laid out as `datasets/<repo>/<revision>/<path>` under the Hub's own addresses,
`/datasets/<repo>/resolve/<revision>/<path>`. Point `HF_ENDPOINT` at `.url`.
"""

from __future__ import annotations

import hashlib
import re
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

# The client reads HF_HUB_OFFLINE once, at import: here, before any test sets it for itself.
import huggingface_hub.constants  # noqa: F401

_RESOLVE = re.compile(r"/datasets/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


class LoopbackHub:
    """Context manager: a Hub that serves `root` while it is open and remembers what it was asked.

    Attributes
    ----------
    url
        `http://127.0.0.1:<free port>`, for `HF_ENDPOINT`.
    requests
        (method, path) of every request so far.
    """

    def __init__(self, root: Path) -> None:
        self.requests: list[tuple[str, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(root.resolve(), self.requests))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> LoopbackHub:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(root: Path, requests: list[tuple[str, str]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # the client keeps its connection, as it does with the Hub

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, with_body: bool) -> None:
            address = unquote(urlsplit(self.path).path)
            requests.append((self.command, address))
            asked = _RESOLVE.fullmatch(address)
            if asked is None:  # the client also asks for things a file server has no answer to
                self._refuse("")
                return
            folder = root / "datasets" / asked["repo"] / asked["revision"]
            file = (folder / asked["path"]).resolve()
            if not folder.is_dir():
                self._refuse("RevisionNotFound" if folder.parent.is_dir() else "RepoNotFound")
            elif not (file.is_file() and file.is_relative_to(root)):
                self._refuse("EntryNotFound")
            else:
                self._give(file.read_bytes(), asked["revision"], with_body)

        def _give(self, body: bytes, revision: str, with_body: bool) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", revision)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def _refuse(self, code: str) -> None:
            self.send_response(HTTPStatus.NOT_FOUND)
            self.send_header("Content-Length", "0")
            if code:
                self.send_header("X-Error-Code", code)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet: the requests are in `requests`."""

    return Handler
