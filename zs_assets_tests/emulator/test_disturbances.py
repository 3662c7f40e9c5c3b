"""What makes a stand-in restless: nothing unless asked for, then by its profile's own rates, and seeded."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from zs_assets.emulator.answers import answer
from zs_assets.emulator.app import create_app, declines, reply_body
from zs_assets.emulator.decider import Decider, EmbeddedModel
from zs_assets.emulator.disturbances import NAMES, Disturbances
from zs_assets.emulator.profiles import JEV, JEV_1_14, LUNA
from zs_assets.emulator.request_checks import Asked

CHOICE = {"type": "choice", "instructions": "Topic?", "criteria": {"rain": "about rain", "bread": "", "sun": "the sun"}}
BODY = {"state": "It rains.", "model": "jev-latest", "questions": {"label": CHOICE}}


def met(disturbances: Disturbances, requests: int) -> list[str | None]:
    async def run() -> list[str | None]:
        rules = [await disturbances.met(str(number)) for number in range(requests)]
        return [None if rule is None else rule.fault for rule in rules]

    return asyncio.run(run())


def test_nothing_disturbs_a_rehearsal_unless_asked_for():
    restless = replace(JEV, transient_rate=1.0, requests_per_second=0.01, latency_s=60)
    assert set(met(Disturbances(restless, 1, ()), 1000)) == {None}


def test_transient_errors_come_at_the_profiles_rate_and_the_same_for_the_same_seed():
    restless = replace(JEV, transient_rate=0.1)
    first, again, other = (met(Disturbances(restless, seed, ["transient_errors"]), 3000) for seed in (1, 1, 2))
    counts = Counter(first)
    assert set(counts) == {None, "429", "500", "503", "529"}
    assert 3000 - counts[None] == pytest.approx(300, abs=5 * (3000 * 0.09) ** 0.5)
    assert first == again != other


def test_another_try_of_a_request_can_succeed():
    disturbances = Disturbances(replace(JEV, transient_rate=0.5), 1, ["transient_errors"])

    async def tries() -> list[bool]:
        return [await disturbances.met("the same") is None for _ in range(40)]

    assert set(asyncio.run(tries())) == {True, False}


def test_above_the_rate_limit_comes_429_with_a_header_that_says_when():
    client = TestClient(create_app(replace(JEV, requests_per_second=5), disturbances=["rate_limit"]))
    replies = [client.post("/v1/systemone", json=BODY) for _ in range(12)]
    statuses = [reply.status_code for reply in replies]
    assert statuses[:5] == [200] * 5
    assert 429 in statuses
    assert next(r for r in replies if r.status_code == 429).headers["retry-after-ms"] == "50"


def test_repeats_vary_only_where_that_is_asked_for():
    steady, varying = (TestClient(create_app(JEV, disturbances=names)) for names in ((), ("repeat_noise",)))
    unclear = {**BODY, "state": "It is cold."}
    assert len({steady.post("/v1/systemone", json=unclear).content for _ in range(5)}) == 1
    assert len({varying.post("/v1/systemone", json=unclear).content for _ in range(5)}) > 1


def test_an_unknown_disturbance_names_those_there_are():
    with pytest.raises(ValueError, match=r"earthquake.*transient_errors"):
        Disturbances(JEV, 1, ["earthquake"])
    assert len(NAMES) == 4


def test_refusals_gather_on_few_texts_at_the_published_rate():
    """178 of 42,000 replies were refusals, on 34 of 1,000 texts: one in eight of their replies."""
    decider = Decider(LUNA, 1, EmbeddedModel())
    orders = [{str(one): None for one in (at, at + 1, at + 2)} for at in range(14)]
    refused: Counter[int] = Counter()
    for number in range(1000):
        for order in orders:
            asked = Asked(f"text {number}", "gpt-6-luna", {"q0": {**CHOICE, "criteria": order}}, {"questions": [{}]})
            if declines(asked, decider, LUNA):
                refused[number] += 1
    assert sum(refused.values()) / 14_000 == pytest.approx(178 / 42_000, rel=0.5)
    assert len(refused) < 45


def test_a_label_mismatch_names_the_second_best_and_leaves_the_vector():
    decider = Decider(JEV_1_14, 1)
    always, never = (replace(JEV_1_14, label_mismatch_rate=rate) for rate in (1.0, 0.0))
    odd, even = (answer(CHOICE, "It is cold.", decider, profile, 0) for profile in (always, never))
    assert odd["probabilities"] == even["probabilities"]
    ranked = sorted(even["probabilities"], key=even["probabilities"].__getitem__, reverse=True)
    assert (even["choice"], odd["choice"]) == (ranked[0], ranked[1])
    assert reply_body(Asked("It is cold.", "jev-1.14.0", {"q": CHOICE}), decider, always)["answers"]["q"] == odd
