"""What a Celery worker answers when `zs-assets doctor` asks it: its code, its lake and its studies.

Named in worker.yaml under `imports`, so that a worker loads it when it starts: its processes inherit the code and the
hash of that moment, whatever is installed later. Lake and studies are those of the moment it is asked, since each run
reads them anew.
"""

from __future__ import annotations

from typing import Any

from celery.signals import worker_init
from celery.worker.control import inspect_command

from zs_assets.components.worker_check import worker_report
from zs_assets.protocol.code_identity import WORKER_COMMAND, load_own_modules


@inspect_command(name=WORKER_COMMAND)
def report_code(state: Any) -> dict[str, Any]:
    """Version and hash of this worker's code; its lake without credentials; its studies by name with a hash each."""
    return worker_report()


@worker_init.connect
def read_the_code(**_: Any) -> None:
    """Before the worker's processes begin: a module read with the first task could be of code installed since."""
    load_own_modules()
