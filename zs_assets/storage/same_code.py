"""Nothing is written by a run that other code submitted: a study's tables would be of two codes, unnoticed."""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from zs_assets.gates.code_identity import same_code
from zs_assets.protocol.code_identity import CODE_TAG, code_identity


def refuse_other_code(run_tags: Mapping[str, str], written: str) -> None:
    """Asked before each write; costs a comparison, since the process knows its hash since it started.

    Parameters
    ----------
    run_tags
        Of the run that is to write.
    written
        What it is to write, for the sentence.

    Raises
    ------
    dagster.Failure
        The run says that another code submitted it. It is not tried again: the same worker would refuse again.
    """
    verdict = same_code(run_tags.get(CODE_TAG), code_identity().code_sha256)
    if verdict.stops:
        raise dg.Failure(
            f"{written} failed gate {verdict.gate.value}: {verdict.sentence}.",
            metadata={"gate": verdict.gate.value, "first_offenders": list(verdict.first_offenders)},
            allow_retries=False,
        )
