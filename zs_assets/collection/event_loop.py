"""An event loop of collection's own, wherever it is called from."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Runs an event loop here, or in a thread where one already runs: notebooks and some run launchers have one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1, thread_name_prefix="collection") as pool:
        pool.submit(asyncio.run, work).result()
