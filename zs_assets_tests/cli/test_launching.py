"""`run --launch` refuses before it submits, and says after an interrupt what goes on."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy.exc import OperationalError
from typer.testing import CliRunner

from zs_assets.cli import launching, main
from zs_assets.cli.app import app
from zs_assets.components import launch
from zs_assets.protocol.errors import StudyError
from zs_assets_tests.components.launched import QUEUED, engine
from zs_assets_tests.small_study import write_small_study

RUN = ["run", "small", "--dataset", "first", "--launch"]


@pytest.fixture(autouse=True)
def small(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_small_study(tmp_path / "studies" / "small", backends=["uniform"], analyses={})
    monkeypatch.setenv("ZS_STUDIES", str(path.parent.parent))


def invoke() -> str:
    return CliRunner().invoke(app, RUN, catch_exceptions=False).output


def test_without_an_engine_there_is_nothing_to_submit_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder that is mistyped is not made."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "mistyped"))
    with pytest.raises(StudyError, match=r"mistyped holds no dagster.yaml.* set DAGSTER_HOME to the folder"):
        invoke()
    assert not (tmp_path / "mistyped").exists()


def test_a_lake_that_cannot_be_written_is_found_before_anything_is_submitted(monkeypatch: pytest.MonkeyPatch):
    with engine(QUEUED) as waiting:
        monkeypatch.setenv("ZS_LAKE", "/proc/no_such_folder/lake")
        with pytest.raises(StudyError, match=r"Nothing was submitted\. .*/proc/no_such_folder/lake"):
            invoke()
        assert waiting.get_runs() == []


def test_a_queue_that_no_daemon_empties_is_not_waited_at_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(launching, "DAEMON_WITHIN_S", 0.0)
    with engine(QUEUED) as waiting:
        with pytest.raises(StudyError, match=r"No daemon takes runs from the queue .* `dagster-daemon run`"):
            invoke()
        assert waiting.get_runs() == []


def test_an_interrupt_says_what_goes_on_and_how_to_follow_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(launching, "_wait_for_a_daemon", lambda instance: None)
    monkeypatch.setattr("sys.argv", ["/some/bin/zs-assets", *RUN])

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(launch, "sleep", interrupt)
    with engine(QUEUED) as waiting:
        result = CliRunner().invoke(app, RUN, catch_exceptions=False)
        (run,) = waiting.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED]))
    assert result.exit_code == launching.INTERRUPTED
    assert f"launched manifest           first run {run.run_id[:8]}" in result.output
    assert "follows them and submits the rest: zs-assets run small --dataset first --launch" in result.output


def test_a_database_that_is_gone_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def gone() -> None:
        raise OperationalError("select 1", {}, Exception("server closed the connection"))

    monkeypatch.setattr("zs_assets.cli.app", gone)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "`zs-assets doctor` says what is wrong" in capsys.readouterr().err
