"""From a path in a study to a local file: environment references, relative paths, and downloads that are kept."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.hashing import sha256_text

_REFERENCE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
_TIMEOUT_S = 60.0
NAME_LENGTH = 80  # of a kept download, from the end: file systems take no more than 255


def expanded(path: str, where: str) -> str:
    """The path with `${NAME}` and `${NAME:-default}` filled in; SourceError names a variable that is not set."""

    def value(reference: re.Match[str]) -> str:
        found = os.environ.get(reference["name"]) or reference["default"]
        if not found:
            raise SourceError(f"{where} names ${{{reference['name']}}}, which is not set: set {reference['name']}.")
        return found

    return _REFERENCE.sub(value, path)


def is_url(path: str) -> bool:
    return path.startswith(("https://", "http://"))


def local_file(path: str, study_folder: Path | None, where: str) -> Path:
    """The file itself; a URL is downloaded once and kept.

    Parameters
    ----------
    path
        As written in the study.
    study_folder
        Where relative paths start; None: the working folder.
    where
        What the path is, for complaints (`The path of a file source`).

    Raises
    ------
    SourceError
        If the file is not there or may not be read, or a download fails.
    """
    plain = expanded(path, where)
    if is_url(plain):
        return _downloaded(plain, path, where)
    file = (study_folder or Path()) / Path(plain).expanduser()
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise SourceError(
            f"{where}: {file} {what}: correct the path, which starts at the study's folder unless absolute."
        )
    if not os.access(file, os.R_OK):
        raise SourceError(f"{where}: {file} may not be read by this user: change its permissions.")
    return file


def pinned_name(path: str, study_folder: Path | None, where: str) -> Path | str:
    """What can pin the source without a download: the local file, or the text of its URL."""
    plain = expanded(path, where)
    return plain if is_url(plain) else local_file(plain, study_folder, where)


def download_folder() -> Path:
    """Downloads are shared by all studies, like those of the Hub's client."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zs-assets" / "downloads"


def _downloaded(url: str, written: str, where: str) -> Path:
    """Messages repeat the address as the study writes it: what a variable held may be a secret."""
    import httpx

    try:
        name = Path(urlsplit(url).path).name[-NAME_LENGTH:] or "file"
    except ValueError as error:
        raise SourceError(f"{where}, {written}, is no address ({error}): correct it.") from None
    kept = download_folder() / sha256_text(url)[:16] / name
    if kept.is_file():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and moved: a torn download never looks like a file.
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as partial:
        try:
            with httpx.stream("GET", url, follow_redirects=True, timeout=_TIMEOUT_S) as response:
                response.raise_for_status()
                for block in response.iter_bytes():
                    partial.write(block)
        except httpx.HTTPStatusError as error:
            raise _failed(written, where, f"HTTP {error.response.status_code}", partial.name) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise _failed(written, where, type(error).__name__, partial.name) from None
    os.replace(partial.name, kept)
    return kept


def _failed(written: str, where: str, why: str, partial: str) -> SourceError:
    Path(partial).unlink(missing_ok=True)
    return SourceError(
        f"{where} could not be downloaded from {written} ({why}): try again, or give the path of a copy."
    )


def forget_download(file: Path) -> None:
    """Removes a download whose content is refused, so that the next run fetches it again; leaves other files alone."""
    if download_folder() in file.parents:
        file.unlink(missing_ok=True)
