"""Serves a stand-in on loopback: `python -m zs_assets.emulator.server --profile jev --port 0`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from zs_assets.emulator.profiles import PROFILES
from zs_assets.protocol.errors import BackendUnavailable

KEY_VARIABLE = "ZS_EMULATOR_KEY"
"""Stands in for --key where the list of processes must not show it."""


class LocalServer:
    """A stand-in in a process of its own, on a free loopback port. Use as a context manager.

    It ends with this process, however that ends: it watches its standard input.
    """

    def __init__(
        self,
        profile: str = "jev",
        *,
        seed: int = 0,
        key: str | None = None,
        faults: Iterable[Mapping[str, Any]] = (),
        precomputed: bool = False,
    ):
        self._arguments = ["--profile", profile, "--seed", str(seed), "--faults", json.dumps(list(faults))]
        self._arguments += ["--precomputed"] if precomputed else []
        self._key = key
        self.url = ""

    def __enter__(self) -> LocalServer:
        if not (find_spec("starlette") and find_spec("uvicorn")):
            raise BackendUnavailable("The local stand-in needs the emulator extra: pip install 'zs-assets[emulator]'.")
        command = [sys.executable, "-m", "zs_assets.emulator.server", "--port", "0", "--until-input-ends"]
        environment = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
        if self._key is not None:
            environment[KEY_VARIABLE] = self._key
        self._process = subprocess.Popen(
            [*command, *self._arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.__exit__(None, None, None)
            raise BackendUnavailable("The local stand-in did not start: its own message, above, says why.")
        self.url = json.loads(line)["url"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def stats(self) -> dict[str, Any]:
        """Requests and replies so far, in total, by text and by sha256 of the body."""
        return json.loads(self._call("stats"))

    def bodies(self) -> list[str]:
        """The last requests' bodies as received, since the faults were set; label-only stand-ins only."""
        return json.loads(self._call("bodies"))

    def set_faults(self, rules: Iterable[Mapping[str, Any]]) -> None:
        """Replaces the fault script; counts begin anew."""
        self._call("faults", json.dumps(list(rules)).encode())

    def _call(self, name: str, body: bytes | None = None) -> bytes:
        # A proxy of the environment is not for loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(f"{self.url}/_emulator/{name}", data=body), timeout=30) as response:
            return response.read()


def main() -> None:
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.precomputed and PROFILES[arguments.profile].wire != "systemone":
        parser.error("--precomputed works with System One profiles only")
    key = arguments.key or os.environ.get(KEY_VARIABLE)
    profile = PROFILES[arguments.profile]
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", arguments.port))
    listener.listen(1024)  # before the address is told: whoever reads it may connect at once

    if arguments.precomputed:
        from zs_assets.emulator.precomputed import PrecomputedReplies, serve_precomputed

        serving = serve_precomputed(PrecomputedReplies(profile, arguments.seed, key), listener)
    elif profile.wire == "systemone":
        from zs_assets.emulator.app import create_app

        serving = _serve(create_app(profile, seed=arguments.seed, key=key, faults=arguments.faults), listener)
    else:
        from zs_assets.emulator.label_app import create_label_app

        serving = _serve(create_label_app(profile, seed=arguments.seed, key=key, faults=arguments.faults), listener)
    if arguments.until_input_ends:
        threading.Thread(target=_exit_when_input_ends, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
    asyncio.run(serving)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Serve the local stand-in of a hosted system on loopback.")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="jev")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--key", help=f"the only key accepted (or {KEY_VARIABLE}); without it every request is")
    parser.add_argument("--faults", default="[]", type=_rules, help="JSON list of rules, as in emulator/faults.py")
    parser.add_argument("--precomputed", action="store_true", help="one fixed reply per label set, for benchmarks")
    parser.add_argument("--until-input-ends", action="store_true", help="stop when standard input is closed")
    return parser


def _rules(text: str) -> list[dict[str, Any]]:
    from zs_assets.emulator.faults import parse_rules

    try:
        rules = json.loads(text)
        parse_rules(rules)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return rules


async def _serve(app: Any, listener: socket.socket) -> None:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from zs_assets.emulator.app import TRANSPORT

    class DroppableProtocol(H11Protocol):
        """Hands its connection to the application, which may abort it."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            inner = self.app

            async def app(scope: Any, receive: Any, send: Any) -> None:
                scope.setdefault("extensions", {})[TRANSPORT] = transport
                await inner(scope, receive, send)

            self.app = app

    config = uvicorn.Config(
        app,
        log_level="critical",
        log_config=None,
        http=DroppableProtocol,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    await uvicorn.Server(config).serve(sockets=[listener])


def _exit_when_input_ends() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
