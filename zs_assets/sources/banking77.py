"""Banking77 as PolyAI publishes it: test.csv with the columns text and category."""

from __future__ import annotations

from zs_assets.protocol.source_specs import Banking77Source, FileSource


def as_file(source: Banking77Source) -> FileSource:
    """The csv as a file source. Ids are row numbers from 0, as the automation study counts them."""
    return FileSource(
        path=source.path,
        text_column="text",
        label_column="category",
        labels_file=source.labels_file,
        sha256=source.sha256,
    )
