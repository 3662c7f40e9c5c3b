"""Whether a hosted system answers: one tiny decision, the same for every interface."""

from __future__ import annotations

import re

from zs_assets.backends.base import CallFault
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.tiny_decision import PRESENTATION, QUESTION
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.names import Outcome

_KEY_KINDS = ("_key", "_authentication")  # ends of the kinds by which hosts refuse a key under another status


async def probe(spec: SystemSpec) -> str:
    """One tiny decision; a sentence on what answered, or BackendUnavailable with what is wrong.

    Local systems answer, too; nothing is sent anywhere for them.
    """
    async with build_backend(spec, QUESTION) as backend:
        where = backend.base_url if isinstance(backend, HostedBackend) else f"'{spec.name}'"
        try:
            reading = backend.read(await backend.ask(PRESENTATION), PRESENTATION)
        except CallFault as fault:
            raise BackendUnavailable(f"{where} did not decide: {fault}; {_advice(spec, fault, backend)}.") from None
    if reading.outcome is not Outcome.OK:
        raise BackendUnavailable(f"{where} answered, but {reading.problem}: check model and interface.")
    if not isinstance(backend, HostedBackend):
        return f"answered {reading.outcome.value} as {reading.model}, probabilities {reading.probabilities}."
    asked = "" if spec.model is None else f" (asked for {spec.model})"
    return f"{where} decided as {reading.model}{asked}, {reading.input_tokens} tokens."


def _advice(spec: SystemSpec, fault: CallFault, backend: object) -> str:
    path = backend.path if isinstance(backend, HostedBackend) else "it"
    if fault.kind in ("http_401", "http_403") or fault.kind.endswith(_KEY_KINDS):
        return f"check the key in {spec.key_env}" if spec.key_env else "it wants a key: name its variable in key_env"
    if fault.kind in ("connection", "timeout"):
        needs = re.sub(r"^gpu\b:?\s*", "", spec.needs, flags=re.IGNORECASE)  # the word is for the queue of its runs
        server = f"that {needs} is there and running" if spec.deployment == "local" and needs else ""
        return f"check {server or 'that it is reachable'}, and {spec.base_url_env or 'base_url'}"
    if fault.kind == "http_400":
        return f"check the model id {spec.model!r}"
    if fault.kind == "http_404":
        return f"check the model id {spec.model!r}, that this host serves {path}, and {spec.base_url_env or 'base_url'}"
    if fault.kind == "http_402":
        return "check the balance of the account"
    return "try again later"
