"""The gate before the first call and before each write: a run is carried out by the code of whoever submitted it."""

from __future__ import annotations

from collections.abc import Mapping

from zs_assets.gates.verdict import Verdict, first
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


SHOWN_DIGITS = 12


def one_code(made_by: Mapping[str, str]) -> Verdict:
    """Whether one code made all tables that a report reads; a warning, since an upgrade in mid-study is no error.

    Parameters
    ----------
    made_by
        Each table's name -> sha256 of the code that made it. Tables of before it was recorded are left out.
    """
    tables: dict[str, list[str]] = {}
    for table, code in made_by.items():
        tables.setdefault(code, []).append(table)
    if len(tables) < 2:
        return Verdict(Gate.CODE_IDENTITY, True, False, f"made by code {', '.join(tables) or 'that is not recorded'}")
    parts = [f"{code[:SHOWN_DIGITS]} made {_some(names)}" for code, names in tables.items()]
    sentence = f"the tables of this study were made by {len(tables)} different codes: {'; '.join(parts)}"
    return Verdict(Gate.CODE_IDENTITY, False, False, sentence, first_offenders=first(tables))


def _some(names: list[str]) -> str:
    shown = first(names)
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
