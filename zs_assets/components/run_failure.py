"""Why a run failed, in one sentence: from its events, whoever carried it out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg
from dagster import DagsterEvent, DagsterEventType
from dagster._utils.error import SerializableErrorInfo

from zs_assets.assets.predictions_assets import UNAVAILABLE
from zs_assets.protocol.errors import CollectionStopped, ZsAssetsError

TELLING_EVENTS = {
    DagsterEventType.STEP_FAILURE,
    DagsterEventType.ASSET_CHECK_EVALUATION,
    DagsterEventType.ENGINE_EVENT,
    DagsterEventType.RUN_FAILURE,
}
"""Kinds of event that a failure is read from."""


@dataclass(frozen=True)
class RunFailure:
    """The sentence, and the class of the error where it is one of ours.

    `is_unavailable`: whoever carried it out lacks a key, an extra or a file, and asked nothing.
    """

    sentence: str
    kind: str = ""
    is_unavailable: bool = False

    @property
    def stops_backend(self) -> bool:
        """A wrong key, a quota, a budget: another dataset would meet it again."""
        return self.kind == CollectionStopped.__name__


def run_failure(events: Iterable[DagsterEvent]) -> RunFailure:
    """The first failed step's reason: a gate's, an error of ours, or the exception's last line.

    Where no step failed: the gate that did, what kept whoever should carry it out from beginning, or what was said when
    the run was given up (a lost worker).
    """
    events = list(events)
    for event in events:
        if event.is_step_failure:
            data = event.step_failure_data
            error = _own_or_innermost(data.error)
            kind = (error.cls_name or "") if error is not None else ""
            if data.user_failure_data is not None and data.user_failure_data.description:
                said = data.user_failure_data
                return RunFailure(said.description or "", kind, UNAVAILABLE in said.metadata)
            if error is not None:
                return RunFailure(_sentence(error), kind)
    for event in events:
        if event.event_type is DagsterEventType.ASSET_CHECK_EVALUATION:
            check = event.asset_check_evaluation_data
            if not check.passed and check.blocking and "verdict" in check.metadata:
                return RunFailure(f"gate {check.check_name}: {check.metadata['verdict'].value}")
    for event in events:
        if event.event_type is DagsterEventType.ENGINE_EVENT:
            error = _own_or_innermost(getattr(event.event_specific_data, "error", None))
            if error is not None:
                return RunFailure(_engine_sentence(error), error.cls_name or "")
    for event in events:
        if event.event_type is DagsterEventType.RUN_FAILURE:
            # A run that was given up from outside has a message and no data.
            error = _own_or_innermost(getattr(event.event_specific_data, "error", None))
            if error is not None:
                return RunFailure(_sentence(error), error.cls_name or "")
            if event.message:
                return RunFailure(event.message.strip())
    return RunFailure("the run failed without saying why; see it in the Dagster UI")


def error_sentence(error: SerializableErrorInfo) -> str:
    """What an error says in one sentence: our own in its chain, else the first cause."""
    found = _own_or_innermost(error) or error
    return _sentence(found)


def failure_reason(result: dg.ExecuteInProcessResult) -> str:
    """The sentence of a run of this process."""
    return run_failure(result.all_events).sentence


def _engine_sentence(error: SerializableErrorInfo) -> str:
    """Why a run could not begin."""
    if error.cls_name == dg.DagsterInvalidSubsetError.__name__:
        return (
            "whoever carries out the run does not have this study as it is here: set ZS_STUDIES alike for daemon, "
            "webserver, workers and this command, then restart them"
        )
    return f"the engine could not carry out the run: {_sentence(error)}"


def _sentence(error: SerializableErrorInfo) -> str:
    # Dagster prints a class with its path: `zs_assets.protocol.errors.SourceError: the sentence`.
    return error.message.strip().removeprefix(f"{ZsAssetsError.__module__}.{error.cls_name}: ")


def _own_or_innermost(error: SerializableErrorInfo | None) -> SerializableErrorInfo | None:
    """The first error of ours in the chain, since its sentence names the fix; else what was raised first."""
    own = {kind.__name__ for kind in (ZsAssetsError, *_kinds_of(ZsAssetsError))}
    while error is not None and error.cls_name not in own and error.cause is not None:
        error = error.cause
    return error


def _kinds_of(kind: type) -> list[type]:
    direct: list[type] = kind.__subclasses__()
    return [found for child in direct for found in (child, *_kinds_of(child))]
