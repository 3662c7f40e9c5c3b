"""`zs-assets`: a thin front over Dagster. Every command says what it did in plain words and exits 0 only if it did it.

Exit codes: 0 done, 1 something failed or is refused, 2 wrong usage, 3 a backend that was asked for cannot run here,
130 stopped by the user.
"""

from __future__ import annotations

import sys
import warnings

from zs_assets.cli import deployment, installation, order_checks, own_texts, saved_runs, stand_ins, studies
from zs_assets.cli.app import app, err
from zs_assets.protocol.errors import ZsAssetsError

__all__ = [
    "app",
    "deployment",
    "installation",
    "main",
    "order_checks",
    "own_texts",
    "saved_runs",
    "stand_ins",
    "studies",
]


def main() -> None:
    """Entry point: errors of ours are one sentence and exit code 1, an interrupt is 130."""
    warnings.filterwarnings("ignore", module="dagster")
    try:
        app()
    except ZsAssetsError as error:
        err.print(f"[red]error[/] {error}", highlight=False, soft_wrap=True)
        sys.exit(1)
    except Exception as error:
        if not _is_database_fault(error):
            raise
        sentence = "The database of the Dagster instance is gone: `zs-assets doctor` says what is wrong with it."
        err.print(f"[red]error[/] {sentence} Nothing that was received is lost.", highlight=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("stopped; what was received is in the journal, the same command goes on from there")
        sys.exit(130)


def _is_database_fault(error: Exception) -> bool:
    """Dagster would print pages of it."""
    from zs_assets.components.instance import is_database_fault

    return is_database_fault(error)
