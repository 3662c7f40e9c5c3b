"""The manifest's bytes: the published format, and everything that is asked about within the hash."""

from __future__ import annotations

import json

from zs_assets.protocol.manifest_format import manifest_hash, manifest_jsonl
from zs_assets.protocol.question import Option, Question
from zs_assets.sources.base import make_example

EXAMPLES = [make_example("d:0", 'Grüße "x"\n\u2028', 1), make_example("d:1", "y", None)]
PLACEHOLDERS = Question("Which?", (Option("label_000", "about a"), Option("label_001", "about b")))


def test_a_line_is_sorted_keys_unescaped_text_and_one_line_feed():
    first = manifest_jsonl("d", "topic", EXAMPLES[:1], PLACEHOLDERS)
    assert first.decode() == (
        '{"dataset": "d", "example_id": "d:0", "labels": ["about a", "about b"], "target_index": 1, "task": "topic", '
        '"text": "Grüße \\"x\\"\\n\u2028", '
        f'"text_sha256": "{EXAMPLES[0].text_sha256}"}}\n'
    )


def test_an_example_without_a_gold_label_has_a_null_target():
    assert json.loads(manifest_jsonl("d", "t", EXAMPLES, PLACEHOLDERS).split(b"\n")[1])["target_index"] is None


def test_ids_that_carry_meaning_are_part_of_the_manifest():
    named = Question("Which?", (Option("spam", "Unwanted."), Option("ham", None)))
    renamed = Question("Which?", (Option("junk", "Unwanted."), Option("ham", None)))
    described = Question("Which?", (Option("spam", "Advertising."), Option("ham", None)))
    line = json.loads(manifest_jsonl("d", "t", EXAMPLES[:1], named))
    assert line["labels"] == ["Unwanted.", "ham"] and line["option_ids"] == ["spam", "ham"]
    assert len({manifest_hash("d", "t", EXAMPLES, question) for question in (named, renamed, described)}) == 3
