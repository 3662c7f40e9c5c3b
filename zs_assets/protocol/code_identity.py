"""Which code this process runs: the package's version, and one hash over its files.

Workers keep the code they began with. A version says too little of a checkout that is worked on, so runs are compared
by the hash.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import zs_assets
from zs_assets import __version__

PACKAGE = Path(zs_assets.__file__).parent
CODE_ENDINGS = frozenset({".py", ".yaml", ".j2", ".css", ".js"})
# Copied in by the build: a checkout has the demo sets elsewhere. They are data, and named by hashes of their own.
NOT_CODE = frozenset({"__pycache__", "demo_data"})

CODE_TAG = "zs_assets/code"
"""Tag of a run: the hash of the code of whoever submitted it."""


@dataclass(frozen=True)
class CodeIdentity:
    """Version of the package, and sha256 in hex over its files."""

    package_version: str
    code_sha256: str


def code_files(package: Path = PACKAGE) -> list[Path]:
    """Files that are the package's code, relative to it, in the sequence in which they are hashed."""
    found = (path.relative_to(package) for path in package.rglob("*") if path.suffix in CODE_ENDINGS)
    return sorted((path for path in found if NOT_CODE.isdisjoint(path.parts)), key=lambda path: path.as_posix())


def hash_of_code(package: Path = PACKAGE) -> str:
    """sha256 in hex over names and bytes of the code files.

    Each name and each content goes in with its length before it, so that no two packages give the same bytes. The same
    files in another folder, in a wheel or in an editable install have the same hash.
    """
    whole = hashlib.sha256()
    for path in code_files(package):
        for part in (path.as_posix().encode(), (package / path).read_bytes()):
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


# Taken when the process loads the package (10 ms), not when it is first asked for: a worker that waited through an
# update runs the old modules, and the files would already be the new ones.
_LOADED = CodeIdentity(__version__, hash_of_code())


def code_identity() -> CodeIdentity:
    """The code of this process, as it was when the package was loaded."""
    return _LOADED


def load_own_modules() -> dict[str, str]:
    """Imports every module of the package, so that none is read later, from files that may be other code by then.

    For a worker, when it starts. Libraries that modules import only where they need them stay unloaded.

    Returns
    -------
    dict[str, str]
        Modules left out because a library of an extra is not installed: name -> that library. Nothing of this process
        can use them.

    Raises
    ------
    ImportError
        A module of the package itself is missing or broken: the installation was changed while the process began.
    """
    left_out = {}
    for name in _module_names():
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            library = (error.name or "").split(".")[0]
            if library in ("", PACKAGE.name):
                raise
            left_out[name] = library
    return left_out


def _module_names() -> list[str]:
    """Importable modules of the package: not `__main__`, which is a program."""
    files = (path for path in code_files() if path.suffix == ".py" and path.stem != "__main__")
    return [".".join((PACKAGE.name, *path.with_suffix("").parts)).removesuffix(".__init__") for path in files]


WORKER_COMMAND = "zs_assets_code"
"""Remote-control command by which a Celery worker says its code."""
