import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.backends.vectors import SUM_TOLERANCE, read_vector
from zs_assets_tests.backends.asking import question

THREE = question({"a": "A.", "b": "B.", "c": "C."})
numbers = st.one_of(
    st.floats(), st.integers(), st.just(10**400), st.booleans(), st.none(), st.text(), st.lists(st.none()), st.binary()
)
keys = st.one_of(st.sampled_from(["a", "b", "c"]), st.text(), st.integers(), st.none(), st.just("\ud800"))
near_valid = st.lists(st.floats(0, 1), min_size=3, max_size=3).map(
    lambda ps: dict(zip("abc", [p / (sum(ps) or 1) for p in ps], strict=True))
)


@given(st.one_of(st.dictionaries(keys, numbers), st.fixed_dictionaries(dict.fromkeys("abc", numbers)), near_valid))
def test_no_mapping_raises_or_becomes_a_vector_that_fails_integrity(values):
    vector, problem = read_vector(values, THREE, SUM_TOLERANCE)
    assert (vector is None) != (problem is None)
    if vector is not None:
        assert set(values) == {"a", "b", "c"} and len(vector) == 3
        assert all(type(p) is float and math.isfinite(p) and 0 <= p <= 1 for p in vector)
        assert abs(sum(vector) - 1) <= SUM_TOLERANCE + 1e-9
    else:
        assert problem.encode()  # can be stored whatever the labels hold


@given(st.one_of(numbers, st.lists(numbers)))
def test_what_is_no_mapping_is_a_problem_not_an_exception(value):
    assert read_vector(value, THREE, SUM_TOLERANCE)[0] is None


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"a": 0.5, "b": 0.5}, "missing, first 'c'"),
        ({"a": 0.5, "b": 0.5, "c": 0, "d": 0}, "not among the options, first 'd'"),
        ({"a": 1, "b": 0, "c": True}, "not a number"),
        ({"a": 1, "b": 0, "c": "0"}, "not a number"),
        ({"a": 1, "b": 0, "c": math.nan}, "not finite"),
        ({"a": 1.01, "b": 0, "c": 0}, "outside [0,1]"),
        ({"a": 0.4, "b": 0.2, "c": 0.2}, "sum to 0.8"),
    ],
)
def test_each_broken_vector_has_its_own_sentence(values, why):
    vector, problem = read_vector(values, THREE, SUM_TOLERANCE)
    assert vector is None and why in problem


@pytest.mark.parametrize("total", [0.98, 1.02])
def test_a_sum_on_the_edge_of_the_tolerance_is_accepted_and_declared_order_is_kept(total):
    vector, problem = read_vector({"c": 0.0, "b": round(total - 0.6, 2), "a": 0.6}, THREE, SUM_TOLERANCE)
    assert problem is None and vector[0] == 0.6 and vector[2] == 0.0
