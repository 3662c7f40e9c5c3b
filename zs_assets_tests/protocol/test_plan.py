"""The plan of the choice-order study: balanced orders, repeats and a shuffled request sequence, all from seeds."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.plan import asking_sequence, option_orders, presentations, repeats_per_order
from zs_assets.protocol.question import Example, Option, Question
from zs_assets.protocol.study import Plan, Rotations

SEEDS = st.integers(0, 2**32 - 1)
OPTION_COUNTS = range(2, 21)
PUBLISHED = (1_000, 14, 3, 42_000)  # samples, orders, repeats, presentations: "Study design"


def rotated(seed: int = 7, repeats: int = 1, shuffle_seed: int | None = None) -> Plan:
    return Plan(orders=Rotations(seed=seed), repeats=repeats, shuffle_seed=shuffle_seed)


def question(options: int) -> Question:
    return Question("Which one?", tuple(Option(f"o{index}", f"Option {index}.") for index in range(options)))


def examples(count: int) -> list[Example]:
    return [Example(f"d:{index}", f"Text {index}.", sha256_text(f"Text {index}."), None) for index in range(count)]


def places(orders: list[tuple[int, ...]], times: int) -> Counter[tuple[int, int]]:
    """(option, position) -> how often one example shows it there."""
    return Counter(
        {
            place: count * times
            for place, count in Counter(
                (option, position) for order in orders for position, option in enumerate(order)
            ).items()
        }
    )


@pytest.mark.parametrize("options", OPTION_COUNTS)
@pytest.mark.parametrize("seed", [0, 20261010])
@pytest.mark.parametrize("repeats", [1, 3])
def test_every_option_stands_twice_in_every_position_at_every_repeat(options: int, seed: int, repeats: int):
    plan = rotated(seed, repeats)
    shown = places(option_orders(options, plan), repeats_per_order(options, plan))
    assert shown == {(option, position): 2 * repeats for option in range(options) for position in range(options)}


@pytest.mark.parametrize("options", range(3, 21))
def test_three_options_or_more_have_two_different_orders_per_option(options: int):
    orders = option_orders(options, rotated())
    assert len(orders) == len(set(orders)) == 2 * options
    assert repeats_per_order(options, rotated(repeats=3)) == 3


@pytest.mark.parametrize("repeats", [1, 3])
def test_two_options_have_two_different_orders_that_are_asked_twice_as_often(repeats: int):
    plan = rotated(repeats=repeats)
    assert sorted(option_orders(2, plan)) == [(0, 1), (1, 0)]
    assert repeats_per_order(2, plan) == 2 * repeats
    asked = Counter((p.order, p.repeat) for p in presentations(examples(1), question(2), plan))
    assert len(asked) == 4 * repeats
    assert set(asked.values()) == {1}, "orders that coincide are further repeats, and no id stands twice"


@pytest.mark.parametrize("options", OPTION_COUNTS)
def test_the_orders_are_the_rotations_of_one_order_and_of_its_reverse(options: int):
    orders = option_orders(options, rotated(seed=3))
    base = orders[0]
    assert sorted(base) == list(range(options))
    rotations = {base[start:] + base[:start] for start in range(options)}
    assert set(orders) == rotations | {order[::-1] for order in rotations}


@given(seed=SEEDS, options=st.integers(2, 20))
def test_the_same_seed_gives_the_same_orders(seed: int, options: int):
    assert option_orders(options, rotated(seed)) == option_orders(options, rotated(seed))


def test_another_seed_gives_another_base_order():
    assert len({option_orders(7, rotated(seed))[0] for seed in range(20)}) > 10


@pytest.mark.parametrize("options", [0, 1])
def test_rotations_of_less_than_two_options_are_refused_in_a_sentence(options: int):
    with pytest.raises(StudyError, match="One option has one order only: rotations need a question with at least two"):
        option_orders(options, rotated())


def test_the_fixed_plan_asks_every_example_once_in_the_declared_order():
    planned = presentations(examples(3), question(4), Plan())
    assert [(p.id, p.order) for p in planned] == [(f"d:{i}/o0r0", (0, 1, 2, 3)) for i in range(3)]
    assert asking_sequence(planned, Plan()) == planned


def test_repeats_of_the_fixed_order_are_not_multiplied():
    assert repeats_per_order(2, Plan(repeats=5)) == 5


def test_the_published_study_plans_42000_presentations_of_a_system():
    samples, orders, repeats, total = PUBLISHED
    plan = rotated(repeats=repeats)
    planned = presentations(examples(samples), question(7), plan)
    assert (len(option_orders(7, plan)), repeats_per_order(7, plan)) == (orders, repeats)
    assert len(planned) == len({p.id for p in planned}) == total
    assert 12 * len(planned) == 504_000


def test_tables_are_sorted_by_repeat_then_example_then_order():
    planned = presentations(examples(5), question(3), rotated(repeats=2))
    place = [(p.repeat, int(p.example.example_id.removeprefix("d:")), p.order_index) for p in planned]
    assert place == [(r, e, o) for r in range(2) for e in range(5) for o in range(6)]


@given(shuffle_seed=SEEDS)
def test_the_asking_sequence_is_a_permutation_of_the_plan_and_the_same_for_its_seed(shuffle_seed: int):
    plan = rotated(repeats=2, shuffle_seed=shuffle_seed)
    planned = presentations(examples(4), question(3), plan)
    asked = asking_sequence(planned, plan)
    assert Counter(p.id for p in asked) == Counter(p.id for p in planned)
    assert asked == asking_sequence(planned, plan)
    assert [p.repeat for p in planned] == sorted(p.repeat for p in planned), "the plan itself is left as it is"


def test_a_shuffled_sequence_mixes_repeats_orders_and_examples():
    plan = rotated(repeats=3, shuffle_seed=20261010)
    planned = presentations(examples(100), question(7), plan)
    first = asking_sequence(planned, plan)[:200]
    assert {p.repeat for p in first} == {0, 1, 2}
    assert len({p.order_index for p in first}) == 14
    # A draw of 200 of 4,200 without replacement holds about 87 of the 100 examples on average.
    assert len({p.example.example_id for p in first}) > 70


def test_a_plan_that_sets_nothing_hashes_as_it_always_did():
    assert Plan().settings == {"orders": "fixed", "repeats": 1}


def test_the_settings_of_the_order_study_are_hashed_with_their_seeds():
    assert rotated(seed=5, repeats=3, shuffle_seed=6).settings == {
        "orders": {"kind": "rotations", "seed": 5},
        "repeats": 3,
        "shuffle_seed": 6,
    }
