"""Profiles: how one system's stand-in behaves on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Profile:
    """One hosted system as its clients see it.

    `aliases` maps what may be sent to what answers; `decimals` rounds after the confidence is computed; `position_bias`
    is the probability mass that moves to whatever option stands first.
    """

    name: str
    path: str = "/v1/systemone"
    aliases: Mapping[str, str] = field(default_factory=dict)
    decimals: int | None = 2
    option_cap: int = 255
    total_token_cap: int = 65_536
    question_token_cap: int = 32_768
    position_bias: float = 0.05
    shuffles_keys: bool = True


JEV = Profile(
    name="jev",
    aliases={
        "jev-latest": "jev-1.13.0",
        "jev-preview": "jev-1.14.0",
        "jev-1.13.0": "jev-1.13.0",
        "jev-1.14.0": "jev-1.14.0",
    },
)

PROFILES = {profile.name: profile for profile in (JEV,)}
