"""What a store's library raises, as one sentence of ours, and whether the same call may succeed in a moment."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from zs_assets.protocol.errors import StorageError

SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")
SECRET_CHARACTERS = 8
"""A shorter value is no secret of a store (S3's key ids begin at 16, MinIO's secrets at 8), but part of many words."""
UNREACHABLE = (
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ConnectionClosedError",
    "ResponseStreamingError",
    "IncompleteReadError",
    "ServerDisconnectedError",
    "ClientConnectorError",
    "ClientPayloadError",
)
"""Names of classes of botocore and aiohttp that are no ConnectionError; importing them takes most of a second."""
NOT_FOR_LONG = (408, 409, 429)
"""Statuses beside 5xx that another try may mend. S3 answers 409 where two conditional puts of one name met."""
NOT_IMPLEMENTED = 501
REASON_CHARACTERS = 200


class StoreUnreachable(StorageError):
    """The store does not answer, or fails itself: it may again in a moment, unlike a missing bucket or permission."""


def shown(path: object) -> str:
    """The address without a user or password in it.

    A password may hold a slash, as keys of Amazon's often do: with a colon before it, all up to the last @ goes.
    """
    return re.sub(r"://(?:[^/]*:.*|[^/]*)@", "://", str(path))


@contextmanager
def clear_failures(path: object, doing: str) -> Iterator[None]:
    """Whatever a store raises becomes a StorageError of one sentence that names the address and no secret.

    `doing` completes "Cannot ... ADDRESS". FileExistsError passes: it answers a conditional create. Raises
    StoreUnreachable where the same call may succeed later.
    """
    try:
        yield
    except (StorageError, FileExistsError):
        raise
    except Exception as error:  # each store's library has classes of its own (botocore's are no OSError)
        kind = StoreUnreachable if _is_silent(error) or _fails_itself(error) else StorageError
        raise kind(f"Cannot {doing} {shown(path)}: {_reason(error)}.") from None


def _is_silent(error: Exception) -> bool:
    # asyncio's TimeoutError is a class of its own before Python 3.11.
    silent = (ConnectionError, TimeoutError, asyncio.TimeoutError)
    return isinstance(error, silent) or any(cls.__name__ in UNREACHABLE for cls in type(error).__mro__)


def _fails_itself(error: Exception) -> bool:
    """The store's own error, or one that bids us slow down; botocore has tried again a few times by then."""
    status = _status(error)
    return status in NOT_FOR_LONG or (status >= 500 and status != NOT_IMPLEMENTED)


def _status(error: BaseException | None) -> int:
    """The HTTP status of the answer; 0 where none is told.

    s3fs wraps botocore's error, which has the status in `response`, into an OSError; gcsfs has `code`, Azure's library
    `status_code`, aiohttp `status`.
    """
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        for name in ("status_code", "status", "code"):
            found = getattr(error, name, None)
            if isinstance(found, int):
                return found
        error = error.__cause__
    return 0


def _reason(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "permission denied. Give these credentials the right to list, read, write and delete there"
    if isinstance(error, FileNotFoundError):
        return "there is no such bucket or object. Create the bucket, or correct the lake (ZS_LAKE)"
    if _is_silent(error):
        return "the store does not answer. Check the network and the service's address (AWS_ENDPOINT_URL for S3)"
    said = _said(error)
    if _fails_itself(error):
        return f"the store fails with status {_status(error)} ({said}). Run again once the service is well"
    if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError"):
        return "no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"
    return f"{said}. Check the lake (ZS_LAKE)"


def _said(error: Exception) -> str:
    """The first line of the library's own words, without credentials."""
    said = (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0]
    for name in SECRETS:
        secret = os.environ.get(name, "")
        if len(secret) >= SECRET_CHARACTERS:
            said = said.replace(secret, "***")
    return said[:REASON_CHARACTERS].rstrip(". ")
