"""The three shipped label-only systems, bound to a small question and to any address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from zs_assets.backends.label_only import LabelOnlyBackend
from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import Limits, SystemSpec
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.question import Question
from zs_assets_tests.backends.asking import question, shipped

KEY = "sk-0123456789-very-secret"
SYSTEMS = ("deepseek", "opus", "gemini_flash")
LABELS = question(
    {"refund": "wants money back", "late delivery": 'Päckchen "fehlt"', "a/b: other": None}, "What is it about?"
)


def label_system(name: str, url: str = "http://localhost:1", settings: dict[str, Any] | None = None) -> SystemSpec:
    """The shipped entry at an address, with short waits; `settings` replace some of its own."""
    spec = shipped(name)
    limits = Limits(concurrency=2, timeout_s=5.0, max_wait_s=0.05)
    changes = {
        "base_url": url,
        "base_url_env": None,
        "settings": {**spec.settings, **(settings or {})},
        "limits": limits,
    }
    return spec.model_copy(update=changes)


def label_backend(
    name: str, url: str = "http://localhost:1", of: Question = LABELS, **settings: Any
) -> LabelOnlyBackend:
    backend = build_backend(label_system(name, url, settings), of)
    assert isinstance(backend, LabelOnlyBackend)
    return backend


def set_keys(patch: pytest.MonkeyPatch, key: str = KEY) -> None:
    for name in SYSTEMS:
        patch.setenv(str(shipped(name).key_env), key)
        patch.delenv(str(shipped(name).base_url_env), raising=False)


@contextmanager
def label_servers() -> Iterator[dict[str, LocalServer]]:
    """A stand-in of each label-only system, by name."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(LocalServer(name, seed=1, key=KEY)) for name in SYSTEMS}
