"""`zs-assets emulate`: local stand-ins to try things on."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from zs_assets.cli.app import app, err, out
from zs_assets.protocol.errors import StudyError


@app.command()
def emulate(
    systems: Annotated[list[str] | None, typer.Argument(help="Systems to stand in for; none: all of them.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed decides otherwise.")] = 0,
    key: Annotated[str | None, typer.Option(help="The only key accepted; none: any.")] = None,
) -> None:
    """Serve local stand-ins of hosted systems on loopback until interrupted; prints where they are."""
    from zs_assets.backends.systems import known_systems
    from zs_assets.emulator.profiles import PROFILES
    from zs_assets.emulator.server import LocalServer

    names = systems or list(PROFILES)
    for name in names:
        if name not in PROFILES:
            raise StudyError(f"There is no stand-in '{name}': use one of {', '.join(PROFILES)}.")
    known = known_systems()
    with LocalServer(names, seed=seed, key=key) as server:
        for name, url in server.urls.items():
            variable = known[name].base_url_env if name in known else None
            out.print(f"{name}: {url}" + (f"   export {variable}={url}" if variable else ""), soft_wrap=True)
        err.print("Stand-ins: nothing they answer is a result. Interrupt to stop.")
        while True:
            time.sleep(3600)
