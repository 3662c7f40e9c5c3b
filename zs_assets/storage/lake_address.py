"""ZS_LAKE as it was meant, or one sentence that says what is wrong with it."""

from __future__ import annotations

import os
import re

import fsspec

from zs_assets.protocol.errors import StorageError
from zs_assets.storage.store_failures import shown

WITHOUT_BUCKET = ("memory", "file", "local")
"""Protocols whose addresses name no bucket, host or container."""
_ONE_SLASH = re.compile(r"([a-z][a-z0-9+.-]+):/(?!/)", re.IGNORECASE)


def lake_address(value: str) -> str:
    """A folder, with `~` expanded, or an fsspec URL with its scheme in small letters; "" for a blank value.

    Raises StorageError for a scheme that is unknown, a URL without a bucket, and a `~user` that is not there.
    """
    value = value.strip()
    slip = _ONE_SLASH.match(value)
    if slip and slip[1].lower() in fsspec.available_protocols():
        raise _wrong(value, f"has one slash after '{slip[1]}:'", "write two")
    if "://" in value:
        return _url(value)
    folder = os.path.expanduser(value)
    if folder.startswith("~"):
        raise _wrong(value, "begins with the home of a user who is not there", "write the folder's whole path")
    return folder


def _url(value: str) -> str:
    schemes, _, rest = value.partition("://")
    scheme = schemes.lower().rsplit("::", 1)[-1]  # of a chain such as simplecache::s3 the store itself
    for each in schemes.lower().split("::"):
        if each not in fsspec.available_protocols():
            raise _wrong(value, f"has a scheme that is unknown ('{each}')", "use a folder, s3://, gs:// or abfs://")
    if scheme not in WITHOUT_BUCKET and not rest.split("/")[0].strip():
        raise _wrong(value, "names no bucket", f"write {scheme}://BUCKET or {scheme}://BUCKET/FOLDER")
    return f"{schemes.lower()}://{rest}"


def _wrong(value: str, what: str, mend: str) -> StorageError:
    return StorageError(f"The lake {shown(value)} (ZS_LAKE) {what}: {mend}.")
