"""systems.yaml: every system by name, with its interface, quirks, pin rule, price and limits."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from zs_assets.backends.prices import DatedPrice, Price, check_order
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.hashing import sha256_json


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Strict):
    """What we allow ourselves against a provider."""

    concurrency: int = Field(default=8, ge=1)
    requests_per_second: float | None = Field(default=None, gt=0)  # evenly spaced
    tokens_per_second: float | None = Field(default=None, gt=0)
    timeout_s: float = Field(default=30.0, gt=0)  # per connect, read, write or pool wait
    max_wait_s: float = Field(default=60.0, gt=0)  # cap on Retry-After and on backoff


_NOT_IN_THE_HASH = {
    *("limits", "price", "prices", "output_tokens_per_call"),
    *("title", "pin", "verified", "terms"),
    *("pinned", "model_rule", "confidence_formula", "order_behaviour", "needs", "notes", "key_optional"),
}


ModelRule = Literal["resolved", "echo", "constant", "alias", "served_name"]
"""What the reply's model string is: the version behind an alias, the request's string repeated, one string whatever the
weights, an alias that may move, or the name its operator serves it under."""

Queue = Literal["hosted", "cpu", "gpu"]
"""Kinds of machine that runs are sent to, past one machine."""


class SystemSpec(_Strict):
    """One entry of systems.yaml."""

    name: str
    interface: str  # module family: systemone, gliner, sparrow, minilm, uniform, recorded ... or an entry point
    title: str
    deployment: Literal["hosted", "local"]
    model: str | None = None
    revision: str | None = None
    base_url: str | None = None
    base_url_env: str | None = None
    key_env: str | None = None
    key_optional: bool = False  # a server that asks for a key only where its operator set one
    extra: str | None = None  # the zs-assets extra it needs
    provider: str | None = None  # shares limits and a Dagster pool; default: its own name
    option_cap: int | None = None
    decimals: int | None = None  # probability grid of the replies; None: unrounded
    settings: dict[str, Any] = {}  # interface-specific, validated by the interface
    price: Price | None = None  # one price, whenever the call was
    prices: tuple[DatedPrice, ...] = ()  # dated tables, in order; one of the two, or neither: then costs are unknown
    output_tokens_per_call: int | None = Field(default=None, ge=0)  # for estimates, where replies hold no vector
    limits: Limits = Limits()
    pin: str = ""  # how the record pins it
    # yes: by what every reply says; launch: by what its operator started, recorded before the first call
    pinned: Literal["yes", "launch", "no"] = "no"
    model_rule: ModelRule | None = None
    confidence_formula: str = ""  # of the system's own field, n options and p the vector: never compared across systems
    order_behaviour: str = ""  # what a change of option order does, as published
    needs: str = ""  # beside key and extra: a server, a GPU, an account
    notes: str = ""
    verified: str = "unverified"  # by what its codec was verified
    terms: str = ""  # what to check before publishing

    @model_validator(mode="after")
    def _prices_follow_each_other(self) -> SystemSpec:
        if self.price is not None and self.prices:
            raise ValueError("an entry has either price or prices, not both")
        check_order(self.prices)
        return self

    @property
    def pool(self) -> str:
        """Dagster pool: local backends run alone, or parallel runs corrupt their latency."""
        return "local_cpu" if self.deployment == "local" else f"provider_{self.provider or self.name}"

    @property
    def queue(self) -> Queue:
        """Kind of machine its runs need: a GPU, a processor to themselves, or hardly more than a connection.

        A server that one starts oneself counts as local: its run must reach it, and shares its machine.
        """
        if re.match(r"gpu\b", self.needs, re.IGNORECASE):
            return "gpu"
        return "cpu" if self.pool == "local_cpu" else "hosted"

    @property
    def is_free(self) -> bool:
        return self.deployment == "local"

    def spec_hash(self) -> str:
        """Data version of the backend: limits, price and notes may change without making replies stale."""
        return sha256_json(self.model_dump(mode="json", exclude=_NOT_IN_THE_HASH))


def parse_systems(entries: Mapping[str, Any], where: str) -> dict[str, SystemSpec]:
    """Entries of a YAML mapping as specs; raises StudyError naming the entry, key and file."""
    systems = {}
    for name, entry in entries.items():
        try:
            systems[name] = SystemSpec(name=name, **entry)
        except (ValidationError, TypeError) as error:
            problem = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
            key = ".".join(str(part) for part in problem["loc"])
            allowed = ", ".join(SystemSpec.model_fields)
            raise StudyError(
                f"System '{name}' in {where} is wrong at '{key}': {problem['msg']} (allowed keys: {allowed})."
            ) from None
    return systems


@cache
def _shipped() -> dict[str, SystemSpec]:
    path = Path(__file__).with_name("systems.yaml")
    return parse_systems(yaml.safe_load(path.read_text(encoding="utf-8"))["systems"], path.name)


def known_systems() -> dict[str, SystemSpec]:
    """Systems of the package, overlaid by the user's files named in ZS_SYSTEMS (separated like PATH)."""
    systems = dict(_shipped())
    for name in filter(None, os.environ.get("ZS_SYSTEMS", "").split(os.pathsep)):
        path = Path(name)
        try:
            loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise StudyError(f"ZS_SYSTEMS names {path}, which cannot be read: {error.strerror}.") from None
        systems.update(parse_systems((loaded or {}).get("systems", {}), str(path)))
    return systems


def resolve_system(name: str, inline: Mapping[str, Mapping[str, Any]], study: str) -> SystemSpec:
    """The spec of a study's backend: the study's own entry first, then systems.yaml."""
    if name in inline:
        return parse_systems({name: inline[name]}, f"study '{study}'")[name]
    systems = known_systems()
    if name not in systems:
        raise StudyError(
            f"Study '{study}' names backend '{name}', which no systems file has: use one of "
            f"{', '.join(sorted(systems))}, or add an entry under 'systems'."
        )
    return systems[name]
