"""Profiles: how one system's stand-in behaves on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Profile:
    """One hosted system as its clients see it. `wire` names its family of requests and replies.

    `aliases` maps what may be sent to what answers; `decimals` rounds after the confidence is computed; `sharpness` is
    the power a probability is raised to (such systems answer near 0 and 1); `position_bias` is the probability mass
    that moves to whatever option stands first; `repeat_noise` is the standard deviation added to each probability when
    a request comes again, 0 for none.
    """

    name: str
    wire: str = "systemone"
    path: str = "/v1/systemone"
    aliases: Mapping[str, str] = field(default_factory=dict)
    decimals: int | None = 2
    option_cap: int = 255
    level_cap: int = 10
    total_token_cap: int = 65_536
    question_token_cap: int = 32_768
    sharpness: float = 2.0
    position_bias: float = 0.05
    repeat_noise: float = 0.0
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

# Named as their entries in systems.yaml; each answers under the alias it was asked by.
DEEPSEEK = Profile(name="deepseek", wire="deepseek", aliases={"deepseek-v4-pro": "deepseek-v4-pro"})
OPUS = Profile(name="opus", wire="anthropic", aliases={"claude-opus-5": "claude-opus-5"})
GEMINI_FLASH = Profile(name="gemini_flash", wire="gemini", aliases={"gemini-3.8-flash": "gemini-3.8-flash"})

PROFILES = {profile.name: profile for profile in (JEV, DEEPSEEK, OPUS, GEMINI_FLASH)}
