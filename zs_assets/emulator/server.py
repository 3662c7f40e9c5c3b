"""Serves a stand-in on loopback: `python -m zs_assets.emulator.server --profile jev --port 0`."""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import urllib.request
from types import TracebackType
from typing import Any

from zs_assets.emulator.profiles import PROFILES


class LocalServer:
    """A stand-in in a process of its own, on a free loopback port. Use as a context manager."""

    def __init__(
        self, profile: str = "jev", *, seed: int = 0, key: str | None = None, faults: list[dict[str, Any]] | None = None
    ):
        self._arguments = ["--profile", profile, "--seed", str(seed), "--faults", json.dumps(faults or [])]
        if key is not None:
            self._arguments += ["--key", key]
        self.url = ""

    def __enter__(self) -> LocalServer:
        command = [sys.executable, "-m", "zs_assets.emulator.server", "--port", "0", *self._arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The stand-in did not start; its own message says why.")
        self.url = json.loads(line)["url"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def stats(self) -> dict[str, Any]:
        """Requests and replies so far, in total and by text."""
        with urllib.request.urlopen(f"{self.url}/_emulator/stats") as response:
            return json.load(response)

    def set_faults(self, rules: list[dict[str, Any]]) -> None:
        """Replaces the fault script; counts begin anew."""
        request = urllib.request.Request(f"{self.url}/_emulator/faults", data=json.dumps(rules).encode(), method="POST")
        urllib.request.urlopen(request).close()


def main() -> None:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from zs_assets.emulator.app import create_app

    class DroppableProtocol(H11Protocol):
        """Lets the application abort its connection, for the fault dropped_connection."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            inner = self.app

            async def app(scope: Any, receive: Any, send: Any) -> None:
                scope.setdefault("extensions", {})["zs_assets.transport"] = transport
                await inner(scope, receive, send)

            self.app = app

    parser = argparse.ArgumentParser(description="Serve the local stand-in of a hosted system on loopback.")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="jev")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--key", help="the only key accepted; without it every request is")
    parser.add_argument("--faults", default="[]", help="JSON list of rules, as in emulator/faults.py")
    arguments = parser.parse_args()

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", arguments.port))
    listener.listen(128)  # before the address is announced, so that no first call is refused
    app = create_app(
        PROFILES[arguments.profile], seed=arguments.seed, key=arguments.key, faults=json.loads(arguments.faults)
    )
    config = uvicorn.Config(app, log_level="critical", http=DroppableProtocol, access_log=False)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
