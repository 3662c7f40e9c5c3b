"""Every system as a row for people: what it speaks, what it needs, how it can be pinned, what it costs."""

from __future__ import annotations

from typing import Any

from zs_assets.backends.systems import SystemSpec, known_systems
from zs_assets.protocol.errors import StudyError

COLUMNS = ("system", "interface", "where", "needs", "options", "grid", "pinned", "price in / out", "codec")


def systems_rows() -> list[tuple[str, ...]]:
    """One row per known system, in the order of the files."""
    return [_row(system) for system in known_systems().values()]


def systems_markdown() -> str:
    """The README's table."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS)]
    lines += [f"| {' | '.join(row)} |" for row in systems_rows()]
    return "\n".join(lines)


def system_facts(name: str) -> dict[str, Any]:
    """Everything an entry says, for one system."""
    systems = known_systems()
    if name not in systems:
        raise StudyError(f"There is no system '{name}': use one of {', '.join(sorted(systems))}.")
    return systems[name].model_dump(mode="json", exclude_none=True)


def _row(system: SystemSpec) -> tuple[str, ...]:
    return (
        system.name,
        system.interface,
        system.deployment,
        _needs(system),
        "any" if system.option_cap is None else f"<= {system.option_cap}",
        "unrounded" if system.decimals is None else f"{system.decimals} decimals",
        system.pinned,
        _price(system),
        "unverified" if system.verified.startswith("unverified") else "verified",
    )


def _needs(system: SystemSpec) -> str:
    key = None if system.key_env is None else system.key_env + (" (optional)" if system.key_optional else "")
    extra = f"extra {system.extra}" if system.extra else None
    return ", ".join(need for need in (key, extra, system.needs or None) if need) or "nothing"


def _price(system: SystemSpec) -> str:
    if system.is_free:
        return "free"
    if system.price is not None:
        return f"{system.price.input_per_million_usd:g} / {system.price.output_per_million_usd:g}"
    if system.prices:
        last = system.prices[-1]
        return f"{last.input_per_million_usd:g} / {last.output_per_million_usd:g}, dated"
    return "unknown"
