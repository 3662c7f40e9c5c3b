"""What calls cost: cache split, peak hours, dated tables, and nothing made up where something is unknown."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.backends.base import Reading
from zs_assets.backends.prices import Rates, utc
from zs_assets.backends.systems import SystemSpec, known_systems, parse_systems
from zs_assets.collection.pricing import call_cost, cost, tokens_cost
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.names import Outcome
from zs_assets_tests.collection.jev_run import QUESTION
from zs_assets_tests.sources.real_data import TEST_DATA, needs_real_data

DEEPSEEK = known_systems()["deepseek"]
OFF_PEAK_TIME, PEAK_TIME = "2026-09-17T11:00:00Z", "2026-09-17T09:59:59.999Z"  # a Thursday


def reading(input_tokens=2_483, output_tokens=79, hit=2_432, miss=51, **more) -> Reading:
    tokens = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    return Reading(Outcome.OK, cache_hit_tokens=hit, cache_miss_tokens=miss, **tokens, **more)


def tier_at(asked_at: str, spec: SystemSpec = DEEPSEEK) -> str | None:
    return cost(spec, reading(), asked_at)[1]


@needs_real_data
def test_the_published_deepseek_rows_cost_what_they_say_to_the_last_bit():
    lines = (TEST_DATA / "automation" / "deepseek_banking77_first10.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 10
    for row in rows:
        said = reading(row["input_tokens"], row["output_tokens"], row["cache_hit_tokens"], row["cache_miss_tokens"])
        assert cost(DEEPSEEK, said, row["run_date"]) == (row["cost_usd"], row["pricing_tier"])
        again = tokens_cost(
            DEEPSEEK.prices[0].rates_of(row["pricing_tier"]),
            *(row[name] for name in ("input_tokens", "output_tokens", "cache_hit_tokens", "cache_miss_tokens")),
        )
        assert again == row["cost_usd"], "the row alone is enough"


def test_peak_hours_cost_exactly_double():
    off_peak, peak = cost(DEEPSEEK, reading(), OFF_PEAK_TIME), cost(DEEPSEEK, reading(), PEAK_TIME)
    assert (off_peak[1], peak[1]) == ("off_peak", "peak")
    assert off_peak[0] == 2_432 * 0.022 / 1e6 + 51 * 0.66 / 1e6 + 79 * 1.98 / 1e6
    assert peak[0] == 2_432 * 0.044 / 1e6 + 51 * 1.32 / 1e6 + 79 * 3.96 / 1e6


@pytest.mark.parametrize(
    ("asked_at", "tier"),
    [
        ("2026-09-17T00:59:59.999Z", "off_peak"),
        ("2026-09-17T01:00:00Z", "peak"),
        ("2026-09-17T03:59:59.999Z", "peak"),
        ("2026-09-17T04:00:00Z", "off_peak"),
        ("2026-09-17T05:59:59Z", "off_peak"),
        ("2026-09-17T06:00:00Z", "peak"),
        ("2026-09-17T10:00:00Z", "off_peak"),
        ("2026-09-17T17:30:00+08:00", "peak"),  # 09:30 UTC
        ("2026-09-18T02:00:00Z", "peak"),  # Friday
        ("2026-09-19T02:00:00Z", "off_peak"),  # Saturday
        ("2026-09-20T02:00:00Z", "off_peak"),  # Sunday, a working day in China in exchange for a holiday
        ("2026-09-25T02:00:00Z", "off_peak"),  # Mid-Autumn, a Friday
        ("2026-09-28T02:00:00Z", "peak"),
        ("2026-10-01T02:00:00Z", "off_peak"),  # National Day, a Thursday
        ("2026-10-07T09:00:00Z", "off_peak"),
        ("2026-10-08T09:00:00Z", "peak"),
        ("2027-01-04T02:00:00Z", "peak_unlisted_year"),  # a Monday of a year whose holidays nobody listed
        ("2027-01-04T12:00:00Z", "off_peak"),
        ("2027-01-03T02:00:00Z", "off_peak"),
    ],
)
def test_the_tier_follows_the_time_of_the_request_itself(asked_at: str, tier: str):
    assert tier_at(asked_at) == tier


def test_an_hour_of_an_unlisted_year_costs_the_peak_price_and_says_so():
    assert cost(DEEPSEEK, reading(), "2027-01-04T02:00:00Z") == (
        cost(DEEPSEEK, reading(), PEAK_TIME)[0],
        "peak_unlisted_year",
    )


@pytest.mark.parametrize(
    ("said", "asked_at"),
    [
        (reading(), "2026-08-16T15:59:59Z"),  # before the first table
        (reading(), "yesterday"),
        (reading(), "2026-09-17T11:00:00"),  # a time of no known zone
        (reading(input_tokens=None), OFF_PEAK_TIME),
        (reading(output_tokens=None), OFF_PEAK_TIME),
        (reading(hit=None), OFF_PEAK_TIME),
        (reading(miss=None), OFF_PEAK_TIME),
        (reading(input_tokens=-1), OFF_PEAK_TIME),
        (reading(hit=-1), OFF_PEAK_TIME),
        (reading(miss=-51), OFF_PEAK_TIME),
        (reading(output_tokens=-79), OFF_PEAK_TIME),
        (reading(input_tokens=2_482), OFF_PEAK_TIME),  # less than its own parts
        (reading(input_tokens=2_484), OFF_PEAK_TIME),  # one token written to a cache, at no known price
        (reading(cost_usd=float("nan")), OFF_PEAK_TIME),
        (reading(cost_usd=-0.1), OFF_PEAK_TIME),
    ],
)
def test_an_unknown_price_or_count_makes_the_cost_unknown_and_never_zero(said: Reading, asked_at: str):
    assert cost(DEEPSEEK, said, asked_at) == (None, None)


def test_a_system_without_any_price_has_an_unknown_cost_and_a_local_one_costs_nothing():
    unpriced = DEEPSEEK.model_copy(update={"prices": ()})
    assert cost(unpriced, reading(), OFF_PEAK_TIME) == (None, None)
    assert call_cost(unpriced, QUESTION, 1_000.0) is None
    assert cost(known_systems()["uniform"], reading(), OFF_PEAK_TIME) == (0.0, None)


def test_one_undated_price_holds_at_any_time_and_needs_no_cache_split():
    jev = known_systems()["jev"]
    assert cost(jev, reading(hit=None, miss=None), "2020-01-01T00:00:00Z") == (2_483 * 0.042 / 1e6, "standard")


def test_a_cost_that_a_replayed_row_recorded_wins():
    recorded = reading(cost_usd=0.5, pricing_tier="peak")
    assert cost(DEEPSEEK, recorded, OFF_PEAK_TIME) == (0.5, "peak")
    assert cost(known_systems()["uniform"], recorded, OFF_PEAK_TIME) == (0.5, "peak")


def test_tokens_written_to_a_cache_have_their_own_price():
    rates = Rates(
        input_per_million_usd=5,
        output_per_million_usd=25,
        cached_input_per_million_usd=0.5,
        cache_write_per_million_usd=6.25,
    )
    assert tokens_cost(rates, 1_000, 10, 600, 100) == pytest.approx((600 * 0.5 + 100 * 5 + 300 * 6.25 + 250) / 1e6)


COUNTS = st.none() | st.integers(-5, 10**7)


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.datetimes(timezones=st.just(timezone.utc)))
def test_a_cost_is_never_negative_and_tier_and_cost_are_known_together(tokens, output, hit, miss, at: datetime):
    usd, tier = cost(DEEPSEEK, reading(tokens, output, hit, miss), at.isoformat())
    assert (usd is None) == (tier is None)
    if usd is None:
        return
    assert usd >= 0 and tokens == hit + miss
    assert usd == tokens_cost(DEEPSEEK.prices[0].rates_of(tier or ""), tokens, output, hit, miss)


def test_the_estimate_takes_the_dearest_price_that_may_hold():
    assert call_cost(DEEPSEEK, QUESTION, 1e6, calls=4) == pytest.approx(1.32 + 4 * 250 * 3.96 / 1e6)
    tables = [
        {"since": "2020-01-01", "until": "2021-01-01", "input_per_million_usd": 90, "output_per_million_usd": 0},
        {"since": "2021-01-01", "input_per_million_usd": 1, "output_per_million_usd": 0},
        {"since": "2990-01-01", "input_per_million_usd": 3, "output_per_million_usd": 0},
    ]
    assert call_cost(system(tables), QUESTION, 1e6) == 3.0, "an ended price cannot hold again, a coming one may"


def system(prices: list[dict], **more) -> SystemSpec:
    entry = {"interface": "chat_tools", "title": "T", "deployment": "hosted", "prices": prices, **more}
    return parse_systems({"dear": entry}, "test.yaml")["dear"]


def table(since: object = "2026-01-01", **more: object) -> dict:
    return {"since": since, "input_per_million_usd": 1.0, "output_per_million_usd": 0.0, **more}


def test_each_call_is_priced_by_the_table_of_its_time():
    spec = system([table("2026-01-01", until="2026-02-01"), table("2026-03-01T12:00Z", input_per_million_usd=2.0)])
    said = reading(1_000_000, 0, None, None)

    def usd(asked_at: str) -> float | None:
        return cost(spec, said, asked_at)[0]

    assert usd("2026-01-01T00:00:00Z") == 1.0
    assert usd("2026-01-31T23:59:59Z") == 1.0
    assert usd("2026-02-01T00:00:00Z") is None, "no table holds in a gap"
    assert usd("2026-03-01T11:59:59Z") is None
    assert usd("2026-03-01T12:00:00Z") == 2.0
    assert cost(spec, said, "2026-03-01T12:00:00Z")[1] == "standard"


def test_a_peak_may_have_prices_of_its_own():
    peak = {"hours_utc": ["12:00-13:00"], "rates": {"input_per_million_usd": 7.0, "output_per_million_usd": 0.0}}
    spec = system([table(peak=peak)])
    said = reading(1_000_000, 0, None, None)
    assert cost(spec, said, "2026-06-06T12:30:00Z") == (7.0, "peak")
    assert cost(spec, said, "2026-06-06T13:00:00Z") == (1.0, "off_peak")


HOURS = ["01:00-04:00"]


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        ([{"input_per_million_usd": 1, "output_per_million_usd": 1}], "since"),
        ([table("soon")], "since"),
        ([table("2026-01-01T10:00:00")], "since"),  # of no zone
        ([table(input_per_million_usd=-1)], "input_per_million_usd"),
        ([table(input_per_million_usd=float("inf"))], "input_per_million_usd"),
        ([table("2026-02-01"), table("2026-01-01")], "2026-01-01.*order them by since"),
        ([table("2026-01-01"), table("2026-01-01")], "2026-01-01.*order them by since"),
        ([table("2026-01-01", until="2026-03-01"), table("2026-02-01")], "2026-02-01.*overlaps"),
        ([table("2026-01-01", until="2025-01-01")], "before it begins"),
        ([table(peak={"hours_utc": HOURS})], "multiplier or rates"),
        ([table(peak={"hours_utc": ["4-1"], "multiplier": 2})], "01:00-04:00"),
        ([table(peak={"hours_utc": ["22:00-02:00"], "multiplier": 2})], "midnight"),
        ([table(peak={"hours_utc": [], "multiplier": 2})], "hours_utc"),
        ([table(peak={"hours_utc": HOURS, "multiplier": 2, "weekdays": [7]})], "weekdays"),
        ([table(peak={"hours_utc": HOURS, "multiplier": 2, "off_peak_days": {2026: ["2027-01-01"]}})], "of 2026"),
    ],
)
def test_a_wrong_price_table_is_an_error_that_names_the_entry(prices: list[dict], said: str):
    with pytest.raises(StudyError, match=f"System 'dear' in test.yaml is wrong at .*{said}"):
        system(prices)


def test_an_entry_has_one_kind_of_price():
    with pytest.raises(StudyError, match=r"'dear'.*either price or prices"):
        system([table()], price=table())


def test_prices_leave_replies_fresh():
    assert DEEPSEEK.spec_hash() == DEEPSEEK.model_copy(update={"prices": (), "output_tokens_per_call": 9}).spec_hash()


def test_a_stored_time_is_read_whatever_its_offset():
    assert (
        utc("2026-09-17T17:30:00+08:00")
        == utc("2026-09-17T09:30:00Z")
        == datetime(2026, 9, 17, 9, 30, tzinfo=timezone.utc)
    )
