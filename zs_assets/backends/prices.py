"""What a provider charges, and when: rates, dated price tables, peak hours. What tokens cost is in pricing.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timezone
from itertools import pairwise
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

STANDARD = "standard"
OFF_PEAK = "off_peak"
PEAK = "peak"
PEAK_UNLISTED_YEAR = "peak_unlisted_year"
"""Peak by the hour, of a year whose off-peak days nobody listed: the true price may be the off-peak one."""


class Rates(BaseModel):
    """USD per million tokens.

    `cached_input` is for tokens a provider found in its prompt cache, `cache_write` for those it stored there. Null:
    the provider's price for them is not known, and so is the cost of a call that has any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_per_million_usd: float = Field(ge=0, allow_inf_nan=False)
    output_per_million_usd: float = Field(ge=0, allow_inf_nan=False)
    cached_input_per_million_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cache_write_per_million_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def times(self, factor: float) -> Rates:
        """The rates multiplied: a peak hour's."""
        values = self.model_dump(include=set(Rates.model_fields), exclude_none=True)
        return Rates.model_validate({name: value * factor for name, value in values.items()})

    @property
    def dearest_input(self) -> float:
        """What an input token costs at most, whatever the cache does with it."""
        return max(
            self.input_per_million_usd,
            self.cached_input_per_million_usd or 0.0,
            self.cache_write_per_million_usd or 0.0,
        )


class Price(Rates):
    """The one price of a system that has no dated tables; it holds for every call."""

    since: str  # date from which it was known to hold, for people
    source: str = ""


def _hours(value: Any) -> Any:
    """`"01:00-04:00"` as two times. Quoted in YAML, which reads a bare 01:00 as the number 60."""
    if not isinstance(value, str):
        return value
    try:
        start, end = (time.fromisoformat(part.strip()) for part in value.split("-"))
    except ValueError:
        raise ValueError(f'hours {value!r} are no pair such as "01:00-04:00"') from None
    if start >= end:
        raise ValueError(f"hours {value!r} end before they start: split them at midnight")
    return start, end


def _days(value: Any) -> Any:
    """One date as a range of itself."""
    return value if isinstance(value, (list, tuple)) else (value, value)


def _instant(value: Any) -> Any:
    """A date alone is its midnight UTC."""
    if isinstance(value, str) and len(value) == len("2026-01-01"):
        value = date.fromisoformat(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), timezone.utc)
    return value


Hours = Annotated[tuple[time, time], BeforeValidator(_hours)]
Days = Annotated[tuple[date, date], BeforeValidator(_days)]
Instant = Annotated[AwareDatetime, BeforeValidator(_instant)]


class Peak(BaseModel):
    """When a provider charges more: UTC hours (start inclusive, end exclusive) of some weekdays (Monday is 0).

    `off_peak_days` are first and last date of each stretch in which the whole day is off-peak, by year; an empty
    mapping says that there are none in any year. Exactly one of `multiplier` and `rates` says how much more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    hours_utc: tuple[Hours, ...] = Field(min_length=1)
    weekdays: frozenset[Annotated[int, Field(ge=0, le=6)]] = frozenset(range(7))
    off_peak_days: dict[int, tuple[Days, ...]] = {}
    multiplier: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    rates: Rates | None = None

    @model_validator(mode="after")
    def _one_way_to_charge_more(self) -> Peak:
        if (self.multiplier is None) == (self.rates is None):
            raise ValueError("a peak needs either multiplier or rates")
        for year, stretches in self.off_peak_days.items():
            for first, last in stretches:
                if not first <= last or {first.year, last.year} != {year}:
                    raise ValueError(f"off_peak_days {first}..{last} is no stretch of {year}")
        return self

    def tier_at(self, at: datetime) -> str:
        """`peak`, `off_peak` or `peak_unlisted_year`; `at` in UTC."""
        in_hours = any(start <= at.time() < end for start, end in self.hours_utc)
        if not in_hours or at.weekday() not in self.weekdays:
            return OFF_PEAK
        if self.off_peak_days and at.year not in self.off_peak_days:
            return PEAK_UNLISTED_YEAR
        day_off = any(first <= at.date() <= last for first, last in self.off_peak_days.get(at.year, ()))
        return OFF_PEAK if day_off else PEAK


class DatedPrice(Rates):
    """A price table from `since` on, until `until` (exclusive) or, without one, until the next table begins."""

    since: Instant
    until: Instant | None = None
    source: str = ""
    peak: Peak | None = None

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> DatedPrice:
        if self.until is not None and self.until <= self.since:
            raise ValueError(f"a price ends at {self.until.isoformat()}, before it begins")
        return self

    def tier_at(self, at: datetime) -> str:
        """The tier that holds at a UTC time within this table."""
        return STANDARD if self.peak is None else self.peak.tier_at(at)

    def rates_of(self, tier: str) -> Rates:
        """The rates of a tier named by `tier_at`: with tokens and tier a row's cost can be reckoned again."""
        if self.peak is None or tier not in (PEAK, PEAK_UNLISTED_YEAR):
            return self
        return self.peak.rates or self.times(self.peak.multiplier or 1.0)

    def all_rates(self) -> Iterator[Rates]:
        yield self
        if self.peak is not None:
            yield self.rates_of(PEAK)


def check_order(tables: Sequence[DatedPrice]) -> None:
    """ValueError where the tables do not follow each other in time."""
    for earlier, later in pairwise(tables):
        begins = later.since.isoformat()
        if later.since <= earlier.since:
            raise ValueError(f"the price since {begins} does not come after the one before it: order them by since")
        if earlier.until is not None and earlier.until > later.since:
            raise ValueError(f"the price since {begins} overlaps the one before it: end that one by then")


def table_at(tables: Sequence[DatedPrice], at: datetime) -> DatedPrice | None:
    """The table that holds at a UTC time; None before the first, after an end, and in a gap."""
    begun = [table for table in tables if table.since <= at]
    if not begun or (begun[-1].until is not None and at >= begun[-1].until):
        return None
    return begun[-1]


def utc(text: str) -> datetime | None:
    """A stored time (ISO 8601 with an offset or Z) in UTC; None where it is no such time."""
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 reads no Z
    except ValueError:
        return None
    return None if at.tzinfo is None else at.astimezone(timezone.utc)
