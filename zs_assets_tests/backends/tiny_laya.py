"""A Laya checkpoint of random weights, small enough to build in a test and real enough for the real library."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from zs_assets_tests.tiny_tokenizer import tiny_tokenizer


def build_tiny_laya(folder: Path, texts: Iterable[str]) -> Path:
    """Trains a tokenizer on `texts`, draws seeded weights of a tiny ModernBERT with Laya's heads, saves all three."""
    import torch
    from laya.common import DecisionModel
    from safetensors.torch import save_file
    from transformers import AutoModel, ModernBertConfig

    tokenizer = tiny_tokenizer(texts, 400)
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        pad_token_id=0,
        cls_token_id=1,
        sep_token_id=2,
        bos_token_id=1,
        eos_token_id=2,
        initializer_range=0.4,  # smaller weights make all options equal at four decimals
    )
    torch.manual_seed(20260917)
    model = DecisionModel(AutoModel.from_config(config, attn_implementation="sdpa"), 1, 1)
    tokenizer.save_pretrained(str(folder / "tokenizer"))
    config.save_pretrained(str(folder / "encoder"))
    cfg = {"encoder": "tiny", "head_layers": 1, "act_costs": {}, "max_len": 128, "head_max_len": 96}
    (folder / "rl_agent_config.json").write_text(json.dumps(cfg))
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, str(folder / "model.safetensors"))
    return folder
