"""One decision small enough to ask any system whether it works."""

from __future__ import annotations

from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.question import Example, Option, Presentation, Question

QUESTION = Question(
    "What is this text about?",
    (Option("weather", "The text is about the weather."), Option("cooking", "The text is about cooking.")),
)
_TEXT = "Heavy rain is expected all afternoon."
PRESENTATION = Presentation(Example("tiny", _TEXT, sha256_text(_TEXT), 0), order=(0, 1), order_index=0, repeat=0)
