"""Statistics of the choice-order study from Parquet, against the same in plain pandas; both have to agree.

Run with `python -m zs_assets_tests.benchmarks.bench_order_statistics`. 504,000 synthetic replies of twelve systems
are written in the layout of our predictions, then each form runs in a process of its own, so that peaks of memory
are its own. Ratios are taken in one run, since absolute times on a shared machine mean little; nothing is asserted
on time. Ours is the median of five runs, the slow forms run once. The permutation test has no pandas form and is
timed apart. Growth is shown up to 2 million replies.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from upath import UPath

from zs_assets.assets.order_scores_reading import ORDER_SCORE_COLUMNS, order_scores_of
from zs_assets.stats import OrderScores, order_effect, shared_samples
from zs_assets.storage.lake import write_table
from zs_assets.storage.schemas import PREDICTIONS
from zs_assets_tests.stats.order_cases import OPTIONS, REPEATS, rotations, study_texts
from zs_assets_tests.stats.order_figures import RULE, Figures, order_figures

SEED = 20261014
RESAMPLES, PERMUTATIONS = 2000, 200
SCALES = (1, 2, 4)
RUNS = 5
TARGET_RATIO, TARGET_CPU, TARGET_MEMORY = 10, 1.0, 600

OPTION_IDS = ["frustration", "disapproval", "sadness", "confusion", "anxiety", "trust", "positive"]
ORDERS = rotations(OPTIONS)


@dataclass(frozen=True)
class System:
    """Decimals, how much a place further ahead adds to a logit, and the spread of a logit between repeats."""

    decimals: int | None
    effect: float
    noise: float


# Seven that do not round, three of hundredths, two of four decimals; blind, weak and strong in their orders.
SYSTEMS = {
    "blind_4_decimals": System(4, 0, 0),
    "blind_a": System(None, 0, 0),
    "blind_b": System(None, 0, 1e-7),
    "hundredths_a": System(2, 0.06, 0.03),
    "hundredths_b": System(2, 0.06, 0.03),
    "weak_a": System(None, 0.08, 0.02),
    "weak_4_decimals": System(4, 0.1, 0.01),
    "medium_a": System(None, 0.15, 0),
    "medium_b": System(None, 0.3, 0),
    "strong_a": System(None, 0.4, 0.01),
    "strong_hundredths": System(2, 0.5, 0.3),
    "strong_b": System(None, 0.6, 0),
}
DECIMALS = {name: system.decimals for name, system in SYSTEMS.items()}
REFUSING, MISLABELLING = "strong_hundredths", {"hundredths_a": 28, "hundredths_b": 43}


@dataclass(frozen=True)
class Measured:
    """Median seconds of one form and the peak of its process's memory in MB, imports included and alone."""

    wall: float
    cpu: float
    peak: float
    before: float
    figures: Any


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for scale in SCALES:
            _in_own_process("write", folder, scale)
            ours = _in_own_process("numpy", folder, scale)
            shuffled = _in_own_process("permutation", folder, scale)
            print(f"{len(SYSTEMS) * len(_samples(scale)[0]) * len(ORDERS) * REPEATS:,} replies")
            _print("zs_assets.stats", ours)
            _print(f"permutation test, {PERMUTATIONS} shuffles", shuffled)
            print("    p of each system " + " ".join(f"{p:.3f}" for p in shuffled.figures))
            if scale == 1:
                pandas = _in_own_process("pandas", folder, scale)
                _print("pandas", pandas)
                _compare(ours, pandas)


def _compare(ours: Measured, pandas: Measured) -> None:
    print(f"    ratio {pandas.cpu / ours.cpu:.1f} x processor, {pandas.wall / ours.wall:.1f} x wall", end="")
    print(f" (aims: {TARGET_RATIO} x, {TARGET_CPU:.0f} s of processor, {TARGET_MEMORY} MB)")
    shown = ("samples", "texts", "median_range", "large_ranges", "winner_changes", "same_order", "excess")
    print("    " + " " * 20 + "".join(f"{figure:>16}" for figure in shown) + "   large_share, whole texts")
    for name, figures in ours.figures.items():
        other = pandas.figures[name]
        assert figures.keys() == other.keys(), "the two forms have different figures"
        apart = max(abs(figures[figure] - other[figure]) for figure in figures)
        assert apart < 1e-9, f"the two forms differ for {name} by {apart}"
        for form, row in (("", figures), ("(pandas)", other)):
            interval = f"{row['large_share_sample_low']:.4f}-{row['large_share_sample_high']:.4f}"
            print(f"    {form or name:<20}" + "".join(f"{row[figure]:>16.6g}" for figure in shown) + f"   {interval}")


def _print(form: str, measured: Measured) -> None:
    print(
        f"  {form:<32}{measured.cpu:8.2f} s processor {measured.wall:8.2f} s wall"
        f" {measured.peak:8.0f} MB peak, {measured.before:.0f} MB of it before the first reply"
    )


def _in_own_process(form: str, folder: str, scale: int) -> Measured:
    command = [sys.executable, "-m", "zs_assets_tests.benchmarks.bench_order_statistics", form, folder, str(scale)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(**json.loads(done.stdout))


def measure(form: str, folder: Path, scale: int) -> None:
    """Run one form here and print what was measured as JSON."""
    call: Callable[[], Any] = {
        "write": lambda: _write(folder, scale),
        "numpy": lambda: _numpy(folder, scale),
        "pandas": lambda: _pandas(folder, scale),
        "permutation": lambda: _permutation(folder, scale),
    }[form]
    if form == "pandas":
        import pandas  # noqa: F401  # its import is not what is measured
    before = _peak()
    runs = []
    for _ in range(RUNS if form == "numpy" else 1):
        wall, cpu = time.perf_counter(), time.process_time()
        figures = call()
        runs.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = sorted(runs)[len(runs) // 2]
    print(json.dumps(asdict(Measured(wall, cpu, _peak(), before, figures))))


def _peak() -> float:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (2**20 if sys.platform == "darwin" else 2**10)


def _read(folder: Path, scale: int) -> dict[str, OrderScores]:
    texts, _ = _samples(scale)
    return {
        name: order_scores_of(
            pa.concat_tables(_columns(path) for path in sorted((folder / f"backend={name}").glob("part*.parquet"))),
            OPTIONS,
            len(ORDERS),
            REPEATS,
            _ids(len(texts)),
            OPTION_IDS,
            ORDERS,
            system.decimals,
        )
        for name, system in SYSTEMS.items()
    }


def _columns(path: Path) -> pa.Table:
    """What the statistics need, and strings as codes: each of them is repeated 42 times or more."""
    file = pq.ParquetFile(path, read_dictionary=["example_id", "outcome", "choice"])
    return file.read(columns=list(ORDER_SCORE_COLUMNS))


def _numpy(folder: Path, scale: int) -> Figures:
    texts, random = _samples(scale)
    return order_figures(_read(folder, scale), texts, random, resamples=RESAMPLES, seed=SEED)


def _permutation(folder: Path, scale: int) -> list[float]:
    systems = _read(folder, scale)
    shared = shared_samples(systems, RULE) & _samples(scale)[1]
    p_values = []
    for scores in systems.values():
        effect = order_effect(scores.of(shared), permutations=PERMUTATIONS, rng=np.random.default_rng(SEED))
        assert effect is not None
        p_values.append(effect.p_value)
    return p_values


def _pandas(folder: Path, scale: int) -> Figures:
    import pandas as pd

    from zs_assets_tests.stats.order_pandas_form import pandas_order_figures

    replies = {}
    for name in SYSTEMS:
        files = sorted((folder / f"backend={name}").glob("part*.parquet"))
        frame = pd.concat([pd.read_parquet(f, columns=list(ORDER_SCORE_COLUMNS)) for f in files], ignore_index=True)
        vectors = frame["probabilities"].dropna()
        scores = pd.DataFrame(np.stack(vectors.to_numpy()), index=vectors.index, columns=OPTION_IDS)
        replies[name] = frame.drop(columns="probabilities").join(scores)
    texts, random = _samples(scale)
    samples = pd.DataFrame({"text": texts, "grouped": random}, index=_ids(len(texts)))
    return pandas_order_figures(
        replies, samples, DECIMALS, orders=len(ORDERS), repeats=REPEATS, resamples=RESAMPLES, seed=SEED
    )


def _samples(scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Text codes and random group of the study, or of several such sets with other texts."""
    texts, random = study_texts()
    return np.concatenate([texts + k * len(texts) for k in range(scale)]), np.tile(random, scale)


def _ids(n: int) -> list[str]:
    return [f"reactions:{sample}" for sample in range(n)]


def _write(folder: Path, scale: int) -> None:
    texts, _ = _samples(scale)
    rng = np.random.default_rng(SEED)
    logits = rng.normal(0, 2, (int(texts.max()) + 1, OPTIONS))[texts]
    for name, system in SYSTEMS.items():
        write_table(UPath(folder / f"backend={name}"), _predictions(name, system, logits, rng))


def _predictions(name: str, system: System, logits: np.ndarray, rng: np.random.Generator) -> pa.Table:
    """All planned replies of one system, repeat by repeat as plans are stored, samples and orders shuffled."""
    n = len(logits)
    ahead = np.argsort(ORDERS, axis=1)[None, :, None, :] * -system.effect
    moved = logits[:, None, None, :] + ahead + np.zeros((n, len(ORDERS), REPEATS, OPTIONS))
    if system.noise:
        moved += rng.normal(0, system.noise, moved.shape)
    weights = np.exp(moved)
    scores = weights / weights.sum(axis=3, keepdims=True)
    if system.decimals is not None:
        scores = np.round(scores, system.decimals)
    chosen, refused = scores.argmax(axis=3), np.zeros(scores.shape[:3], dtype=bool)
    if name in MISLABELLING:
        # Past the samples of the text with many copies, which are to stay in the comparison.
        mislabelled = slice(100, 100 + MISLABELLING[name])
        chosen[mislabelled, 2, 1] = scores[mislabelled, 2, 1].argmin(axis=1)
    if name == REFUSING:
        refused[-300:-266, 5:7] = True
    sample, order, repeat = (axis.ravel() for axis in np.indices(refused.shape))
    rows = np.lexsort((rng.random(refused.size), repeat))
    missing = refused.ravel()[rows]
    vectors = pa.FixedSizeListArray.from_arrays(scores.reshape(-1, OPTIONS)[rows].ravel(), OPTIONS)
    columns = {
        "example_id": pa.array(np.array(_ids(n), dtype=object)[sample[rows]]),
        "order_index": pa.array(order[rows], pa.int32()),
        "repeat": pa.array(repeat[rows], pa.int32()),
        "outcome": pa.array(np.where(missing, "refusal", "ok").astype(object)),
        "probabilities": pa.compute.if_else(missing, None, vectors.cast(pa.list_(pa.float64()))),
        "choice": pa.array(np.array(OPTION_IDS, dtype=object)[chosen.ravel()[rows]], mask=missing),
    }
    return pa.table(columns, schema=pa.schema([PREDICTIONS.field(column) for column in columns]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
