"""A page on an object store can be opened here."""

from __future__ import annotations

from pathlib import Path

from zs_assets.storage.local_copy import copy_to_open
from zs_assets.storage.object_store import put_object, store_path
from zs_assets.storage.places import Places


def test_a_page_and_what_it_links_to_are_copied_again_at_each_call(tmp_path: Path):
    places = Places(tmp_path, "memory://copied/lake")
    folder = store_path("memory://copied/lake/demo/report")
    put_object(folder / "index.html", b"<p>first</p>")
    put_object(folder / "downloads" / "rows.csv", b"a,b\n")
    target = tmp_path / "pages" / "demo" / "report"
    assert copy_to_open(places, folder) == target
    assert (target / "index.html").read_bytes() == b"<p>first</p>"
    assert (target / "downloads" / "rows.csv").read_bytes() == b"a,b\n"
    put_object(folder / "index.html", b"<p>second</p>")
    copy_to_open(places, folder)
    assert (target / "index.html").read_bytes() == b"<p>second</p>"


def test_a_page_in_a_folder_opens_where_it_is(tmp_path: Path):
    places = Places(tmp_path, str(tmp_path / "lake"))
    assert copy_to_open(places, store_path(str(tmp_path / "lake" / "demo" / "report"))) is None
    assert list(tmp_path.iterdir()) == []
