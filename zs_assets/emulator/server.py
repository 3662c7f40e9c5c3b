"""Serves stand-ins on loopback, each on a port of its own: `python -m zs_assets.emulator.server --profile all`.

One process serves them all with one model, and prints a line for each: its name and its base URL.
"""

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
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from zs_assets.emulator.disturbances import NAMES
from zs_assets.emulator.profiles import LABEL_ONLY, PROFILES
from zs_assets.protocol.errors import BackendUnavailable

KEY_VARIABLE = "ZS_EMULATOR_KEY"
"""Stands in for --key where the list of processes must not show it."""


class LocalServer:
    """Stand-ins in a process of their own, on free loopback ports. Use as a context manager.

    `urls` gives the base URL of each profile, `url` that of the first. The process ends with this one, however that
    ends: it watches its standard input. Raises BackendUnavailable where it cannot start.
    """

    def __init__(
        self,
        profiles: str | Sequence[str] = "jev",
        *,
        seed: int = 0,
        key: str | None = None,
        faults: Iterable[Mapping[str, Any]] = (),
        precomputed: bool = False,
        disturbances: Iterable[str] = (),
    ):
        self._names = [profiles] if isinstance(profiles, str) else list(profiles)
        self._arguments = ["--profile", *self._names, "--seed", str(seed), "--faults", json.dumps(list(faults))]
        self._arguments += ["--disturbances", *disturbances]
        self._arguments += ["--precomputed"] if precomputed else []
        self._key = key
        self.url = ""
        self.urls: dict[str, str] = {}

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
        for _ in self._names:
            name, _, url = self._process.stdout.readline().strip().partition(" ")
            if not url:
                self.__exit__(None, None, None)
                raise BackendUnavailable("The local stand-in did not start: its own message, above, says why.")
            self.urls[name] = url
        self.url = self.urls[self._names[0]]
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

    def stats(self, profile: str | None = None) -> dict[str, Any]:
        """Requests and replies so far, in total, by text and by sha256 of the body; of the first profile, or of one."""
        return json.loads(self._call("stats", profile))

    def bodies(self, profile: str | None = None) -> list[str]:
        """The last requests' bodies as received, since the faults were set; label-only stand-ins only."""
        return json.loads(self._call("bodies", profile))

    def set_faults(self, rules: Iterable[Mapping[str, Any]], profile: str | None = None) -> None:
        """Replaces the fault script; counts begin anew."""
        self._call("faults", profile, json.dumps(list(rules)).encode())

    def _call(self, name: str, profile: str | None, body: bytes | None = None) -> bytes:
        # A proxy of the environment is not for loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        address = f"{self.url if profile is None else self.urls[profile]}/_emulator/{name}"
        with opener.open(urllib.request.Request(address, data=body), timeout=30) as response:
            return response.read()


def main() -> None:
    parser = _parser()
    arguments = parser.parse_args()
    names = list(PROFILES) if "all" in arguments.profile else list(dict.fromkeys(arguments.profile))
    if arguments.precomputed and (len(names) > 1 or PROFILES[names[0]].wire != "systemone"):
        parser.error("--precomputed works with System One profiles only, one at a time")
    key = arguments.key or os.environ.get(KEY_VARIABLE)
    # Listening before the address is told: whoever reads it may connect at once.
    listeners = [_listener(arguments.port + at if arguments.port else 0) for at in range(len(names))]
    if arguments.precomputed:
        from zs_assets.emulator.precomputed import PrecomputedReplies, serve_precomputed

        replies = PrecomputedReplies(PROFILES[names[0]], arguments.seed, key)
        serving = serve_precomputed(replies, listeners[0])
    else:
        try:
            apps = stand_ins(names, arguments.seed, key, arguments.faults, arguments.disturbances)
        except ValueError as error:  # a fault that one of them cannot play
            parser.error(str(error))
        ports = [listener.getsockname()[1] for listener in listeners]
        serving = _serve(by_port(dict(zip(ports, apps, strict=True))), listeners)
    if arguments.until_input_ends:
        threading.Thread(target=_exit_when_input_ends, daemon=True).start()
    for name, listener in zip(names, listeners, strict=True):
        print(f"{name} http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    asyncio.run(serving)


def stand_ins(
    names: Sequence[str],
    seed: int = 0,
    key: str | None = None,
    faults: Sequence[Mapping[str, Any]] = (),
    disturbances: Sequence[str] = (),
) -> list[Any]:
    """The ASGI applications of some profiles, with one model among them."""
    from zs_assets.emulator.app import create_app
    from zs_assets.emulator.decider import EmbeddedModel
    from zs_assets.emulator.label_app import create_label_app

    model = EmbeddedModel()
    apps: list[Any] = []
    for name in names:
        create = create_label_app if PROFILES[name].wire in LABEL_ONLY else create_app
        apps.append(create(PROFILES[name], seed=seed, key=key, faults=faults, model=model, disturbances=disturbances))
    return apps


def by_port(apps: Mapping[int, Any]) -> Any:
    """One ASGI application that answers as the stand-in whose port was called.

    Ports and not path prefixes: a base URL with a path is not what the vendors' clients are given.
    """

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await apps[scope["server"][1]](scope, receive, send)

    return app


def _listener(port: int) -> socket.socket:
    # asyncio sets TCP_NODELAY only where the protocol is named; without it each reply waits 40 ms to be acknowledged.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(1024)
    return listener


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Serve the local stand-in of a hosted system on loopback.")
    parser.add_argument("--profile", nargs="+", choices=[*sorted(PROFILES), "all"], default=["jev"], metavar="NAME")
    parser.add_argument("--port", type=int, default=0, help="of the first, the others follow; 0: free ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--key", help=f"the only key accepted (or {KEY_VARIABLE}); without it every request is")
    parser.add_argument("--faults", default="[]", type=_rules, help="JSON list of rules, as in emulator/faults.py")
    parser.add_argument("--disturbances", nargs="*", choices=NAMES, default=[], help="off unless named")
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


async def _serve(app: Any, listeners: list[socket.socket]) -> None:
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
    await uvicorn.Server(config).serve(sockets=listeners)


def _exit_when_input_ends() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
