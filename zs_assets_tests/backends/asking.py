"""Asking a backend outside a collection: presentations of small questions, and sockets that refuse to open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from zs_assets.backends.base import Backend, RawReply, Reading
from zs_assets.backends.systems import SystemSpec, known_systems
from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.question import Example, Option, Presentation, Question


def question(labels: dict[str, str | None], instructions: str = "Which label fits?") -> Question:
    return Question(instructions, tuple(Option(name, text) for name, text in labels.items()))


def example(text: str, name: str = "e1", target: int | None = None) -> Example:
    return Example(name, text, sha256_text(text), target)


def presentation(of: Question, text: str, order: Sequence[int] | None = None) -> Presentation:
    return Presentation(example(text), tuple(order or range(len(of))), order_index=0, repeat=0)


def shipped(name: str, /, **changes: Any) -> SystemSpec:
    return known_systems()[name].model_copy(update=changes)


def ask_all(backend: Backend, presentations: Iterable[Presentation]) -> list[tuple[RawReply, Reading]]:
    async def run() -> list[tuple[RawReply, Reading]]:
        async with backend:
            replies = [(p, await backend.ask(p)) for p in presentations]
            return [(reply, backend.read(reply, p)) for p, reply in replies]

    return asyncio.run(run())


@contextmanager
def sockets_blocked() -> Iterator[None]:
    """No connection, no name look-up; the event loop's own socket pair stays possible."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a local backend opened the network")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, refuse)
        for name in ("create_connection", "getaddrinfo"):
            patch.setattr(socket, name, refuse)
        yield
