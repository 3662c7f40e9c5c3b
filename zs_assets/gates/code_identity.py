"""The gate before the first call and before each write: a run is carried out by the code of whoever submitted it."""

from __future__ import annotations

from zs_assets.gates.verdict import Verdict
from zs_assets.protocol.names import Gate


def same_code(submitted: str | None, own: str) -> Verdict:
    """Whether a worker's code is that of the run.

    Parameters
    ----------
    submitted
        sha256 of the code that submitted the run; None where the run does not say (started by plain Dagster).
    own
        sha256 of the code that carries it out.
    """
    if submitted is None:
        sentence = f"the run does not say with which code it was submitted; this worker's is {own}"
        return Verdict(Gate.CODE_IDENTITY, True, True, sentence)
    if submitted == own:
        return Verdict(Gate.CODE_IDENTITY, True, True, f"submitted and carried out by code {own}")
    sentence = (
        f"the run was submitted by code {submitted} and this worker runs {own}: install the same zs-assets on both, "
        "restart the workers, and run again; nothing was asked or written"
    )
    return Verdict(Gate.CODE_IDENTITY, False, True, sentence, first_offenders=(own,))
