"""What every part of report.json is: a closed model of plain JSON values."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """Closed to fields it does not know, and to NaN and infinities, which are no JSON."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
