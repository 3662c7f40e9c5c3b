"""What the order of the options does to a stand-in's scores, against the order study's published median ranges."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from zs_assets.emulator.answers import answer
from zs_assets.emulator.decider import Decider, EmbeddedModel
from zs_assets.emulator.profile import Profile
from zs_assets.emulator.profiles import PROFILES

DEMO = Path(__file__).parents[2] / "data" / "demo"
ORDER_BLIND = ("clef_27b", "nanojev", "von")
BIASED = sorted(name for name, p in PROFILES.items() if p.order_range and name not in ORDER_BLIND)


@pytest.fixture(scope="module")
def model() -> EmbeddedModel:
    pytest.importorskip("sparrow_decider")
    return EmbeddedModel()


def sentences() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Text, instructions and seven options of every second demo sentence about feelings and of some about wishes."""
    feelings, wishes = (yaml.safe_load((DEMO / f"{name}.labels.yaml").read_text()) for name in ("emotions", "intents"))
    feelings["labels"]["neutral"] = "The writer states facts and shows no feeling."
    wishes["labels"] = dict(list(wishes["labels"].items())[:7])
    for name, asked in (("emotions", feelings), ("intents", wishes)):
        with (DEMO / f"{name}.csv").open(encoding="utf-8") as rows:
            for number, row in enumerate(csv.DictReader(rows)):
                if row["label"] in asked["labels"] and number % 2 == 0:
                    yield row["text"], asked["instructions"], asked["labels"]


def fourteen_orders(ids: Sequence[str]) -> list[list[str]]:
    """Seven rotations of an order and seven of its reverse."""
    both = (list(ids), list(reversed(ids)))
    return [order[start:] + order[:start] for order in both for start in range(len(order))]


def range_in_points(text: str, instructions: str, labels: Mapping[str, str], profile: Profile, decider: Decider):
    """The largest difference that the order makes to one option's score, times 100, as the order study counts it."""
    vectors = []
    for order in fourteen_orders(list(labels)):
        asked = {"type": "choice", "instructions": instructions, "criteria": {name: labels[name] for name in order}}
        vectors.append(answer(asked, text, decider, profile, repeat=0)["probabilities"])
    return 100 * max(max(v[name] for v in vectors) - min(v[name] for v in vectors) for name in labels)


def ranges(profile: Profile, model: EmbeddedModel) -> list[float]:
    decider = Decider(profile, 0, model)
    return [range_in_points(*asked, profile, decider) for asked in sentences()]


@pytest.mark.parametrize("name", ORDER_BLIND)
def test_an_order_blind_system_gives_the_same_digits_in_every_order(model: EmbeddedModel, name: str):
    assert PROFILES[name].order_range == pytest.approx(0, abs=1e-5)
    assert set(ranges(PROFILES[name], model)) == {0.0}


@pytest.mark.parametrize("name", BIASED)
def test_the_median_range_is_within_a_third_of_the_published_one(model: EmbeddedModel, name: str):
    published = PROFILES[name].order_range
    assert published is not None
    assert statistics.median(ranges(PROFILES[name], model)) == pytest.approx(published, rel=1 / 3)


def test_the_published_systems_with_an_order_effect_are_all_there():
    assert {"jev_1_13", "jev_1_14", "kev_4b", "subq_snap", "nimble_9b", "rizzo_flow_4b", "laya", "semif"} <= set(BIASED)
    assert "openai_luna" in BIASED


def test_the_option_sent_first_gains_and_the_last_gains_nothing(model: EmbeddedModel):
    unbiased = replace(PROFILES["kev_4b"], position_bias=0.0)
    text, instructions, labels = next(sentences())
    biased, plain = (Decider(p, 0, model).decide(text, instructions, labels) for p in (PROFILES["kev_4b"], unbiased))
    odds = {name: biased[name] / plain[name] for name in labels}
    assert list(odds.values()) == sorted(odds.values(), reverse=True)
