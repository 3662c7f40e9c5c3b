"""The entry `laya` against Laya's own server, with a checkpoint of random weights in the place of the English one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from zs_assets.backends.registry import build_backend
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped
from zs_assets_tests.backends.tiny_laya import build_tiny_laya

laya = pytest.importorskip("laya")
pytest.importorskip("torch")
pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")

LABELS = question({"rain": "The text is about rain.", "bread": None, "trade": "About trade."}, "What is it about?")
TEXTS = ("It rained all day.", "Bread rises in the oven.")
LONG = "It rained all day. " * 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    corpus = [*TEXTS, LONG, LABELS.instructions, *(option.sentence for option in LABELS.options)] * 5
    return build_tiny_laya(tmp_path_factory.mktemp("laya"), corpus)


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    from laya.serve import create_app

    app = create_app(laya.Router(models={"english": str(folder)}, device="cpu"))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


def test_the_server_takes_our_request_and_answers_as_the_package_in_process_does(url: str, folder: Path):
    presentations = [presentation(LABELS, text, (2, 0, 1)) for text in TEXTS]
    served = build_backend(shipped("laya", base_url=url, base_url_env=None), LABELS)
    local = build_backend(shipped("laya_local", settings={"folder": str(folder)}), LABELS)
    for (_, theirs), (_, ours) in zip(ask_all(served, presentations), ask_all(local, presentations), strict=True):
        assert theirs.outcome is Outcome.OK, theirs.problem
        assert theirs.probabilities == pytest.approx(ours.probabilities, abs=1.01e-4)
        assert (theirs.input_tokens, theirs.truncated) == (ours.input_tokens, False)
        assert theirs.model == f"laya-rl-agent@{folder}"


def test_a_text_the_server_cut_says_so_and_its_health_is_recorded(url: str):
    backend = build_backend(shipped("laya", base_url=url, base_url_env=None), LABELS)
    ((_, reading),) = ask_all(backend, [presentation(LABELS, LONG)])
    assert (reading.outcome, reading.truncated) == (Outcome.OK, True)
    assert "english" in backend.identity()["served"]
