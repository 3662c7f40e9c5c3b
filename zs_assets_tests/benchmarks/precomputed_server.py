"""A server of fixed System One replies, as bare as asyncio allows: `python -m ...precomputed_server [OPTION ...]`.

It prints its URL. With the options of another question it goes round 997 replies of random scores, so that what is
stored compresses as a real run does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
from collections.abc import Sequence

THREE = {"rain": 0.6, "bread": 0.25, "trade": 0.15}
DIFFERENT_REPLIES = 997


def reply(scores: dict[str, float]) -> bytes:
    choice = max(scores, key=scores.__getitem__)
    answer = {"type": "choice", "choice": choice, "confidence": 0.4, "probabilities": scores}
    usage = {"input_tokens": 330, "output_tokens": 38}
    body = json.dumps({"model": "jev-1.13.0", "answers": {"label": answer}, "usage": usage}).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n".encode()
    return head + b"x-typesafe-request-id: req_0\r\n\r\n" + body


def random_scores(options: Sequence[str], draws: random.Random) -> dict[str, float]:
    """Hundredths that sum to one, as Jev reports them."""
    cuts = sorted(draws.choices(range(101), k=len(options) - 1))
    shares = [high - low for low, high in itertools.pairwise([0, *cuts, 100])]
    return {option: share / 100 for option, share in zip(options, shares, strict=True)}


def replies(options: Sequence[str]) -> list[bytes]:
    draws = random.Random(1)
    return [reply(random_scores(options, draws)) for _ in range(DIFFERENT_REPLIES)] if options else [reply(THREE)]


REPLIES = itertools.cycle(replies(sys.argv[1:]))


class Answerer(asyncio.Protocol):
    """Answers every request with bytes made beforehand."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._data = b""

    def data_received(self, data: bytes) -> None:
        self._data += data
        while True:
            head_end = self._data.find(b"\r\n\r\n")
            if head_end < 0:
                return
            at = self._data[:head_end].lower().find(b"content-length:")
            length = int(self._data[at + 15 : self._data.find(b"\r\n", at)]) if at >= 0 else 0
            if len(self._data) < head_end + 4 + length:
                return
            self._data = self._data[head_end + 4 + length :]
            self._transport.write(next(REPLIES))  # type: ignore[attr-defined]


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Answerer, "127.0.0.1", 0)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
