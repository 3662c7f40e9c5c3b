"""A server of fixed System One replies, as bare as asyncio allows: `python -m ...precomputed_server` prints its URL."""

from __future__ import annotations

import asyncio
import json

OPTIONS = ("rain", "bread", "trade")
BODY = json.dumps(
    {
        "model": "jev-1.13.0",
        "answers": {
            "label": {
                "type": "choice",
                "choice": "rain",
                "confidence": 0.4,
                "probabilities": {"rain": 0.6, "bread": 0.25, "trade": 0.15},
            }
        },
        "usage": {"input_tokens": 330, "output_tokens": 38},
    }
).encode()
HEAD = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(BODY)}\r\n".encode()
REPLY = HEAD + b"x-typesafe-request-id: req_0\r\n\r\n" + BODY


class Answerer(asyncio.Protocol):
    """Answers every request with the same bytes."""

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
            self._transport.write(REPLY)  # type: ignore[attr-defined]


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Answerer, "127.0.0.1", 0)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
