"""What a Celery worker answers when `zs-assets doctor` asks which code it runs.

Named in worker.yaml under `imports`, so that a worker loads it when it starts: its processes inherit the hash of that
moment, whatever is installed later.
"""

from __future__ import annotations

from typing import Any

from celery.worker.control import inspect_command

from zs_assets.protocol.code_identity import WORKER_COMMAND, code_identity


@inspect_command(name=WORKER_COMMAND)
def report_code(state: Any) -> dict[str, str]:
    """Version and hash of this worker's code."""
    return dict(vars(code_identity()))
