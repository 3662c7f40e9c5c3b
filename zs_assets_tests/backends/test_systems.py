"""Entries of systems.yaml: what makes replies stale, what is a mere note, and what every entry must say."""

from __future__ import annotations

import pytest

from zs_assets.backends.systems import SystemSpec
from zs_assets_tests.backends.asking import shipped

# Data versions that partitions of earlier releases carry: an entry whose hash moves makes them all stale.
RELEASED = {
    "uniform": "7ca72a1fe76a378794226f09f44b5054f6452e269296146a5830af3186d7aa72",
    "sparrow": "dd8c1628866e03be3f267acdb19824ad732ae82ed42bd9edb9ba231f41ba7309",
    "minilm": "9627e33a42a645bc34bf1e4d58d6e868aa55ea2752ab7a54ac489f9e01048e71",
    "gliner": "5011242457d512ce1abef88099f309a00e1fbe44763d43e7c8e7783118877d20",
    "jev": "9e5e2f3681993122e59a67be3cfaf65bf4cf21f8a96c180f4333d5b1759b918d",
    "deepseek": "53a6f9ce91ac833649a1a122cc7cfe2e390a3d5e9b5bd974075a20d67cd70eff",
    "opus": "a122cf9704fde04be26e4c154ac43f02e8f4928a406dd9461b1091ae93028050",
    "gemini_flash": "4f8a045f56d79d18f407b36557d90b5eb252b1611bf0cfde0988a6f239ab6ae1",
}


@pytest.mark.parametrize("name", RELEASED)
def test_replies_collected_under_a_released_entry_stay_fresh(name: str):
    assert shipped(name).spec_hash() == RELEASED[name]


NOTES = {
    "title": "other",
    "pin": "other",
    "pinned": "launch",
    "model_rule": "echo",
    "confidence_formula": "other",
    "order_behaviour": "other",
    "needs": "other",
    "notes": "other",
    "terms": "other",
    "verified": "other",
    "key_optional": True,
}


@pytest.mark.parametrize("field", NOTES)
def test_a_note_makes_no_reply_stale(field: str):
    assert shipped("jev", **{field: NOTES[field]}).spec_hash() == RELEASED["jev"]


@pytest.mark.parametrize("field", ["model", "base_url", "option_cap", "decimals", "settings", "revision"])
def test_what_changes_replies_makes_them_stale(field: str):
    values = {"option_cap": 5, "decimals": 3, "settings": {"question_id": "q"}}
    assert shipped("jev", **{field: values.get(field, "other")}).spec_hash() != RELEASED["jev"]


def test_an_unknown_model_rule_is_refused():
    with pytest.raises(ValueError, match="model_rule"):
        SystemSpec(name="x", interface="systemone", title="X", deployment="hosted", model_rule="guess")  # type: ignore[arg-type]
