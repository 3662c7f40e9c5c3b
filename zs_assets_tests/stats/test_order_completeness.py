"""Which samples count: what one system answered, and the intersection before the group is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from zs_assets.stats import CompletenessRule, OrderScores, score_coverage, shared_samples
from zs_assets.stats.cluster_bootstrap import ClusterDraws
from zs_assets_tests.stats.order_cases import SAMPLES, order_scores, study_scores, study_texts


@pytest.fixture(scope="module")
def complete() -> OrderScores:
    return study_scores(np.random.default_rng(5))


def refusing(scores: OrderScores, refusals: int, samples: int) -> OrderScores:
    """The same with so many replies refused, spread over the first samples."""
    values = scores.scores.copy()
    values.reshape(len(scores), -1, scores.n_options)[_spread(refusals, samples)] = np.nan
    return OrderScores(values, scores.chosen, scores.orders, scores.decimals)


def mislabelled(scores: OrderScores, mismatches: int, samples: int) -> OrderScores:
    """The same with so many replies naming their lowest option, spread over the last samples."""
    chosen = scores.chosen.copy()
    sample, cell = _spread(mismatches, samples)
    lowest = scores.scores.argmin(axis=3).reshape(len(scores), -1)
    chosen.reshape(len(scores), -1)[-1 - sample, cell] = lowest[-1 - sample, cell]
    return OrderScores(scores.scores, chosen, scores.orders, scores.decimals)


def _spread(replies: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    at = np.arange(replies)
    return at % samples, at // samples


def test_the_plan_is_42_000_replies_per_system_and_504_000_in_all(complete):
    coverage = score_coverage(complete)
    assert coverage.planned == 42_000
    assert sum(score_coverage(system).planned for system in [complete] * 12) == 504_000


def test_texts_are_counted_across_groups(complete):
    texts, random = study_texts()
    distinct = {
        "random": ClusterDraws(texts[random], 0, 1).n_texts,
        "added": ClusterDraws(texts[~random], 0, 1).n_texts,
        "all": ClusterDraws(texts, 0, 1).n_texts,
    }
    in_both = len(np.intersect1d(texts[random], texts[~random]))
    assert distinct == {"random": 747, "added": 200, "all": 944}
    assert distinct["random"] + distinct["added"] - in_both == distinct["all"]
    assert (len(complete.of(random)), len(complete.of(~random))) == (800, 200)


def test_refusals_count_as_published(complete):
    """OpenAI Decisions: 178 refusals across 34 samples."""
    coverage = score_coverage(refusing(complete, 178, 34))
    assert (coverage.scored, coverage.score_complete, coverage.strict_complete) == (41_822, 966, 966)
    assert coverage.label_mismatches == 0


@pytest.mark.parametrize(("mismatches", "samples", "strict"), [(52, 43, 957), (32, 28, 972)])
def test_label_mismatches_count_as_published(complete, mismatches, samples, strict):
    """Jev 1.14 and 1.13: all replies scored, some name a label below their highest."""
    coverage = score_coverage(mislabelled(complete, mismatches, samples))
    assert (coverage.scored, coverage.score_complete, coverage.strict_complete) == (42_000, 1_000, strict)
    assert (coverage.label_mismatches, coverage.mismatched_samples) == (mismatches, samples)


def test_coverage_of_a_group_is_that_of_its_samples(complete):
    _, random = study_texts()
    scores = refusing(complete, 178, 34)
    whole, parts = score_coverage(scores), [score_coverage(scores.of(group)) for group in (random, ~random)]
    for name in ("samples", "planned", "scored", "score_complete", "strict_complete"):
        assert sum(getattr(part, name) for part in parts) == getattr(whole, name)


def test_a_sample_is_shared_only_when_every_system_completed_it(complete):
    systems = {"a": complete, "b": refusing(complete, 178, 34), "c": mislabelled(complete, 52, 43)}
    by_scores = shared_samples(systems, CompletenessRule.SCORE_COMPLETE)
    strict = shared_samples(systems, "strict_complete")
    assert np.flatnonzero(~by_scores).tolist() == list(range(34))
    assert np.flatnonzero(~strict).tolist() == [*range(34), *range(SAMPLES - 43, SAMPLES)]


def test_the_group_is_taken_from_the_intersection(complete):
    _, random = study_texts()
    systems = {"b": refusing(complete, 178, 34), "c": mislabelled(complete, 52, 43)}
    shared = shared_samples(systems, "strict_complete")
    assert int((shared & random).sum()) == 800 - 34
    within = shared_samples({name: scores.of(random) for name, scores in systems.items()}, "strict_complete")
    assert within.tolist() == shared[random].tolist()


def test_systems_must_hold_the_same_samples():
    two, three = (order_scores(np.full((n, 2, 1, 2), 0.5)) for n in (2, 3))
    with pytest.raises(ValueError, match=r"different numbers of samples: \{'a': 2, 'b': 3\}"):
        shared_samples({"a": two, "b": three}, "score_complete")
    with pytest.raises(ValueError, match="at least one system"):
        shared_samples({}, "score_complete")
    with pytest.raises(ValueError, match="not a valid CompletenessRule"):
        shared_samples({"a": two}, "complete")
