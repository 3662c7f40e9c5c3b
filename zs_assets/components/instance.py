"""The Dagster instance of this installation: the user's DAGSTER_HOME, or one under ZS_HOME."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import dagster as dg
from sqlalchemy.exc import SQLAlchemyError  # of dagster's own requirements

from zs_assets.protocol.errors import StorageError
from zs_assets.storage.places import Places


def is_database_fault(error: BaseException) -> bool:
    """Whether an instance's database did not answer, or refused: as SQLAlchemy says it, or dagster-postgres."""
    return isinstance(error, SQLAlchemyError) or type(error).__name__ == "DagsterPostgresException"


def dagster_instance() -> dg.DagsterInstance:
    """Opens (and on first use creates) the instance that the UI of the same environment shows."""
    home = Path(os.environ.get("DAGSTER_HOME") or Places.from_environment().dagster_home).absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
        config = home / "dagster.yaml"
        if not config.exists():
            shutil.copyfile(Path(__file__).with_name("dagster.yaml"), config)
    except OSError as error:
        raise StorageError(
            f"Cannot write {home}: {error.strerror}. Set ZS_HOME (or DAGSTER_HOME) to a folder you may write."
        ) from None
    os.environ["DAGSTER_HOME"] = str(home)
    return dg.DagsterInstance.get()
