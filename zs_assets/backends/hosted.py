"""A hosted system over HTTP: clients, key, one POST per presentation. Interfaces add the body and the reading."""

from __future__ import annotations

import os
from abc import abstractmethod
from itertools import cycle

import httpx
from pydantic import SecretStr

from zs_assets import __version__
from zs_assets.backends.base import Backend, RawReply
from zs_assets.backends.http_faults import response_fault, scrub, transport_fault
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.question import Presentation, Question

# One client slows down with many calls on it; several of this many connections keep their rate.
CONNECTIONS_PER_CLIENT = 8


class HostedBackend(Backend):
    """`path` is appended to the base URL; `request_body` gives the JSON bytes of one presentation."""

    path: str
    request_id_header = "x-request-id"

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        self.base_url = base_url_of(spec)
        self._key = SecretStr(os.environ.get(spec.key_env, "") if spec.key_env else "")
        self._clients: list[httpx.AsyncClient] = []

    @abstractmethod
    def request_body(self, presentation: Presentation) -> bytes:
        """The request's JSON, UTF-8."""

    async def __aenter__(self) -> HostedBackend:
        if self.spec.key_env and not self._key.get_secret_value():
            raise BackendUnavailable(f"Backend '{self.spec.name}' needs a key: set {self.spec.key_env}.")
        limits = self.spec.limits
        count = -(-limits.concurrency // CONNECTIONS_PER_CLIENT)
        self._clients = [
            httpx.AsyncClient(
                headers=self._headers(),
                timeout=limits.timeout_s,
                limits=httpx.Limits(
                    max_connections=CONNECTIONS_PER_CLIENT, max_keepalive_connections=CONNECTIONS_PER_CLIENT
                ),
                follow_redirects=False,
            )
            for _ in range(count)
        ]
        self._next_client = cycle(self._clients)
        self._url = httpx.URL(self.base_url + self.path)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for client in self._clients:
            await client.aclose()

    def identity(self) -> dict[str, str]:
        return {"model_requested": self.model_requested, "base_url": self.base_url, "interface": self.spec.interface}

    async def ask(self, presentation: Presentation) -> RawReply:
        secrets = (self._key.get_secret_value(),)
        try:
            response = await next(self._next_client).post(self._url, content=self.request_body(presentation))
        except httpx.HTTPError as error:
            raise transport_fault(error, secrets) from None
        body = response.content.decode("utf-8", "replace")
        request_id = response.headers.get(self.request_id_header)
        if response.status_code != 200:
            raise response_fault(response.status_code, response.headers, body, request_id=request_id, secrets=secrets)
        if secrets[0]:
            body = scrub(body, secrets)
        return RawReply(body, 200, request_id)

    def _headers(self) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": f"zs-assets/{__version__}",
        }
        if self._key.get_secret_value():
            headers["authorization"] = f"Bearer {self._key.get_secret_value()}"
        return headers


def base_url_of(spec: SystemSpec) -> str:
    """The system's base URL without a trailing slash: its environment variable first, then its entry."""
    value = (os.environ.get(spec.base_url_env) if spec.base_url_env else None) or spec.base_url
    where = spec.base_url_env or "base_url"
    if not value or not value.startswith(("http://", "https://")):
        raise BackendUnavailable(
            f"Backend '{spec.name}' has no usable base URL ({value!r}): set {where} to one that begins with http:// or "
            "https://."
        )
    value = value.rstrip("/")
    if value.endswith("/v1"):
        raise BackendUnavailable(f"The base URL of backend '{spec.name}' must not end in /v1: shorten {where}.")
    return value
