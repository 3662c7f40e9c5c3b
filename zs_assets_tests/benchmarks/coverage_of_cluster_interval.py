"""How often the interval over whole texts holds the truth, where copies of a text mostly agree.

Run with `python -m zs_assets_tests.benchmarks.coverage_of_cluster_interval [samples]`. How many copies each text has
is assumed, since the published study gives totals only (721 samples of 674 texts). A text has a score of its own for
each of two systems, in part the same; every copy adds a little noise, and a score above a limit is a hit. Copies do
not depend on scores, so both weightings estimate the same share.

1,000 studies each gave 94 to 96 % for the shapes like the published one, where single samples give 88 to 91 %, and
93 to 96 % with one text of 20 or 60 copies among 150, where single samples give 73 % and 17 %. The limit is a sample
of which three texts are more than a third: 91 % weighted by sample, 93 % by text.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from zs_assets.stats.cluster_bootstrap import ClusterDraws

SAMPLES, RESAMPLES, SEED = 1000, 1000, 20261014


@dataclass(frozen=True)
class Population:
    """Copies per text, and what a hit depends on: a normal score of text plus copy that passes a limit.

    Attributes
    ----------
    sizes : copies of each text
    copy_noise : variance of what differs between copies, of a total of 1; the rest belongs to the text
    common : share of the text's part that the two systems have in common
    limits : score a hit of each system has to pass
    """

    name: str
    sizes: tuple[int, ...]
    copy_noise: float = 0.05
    common: float = 0.7
    limits: tuple[float, float] = (-0.2, -0.1)

    def texts(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def shares(self) -> np.ndarray:
        """True shares of hits of the two systems, the same for samples and texts."""
        return ndtr(-np.array(self.limits))

    def hits(self, rng: np.random.Generator) -> np.ndarray:
        """bool (n, 2)."""
        texts = self.texts()
        shared, own = rng.normal(size=(len(self.sizes), 1)), rng.normal(size=(len(self.sizes), 2))
        of_text = np.sqrt(self.common) * shared + np.sqrt(1 - self.common) * own
        of_copy = rng.normal(size=(len(texts), 2))
        score = np.sqrt(1 - self.copy_noise) * of_text[texts] + np.sqrt(self.copy_noise) * of_copy
        return score > np.array(self.limits)


LIKE_THE_STUDY = Population("721 samples of 674 texts, one with 20 copies", (20, *[3] * 6, *[2] * 16, *[1] * 651))
HARSH = Population("245 samples of 150 texts, one with 60 copies", (60, *[3] * 8, *[2] * 20, *[1] * 121))
POPULATIONS = (
    LIKE_THE_STUDY,
    replace(LIKE_THE_STUDY, name="the same, 95 % and 93 % hits", limits=(-1.64, -1.48)),
    Population("205 samples of 150 texts, one with 20 copies", (20, *[3] * 8, *[2] * 20, *[1] * 121)),
    HARSH,
    Population("267 samples of 150 texts, three with 20 copies", (20, 20, 20, *[5] * 10, *[2] * 20, *[1] * 117)),
    Population("337 samples of 143 texts: 60, 40 and 20 copies", (60, 40, 20, *[5] * 10, *[2] * 30, *[1] * 100)),
)
SAMPLE, TEXT, PAIRED, SINGLE = "sample-weighted", "text-weighted", "paired difference", "single samples (fails)"


def simulated_coverage(population: Population, samples: int, resamples: int) -> dict[str, float]:
    """Share of simulated studies whose 95 % interval holds the truth, by kind of interval."""
    texts, (a, b) = population.texts(), population.shares
    rng = np.random.default_rng(SEED)
    held = dict.fromkeys((SAMPLE, TEXT, PAIRED, SINGLE), 0)
    for seed in range(samples):
        hits = population.hits(rng)
        whole = ClusterDraws(texts, seed=seed, resamples=resamples)
        single = ClusterDraws(np.arange(len(texts)), seed=seed, resamples=resamples)
        by_sample = whole.sample_weighted(hits)
        for kind, draws, truth in (
            (SAMPLE, by_sample[:, 0], a),
            (TEXT, whole.text_weighted(hits[:, 0]), a),
            (PAIRED, by_sample[:, 0] - by_sample[:, 1], a - b),
            (SINGLE, single.sample_weighted(hits[:, 0]), a),
        ):
            low, high = whole.interval(draws)
            held[kind] += bool(low <= truth <= high)
    return {kind: count / samples for kind, count in held.items()}


def main(samples: int = SAMPLES) -> None:
    print(f"{samples} simulated studies, {RESAMPLES} resamples, nominal 95 %; Monte-Carlo error in brackets")
    print(f"{'':<50}" + "".join(f"{kind:>24}" for kind in (SAMPLE, TEXT, PAIRED, SINGLE)))
    for population in POPULATIONS:
        covered = simulated_coverage(population, samples, RESAMPLES)
        cells = [
            f"{100 * share:.1f} [{100 * np.sqrt(share * (1 - share) / samples):.1f}]" for share in covered.values()
        ]
        print(f"{population.name:<50}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
