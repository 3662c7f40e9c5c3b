"""Errors a person can act on: one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations


class ZsAssetsError(Exception):
    """Base of every error whose message is meant for the user; its text is shown without a traceback."""


class StudyError(ZsAssetsError):
    """A study's YAML is wrong, or names something that does not exist."""


class SourceError(ZsAssetsError):
    """A dataset cannot be read, or holds rows that no study could use."""


class BackendUnavailable(ZsAssetsError):
    """A backend cannot start: its key, extra, server or model is missing."""


class JournalError(ZsAssetsError):
    """A journal belongs to another protocol, prompt or model, or cannot be written."""


class StorageError(ZsAssetsError):
    """The lake or the warehouse cannot be read or written."""


class FrozenManifestError(ZsAssetsError):
    """A study's sample changed although its manifest is frozen."""


class GateRefused(ZsAssetsError):
    """A partition is missing, failed a gate, or was changed after its gates passed."""


class CollectionStopped(ZsAssetsError):
    """Collection ended early for a reason that more calls would not mend (401, JSON 403, budget)."""
