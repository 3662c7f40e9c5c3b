"""A small collection from the Jev stand-in, as a library call and as a process that can be killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from zs_assets.backends.systemone import SystemOneBackend
from zs_assets.backends.systems import Limits, SystemSpec, known_systems
from zs_assets.collection import Collected, JournalHeader, collect
from zs_assets.protocol.hashing import prompt_hash, sha256_text
from zs_assets.protocol.question import Example, Option, Presentation, Question

KEY = "apikey_0123456789secret"
QUESTION = Question(
    "What is the text about?",
    (
        Option("rain", "The text is about rain."),
        Option("bread", "The text is about bread."),
        Option("trade", "The text is about trade."),
    ),
)


def jev(**limits: float) -> SystemSpec:
    """The shipped entry, without its send rate and with short waits unless asked for."""
    spec = known_systems()["jev"]
    chosen = {"concurrency": 4, "timeout_s": 1.0, "max_wait_s": 0.05} | limits
    return spec.model_copy(update={"limits": Limits(**chosen)})  # type: ignore[arg-type]


def presentations(count: int) -> list[Presentation]:
    texts = [f"Text number {index} about rain, or bread." for index in range(count)]
    examples = [Example(f"d:{index}", text, sha256_text(text), index % 3) for index, text in enumerate(texts)]
    return [Presentation(example, (0, 1, 2), 0, 0) for example in examples]


def header(**changes: str) -> JournalHeader:
    values = {
        "study": "s",
        "dataset": "d",
        "backend": "jev",
        "prompt_hash": prompt_hash(QUESTION),
        "protocol_hash": "p",
        "manifest_hash": "m",
        "model_requested": "jev-latest",
        "spec_hash": "x",
    }
    return JournalHeader(**(values | changes))


def collect_jev(journal: Path, url: str, count: int, *, spec: SystemSpec | None = None, **options) -> Collected:
    os.environ["TYPESAFE_BASE_URL"] = url
    os.environ["TYPESAFE_API_KEY"] = KEY
    backend = SystemOneBackend(spec or jev(), QUESTION)
    return collect(backend, presentations(count), journal, header(), **{"attempt_budget": 4, **options})


if __name__ == "__main__":  # python -m zs_assets_tests.collection.jev_run JOURNAL URL COUNT
    collect_jev(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
