"""What every local model shares: one worker thread, a warm-up outside the time, a body with every digit, a pin.

Subclasses load a model and return probabilities; which words a model reads of an option is decided in its module.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from zs_assets.backends.base import Backend, CallFault, RawReply, Reading, Remedy
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.errors import BackendUnavailable, StudyError, ZsAssetsError
from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Example, Presentation, Question

_WARM_UP_CALLS = 2  # the first two calls of onnxruntime and torch are slower than all later ones
_WARM_UP_TEXT = "A short text that belongs to no dataset."
_Result = TypeVar("_Result")


class Settings(BaseModel):
    """Base of an interface's `settings`: closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_SettingsT = TypeVar("_SettingsT", bound=Settings)


def read_settings(spec: SystemSpec, model: type[_SettingsT]) -> _SettingsT:
    """The entry's settings as the interface's own model; StudyError names the key and the allowed ones."""
    try:
        return model.model_validate(spec.settings)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        allowed = ", ".join(model.model_fields) or "none"
        raise StudyError(
            f"Backend '{spec.name}' is wrong at 'settings.{key}': {problem['msg']} (allowed settings: {allowed})."
        ) from None


class LocalBackend(Backend):
    """A model in this process. Subclasses give `load` and `vector`, and say what pins them."""

    extra: ClassVar[str | None] = None  # the zs-assets extra that brings its packages
    distributions: ClassVar[tuple[str, ...]] = ()  # packages whose versions belong to the record
    settings_model: ClassVar[type[Settings]] = Settings

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        self.settings: Any = read_settings(spec, self.settings_model)
        self._worker: ThreadPoolExecutor | None = None

    def load(self) -> None:
        """Loads the model, in the thread that will run it. ImportError means a missing extra."""

    @abstractmethod
    def vector(self, presentation: Presentation) -> Sequence[float]:
        """Probabilities in the order sent (`presentation.order`)."""

    def answer(self, presentation: Presentation) -> dict[str, float]:
        """Option id -> probability, as the model gave it. A model that names its labels overrides this."""
        sent = [self.question.ids[index] for index in presentation.order]
        values = [float(value) for value in self.vector(presentation)]
        # A vector of another length must not be cut to fit: the surplus shows up as labels nobody declared.
        pairs = enumerate(zip_longest(sent, values))
        return {f"#{i}" if option is None else option: value for i, (option, value) in pairs if value is not None}

    def truncated(self, presentation: Presentation) -> bool | None:
        """Whether the model cut this text; None where that cannot be seen."""
        return None

    @property
    def model_resolved(self) -> str:
        """The name the replies carry; with the revision where the model has one."""
        return self.model_requested

    def model_identity(self) -> dict[str, str]:
        """What pins the model beside package versions (hashes, threads, rewrites)."""
        return {}

    def identity(self) -> dict[str, str]:
        versions = {f"version_{name}": _version(name) for name in self.distributions}
        return {**super().identity(), "model": self.model_resolved, **self.model_identity(), **versions, **hardware()}

    async def __aenter__(self) -> LocalBackend:
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"backend-{self.spec.name}")
        try:
            await self._in_worker(self._start)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._worker is not None:
            self._worker.shutdown(wait=False)
            self._worker = None

    async def ask(self, presentation: Presentation) -> RawReply:
        return await self._in_worker(lambda: self._reply(presentation))

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        try:
            body = json.loads(reply.body)
        except (ValueError, RecursionError):
            return Reading(Outcome.INVALID, problem="the body is not JSON")
        if not isinstance(body, dict):
            return Reading(Outcome.INVALID, problem="the body is not a JSON object")
        probabilities, problem = read_vector(body.get("probabilities"), self.question, self.sum_tolerance)  # type: ignore[arg-type]
        model, truncated = body.get("model"), body.get("truncated")
        return Reading(
            Outcome.OK if problem is None else Outcome.INVALID,
            probabilities=probabilities,
            model=model if isinstance(model, str) else None,
            truncated=truncated if isinstance(truncated, bool) else None,
            problem=problem,
        )

    async def _in_worker(self, call: Callable[[], _Result]) -> _Result:
        if self._worker is None:
            raise RuntimeError(f"backend '{self.spec.name}' is used outside its context manager")
        return await asyncio.get_running_loop().run_in_executor(self._worker, call)

    def _start(self) -> None:
        try:
            self.load()
            for _ in range(_WARM_UP_CALLS):
                self.answer(self._warm_up_presentation())
        except ZsAssetsError:
            raise
        except ImportError as error:
            raise BackendUnavailable(missing_extra(self.spec, self.extra, error.name)) from error
        except Exception as error:
            raise BackendUnavailable(
                f"Backend '{self.spec.name}' failed while loading or warming up: {type(error).__name__}: "
                f"{_first_line(error)}."
            ) from error

    def _warm_up_presentation(self) -> Presentation:
        example = Example("warm_up", _WARM_UP_TEXT, sha256_text(_WARM_UP_TEXT), None)
        return Presentation(example, tuple(range(len(self.question))), order_index=0, repeat=0)

    def _reply(self, presentation: Presentation) -> RawReply:
        try:
            body: dict[str, Any] = {"probabilities": self.answer(presentation), "model": self.model_resolved}
            truncated = self.truncated(presentation)
        except Exception as error:  # whatever a library raises on one text is that text's outcome, not the run's end
            raise CallFault(
                "model_failed", Remedy.GIVE_UP, detail=f"{type(error).__name__}: {_first_line(error)}"
            ) from error
        if truncated is not None:
            body["truncated"] = truncated
        return RawReply(json.dumps(body, ensure_ascii=False, separators=(",", ":")))


def missing_extra(spec: SystemSpec, extra: str | None, module: str | None = None) -> str:
    """The sentence for a backend whose packages are not installed."""
    name = spec.extra or extra
    if name is None:
        return f"Backend '{spec.name}' needs the package {module}: pip install it."
    return f"Backend '{spec.name}' needs the {name} extra: pip install 'zs-assets[{name}]'."


def sha256_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@cache
def hardware() -> dict[str, str]:
    """The machine a latency was measured on."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cpu_model": _cpu_model(),
        "cpu_count": str(os.cpu_count() or "unknown"),
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux: platform knows
    return platform.processor() or platform.machine() or "unknown"


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0][:200]
