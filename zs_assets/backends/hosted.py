"""A hosted system over HTTP: clients, key, one POST per presentation. Interfaces add the body and the reading."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping

import httpx
from pydantic import SecretStr

from zs_assets import __version__
from zs_assets.backends.base import Backend, CallFault, RawReply
from zs_assets.backends.http_faults import response_fault, scrub, transport_fault
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.question import Presentation, Question

# One client slows down with many calls on it (a sixth of the rate at 64); several of this many connections keep it.
CONNECTIONS_PER_CLIENT = 8
SHOWN_SERVED = 4000  # characters of what a server says of itself
_ADDED_TO_BASES = ("/v1", "/v1beta", "/beta")  # how the paths of the interfaces begin


class HostedBackend(Backend):
    """`path` is appended to the base URL; `request_body` gives the JSON bytes of one presentation."""

    path: str
    request_id_header = "x-request-id"
    identity_path: str | None = None
    """Address that says what is served; asked once per run, its answer goes into the record."""

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        self.base_url = base_url_of(spec)
        self._url = httpx.URL(self.base_url + self.path)
        self._key = SecretStr(key_of(spec))
        self._clients: list[httpx.AsyncClient] = []
        self._free: list[httpx.AsyncClient] = []  # each client once per connection it has left
        self._served = ""

    @abstractmethod
    def request_body(self, presentation: Presentation) -> bytes:
        """The request's JSON, UTF-8."""

    async def __aenter__(self) -> HostedBackend:
        if self.spec.key_env and not self.spec.key_optional and not self._key.get_secret_value():
            raise BackendUnavailable(f"Backend '{self.spec.name}' needs a key: set {self.spec.key_env}.")
        limits = self.spec.limits
        count = -(-limits.concurrency // CONNECTIONS_PER_CLIENT)
        # Once for all clients, and not where nothing is encrypted: reading them costs more than a call.
        certificates = httpx.create_ssl_context() if self._url.scheme == "https" else False
        self._clients = [
            httpx.AsyncClient(
                headers=self._headers(),
                timeout=limits.timeout_s,
                limits=httpx.Limits(
                    max_connections=CONNECTIONS_PER_CLIENT, max_keepalive_connections=CONNECTIONS_PER_CLIENT
                ),
                verify=certificates,
                follow_redirects=False,
                trust_env=False,  # a proxy of the environment would receive the key, and its delay be measured
            )
            for _ in range(count)
        ]
        self._free = [client for client in self._clients for _ in range(CONNECTIONS_PER_CLIENT)]
        if self.identity_path is not None:
            self._served = await self._ask_what_is_served(self.identity_path)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for client in self._clients:
            await client.aclose()
        self._clients, self._free = [], []

    def identity(self) -> dict[str, str]:
        known = {"model_requested": self.model_requested, "base_url": self.base_url, "interface": self.spec.interface}
        if self.spec.revision:
            known["revision_declared"] = self.spec.revision  # what its operator was told to start; nothing proves it
        return known | ({"served": self._served} if self._served else {})

    async def _ask_what_is_served(self, path: str) -> str:
        """What the server says of itself, scrubbed and short; a reason in words where it says nothing.

        Never raises: a server without that address still answers questions, and the record shows the gap.
        """
        secrets = (self._key.get_secret_value(),)
        try:
            response = await self._clients[0].get(httpx.URL(self.base_url + path))
        except httpx.HTTPError as error:
            return f"unknown: {transport_fault(error, secrets)}"
        if response.status_code != 200:
            return f"unknown: {path} answered {response.status_code}"
        return scrub(response.content.decode("utf-8", "replace"), secrets)[:SHOWN_SERVED]

    async def ask(self, presentation: Presentation) -> RawReply:
        secrets = (self._key.get_secret_value(),)
        # The last one back goes out first, so a light load keeps few connections warm and none waits for a full client.
        client = self._free.pop() if self._free else self._clients[0]
        try:
            response = await client.post(self._url, content=self.request_body(presentation))
        except httpx.HTTPError as error:
            raise transport_fault(error, secrets) from None
        finally:
            self._free.append(client)
        body = response.content.decode("utf-8", "replace")
        request_id = response.headers.get(self.request_id_header)
        request_id = None if request_id is None else scrub(request_id, secrets)
        if response.status_code != 200:
            raise self.fault_of(response.status_code, response.headers, body, request_id)
        body = scrub(body, secrets)
        fault = self.fault_in(body, request_id)
        if fault is not None:
            raise fault
        return RawReply(body, 200, request_id or self.id_in(body))

    def fault_in(self, body: str, request_id: str | None) -> CallFault | None:
        """The fault of an answer 200 that is an error all the same; None where it is a reply. The body is scrubbed."""
        return None

    def fault_of(self, status: int, headers: Mapping[str, str], body: str, request_id: str | None) -> CallFault:
        """What an answer other than 200 means; scrubbed of the key."""
        secrets = (self._key.get_secret_value(),)
        return response_fault(status, headers, body, request_id=request_id, secrets=secrets)

    def id_in(self, body: str) -> str | None:
        """The call's id where a reply carries it in its body."""
        return None

    def _headers(self) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": f"zs-assets/{__version__}",
        }
        return headers | self._auth_headers(self._key.get_secret_value())

    def _auth_headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key; an empty key is not sent."""
        return {"authorization": f"Bearer {key}"} if key else {}


def key_of(spec: SystemSpec) -> str:
    """The key in the system's environment variable; empty where there is none."""
    key = os.environ.get(spec.key_env, "").strip() if spec.key_env else ""
    if not all("!" <= character <= "~" for character in key):
        # Said here, because the HTTP library would say it with the key in its message.
        raise BackendUnavailable(
            f"The key of backend '{spec.name}' holds spaces or other characters no header can carry: set "
            f"{spec.key_env} to the key alone."
        )
    return key


def base_url_of(spec: SystemSpec) -> str:
    """The system's base URL without a trailing slash: its environment variable first, then its entry.

    The messages do not repeat the value: a key may have been put there by mistake.
    """
    from_environment = os.environ.get(spec.base_url_env, "").strip() if spec.base_url_env else ""
    value = (from_environment or spec.base_url or "").rstrip("/")
    where = spec.base_url_env if from_environment or not spec.base_url else "base_url in its entry"
    try:
        url = httpx.URL(value)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise BackendUnavailable(
            f"Backend '{spec.name}' has no usable base URL: set {where or 'base_url in its entry'} to one such as "
            "https://host (no user, no query)."
        )
    added = next((end for end in _ADDED_TO_BASES if value.endswith(end)), None)
    if added is not None:
        raise BackendUnavailable(
            f"The base URL of backend '{spec.name}' must not end in {added}, which is added to it: shorten {where}."
        )
    return value
