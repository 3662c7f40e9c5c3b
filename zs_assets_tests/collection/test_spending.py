"""Costs: the price of the day it was paid, unknown never zero, budgets that hold across resumes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zs_assets.backends.base import CallFault, Remedy
from zs_assets.backends.prices import Price
from zs_assets.backends.systems import Limits
from zs_assets.collection import Progress, estimate, journalled_usd
from zs_assets.collection.pricing import call_tokens, question_tokens
from zs_assets.protocol.errors import CollectionStopped, StudyError
from zs_assets_tests.collection.jev_run import QUESTION, presentations
from zs_assets_tests.collection.scripted import GOOD, SPEC, Scripted, collect_scripted

ONE = presentations(1)[0]
ESTIMATE_USD = call_tokens(question_tokens(QUESTION), ONE) / 1_000  # of one call


def last_progress(path, backend, **options) -> Progress:
    seen: list[Progress] = []
    collect_scripted(path, backend, on_progress=seen.append, **options)
    return seen[-1]


def stop_after(calls: int):
    stop = CallFault("http_401", Remedy.STOP, status=401)
    return lambda name, before: stop if int(name.split(":")[1].split("/")[0]) >= calls else None


def test_costs_are_those_of_the_price_that_held_when_it_was_paid(tmp_path):
    path = tmp_path / "j.jsonl"
    first = collect_scripted(path, Scripted())
    dearer = SPEC.model_copy(update={"price": Price(input_per_million_usd=9e9, output_per_million_usd=0, since="x")})
    again = collect_scripted(path, Scripted(spec=dearer))
    assert again.predictions["cost_usd"].to_pylist() == first.predictions["cost_usd"].to_pylist() == [0.1] * 6
    assert again.attempts["cost_usd"].to_pylist() == [0.1] * 6


def test_a_cost_that_was_unknown_before_a_resume_stays_unknown(tmp_path):
    path = tmp_path / "j.jsonl"
    silent = Scripted(stop_after(3), reading=replace(GOOD, input_tokens=None))
    with pytest.raises(CollectionStopped):
        collect_scripted(path, silent)
    assert last_progress(path, Scripted()).cost_usd is None


def test_progress_counts_what_earlier_runs_spent_received_and_failed(tmp_path):
    path = tmp_path / "j.jsonl"

    def script(name: str, before: int) -> CallFault | None:
        if name == "d:0/o0r0":
            return CallFault("http_400", Remedy.GIVE_UP, status=400)
        return stop_after(4)(name, before)

    with pytest.raises(CollectionStopped):
        collect_scripted(path, Scripted(script))
    progress = last_progress(path, Scripted())
    assert (progress.done, progress.total, progress.failures) == (6, 6, 1)
    assert progress.cost_usd == pytest.approx(0.5)
    assert progress.tokens == 500
    assert progress.resumed >= 3


def test_a_budget_counts_what_earlier_runs_spent(tmp_path):
    path = tmp_path / "j.jsonl"
    budget = 2 * ESTIMATE_USD + 0.15
    for _ in range(3):
        with pytest.raises(CollectionStopped, match="budget"):
            collect_scripted(path, Scripted(), count=50, max_usd=budget)
    with pytest.raises(CollectionStopped, match="budget"):
        collect_scripted(path, backend := Scripted(), count=50, max_usd=budget)
    assert backend.asked == []


def test_replies_that_hide_their_tokens_are_charged_their_estimate(tmp_path):
    backend = Scripted(reading=replace(GOOD, input_tokens=None))
    with pytest.raises(CollectionStopped, match="budget"):
        collect_scripted(tmp_path / "j.jsonl", backend, count=50, max_usd=3.5 * ESTIMATE_USD)
    assert len(backend.asked) == 3


def test_calls_without_an_answer_count_against_the_budget_also_after_a_resume(tmp_path):
    """They may have been billed."""
    lost = Scripted(lambda name, before: CallFault("timeout", Remedy.RETRY, "ReadTimeout"))
    path = tmp_path / "j.jsonl"
    with pytest.raises(CollectionStopped, match="budget"):
        collect_scripted(path, lost, count=50, max_usd=3.5 * ESTIMATE_USD)
    assert len(lost.asked) == 3
    with pytest.raises(CollectionStopped, match="budget"):
        collect_scripted(path, backend := Scripted(), count=50, max_usd=3.5 * ESTIMATE_USD)
    assert backend.asked == []


def test_throttled_calls_cost_nothing_against_the_budget(tmp_path):
    def script(name: str, before: int) -> CallFault | None:
        return CallFault("http_429", Remedy.RETRY, status=429) if before == 0 else None

    collected = collect_scripted(tmp_path / "j.jsonl", Scripted(script), max_usd=6 * 0.1 + 2 * ESTIMATE_USD)
    assert set(collected.predictions["outcome"].to_pylist()) == {"ok"}


def test_an_estimate_says_calls_tokens_cost_and_the_least_time():
    plan = presentations(160)
    spec = SPEC.model_copy(update={"limits": Limits(requests_per_second=16, tokens_per_second=80_000)})
    expected = estimate(spec, QUESTION, plan)
    assert expected.calls == 160
    assert expected.seconds == pytest.approx(10.0)
    assert expected.input_tokens is not None
    assert 160 * 280 < expected.input_tokens < 160 * 400
    assert expected.cost_usd == pytest.approx(expected.input_tokens / 1_000, rel=1e-4)


def test_an_estimate_counts_output_where_output_is_priced():
    price = Price(input_per_million_usd=0.0, output_per_million_usd=1e6, since="x")
    assert estimate(SPEC.model_copy(update={"price": price}), QUESTION, presentations(2)).cost_usd == 2 * (17 + 7 * 3)


def test_an_estimate_without_a_price_is_unknown_and_of_a_local_model_free():
    assert estimate(SPEC.model_copy(update={"price": None}), QUESTION, [ONE]).cost_usd is None
    assert estimate(SPEC.model_copy(update={"deployment": "local"}), QUESTION, [ONE]).cost_usd == 0.0


def test_what_a_replayed_row_cost_is_shown_with_it_but_not_spent_again(tmp_path):
    replay = SPEC.model_copy(update={"deployment": "local", "price": None})
    backend = Scripted(spec=replay, reading=replace(GOOD, cost_usd=0.5, pricing_tier="peak"))
    path = tmp_path / "j.jsonl"
    collected = collect_scripted(path, backend, max_usd=0.1)
    assert collected.predictions["cost_usd"].to_pylist() == [0.5] * 6
    assert collected.predictions["pricing_tier"].to_pylist() == ["peak"] * 6
    assert last_progress(path, backend).cost_usd == 0.0


def test_a_budget_counts_what_other_partitions_spent(tmp_path):
    backend = Scripted()
    with pytest.raises(CollectionStopped, match=r"0\.300000 of it on other partitions"):
        collect_scripted(tmp_path / "j.jsonl", backend, count=50, max_usd=0.3 + ESTIMATE_USD / 2, elsewhere_usd=0.3)
    assert backend.asked == []


def test_a_journals_cost_counts_unknown_replies_and_unanswered_calls_as_the_dearest(tmp_path):
    path = tmp_path / "j.jsonl"
    collect_scripted(path, Scripted())
    assert journalled_usd(path) == pytest.approx(0.6)
    lines = path.read_text().splitlines(keepends=True)
    unanswered = [line for line in lines if '"k":"asked"' in line][-1]
    path.write_text("".join(line for line in lines if not _is_last_reply(line, lines)))
    assert unanswered in path.read_text()
    assert journalled_usd(path) == pytest.approx(0.6)
    assert journalled_usd(tmp_path / "absent.jsonl") == 0.0


def _is_last_reply(line: str, lines: list[str]) -> bool:
    return line == [one for one in lines if '"k":"reply"' in one][-1]


@pytest.mark.parametrize("limit", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_budget_that_limits_nothing_is_refused(tmp_path, limit):
    with pytest.raises(StudyError, match="max_usd must be a positive number"):
        collect_scripted(tmp_path / "j.jsonl", Scripted(), max_usd=limit)
