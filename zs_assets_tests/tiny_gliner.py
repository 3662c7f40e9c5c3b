"""A GLiNER2.5 checkpoint of random weights, small enough to build in a test and real enough for the real library."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zs_assets_tests.tiny_tokenizer import tiny_tokenizer


def build_tiny_gliner(folder: Path, texts: Iterable[str]) -> Path:
    """Trains a tokenizer on `texts`, draws seeded weights of the boundary architecture, saves both in `folder`."""
    import torch
    from gliner2.configuration import ExtractorConfig
    from gliner2.models.boundary.engine import BoundaryExtractor
    from transformers import DebertaV2Config

    tokenizer = tiny_tokenizer(texts, 600)
    encoder_config = DebertaV2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        relative_attention=True,
        position_buckets=32,
        max_position_embeddings=64,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        type_vocab_size=0,
        initializer_range=0.5,  # at 0.02 all logits come out equal
    )
    config = ExtractorConfig(
        model_name="tiny",
        architecture="boundary",
        boundary_head={"boundary_dim": 16, "pair_dim": 16, "record_dim": 16, "candidate_pool": "shared"},
    )
    torch.manual_seed(20260917)
    model = BoundaryExtractor(config, encoder_config=encoder_config, tokenizer=tokenizer)
    model.save_pretrained(str(folder))
    return folder
