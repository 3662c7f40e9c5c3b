"""A tokenizer trained on a few texts, real enough for any library that wants one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]


def tiny_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """A byte-pair tokenizer with [CLS] and [SEP] around every text, as transformers' fast class."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE(unk_token="[UNK]"))
    bpe.pre_tokenizer = pre_tokenizers.Metaspace()
    bpe.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=_SPECIAL, show_progress=False)
    )
    bpe.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, bpe.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        mask_token="[MASK]",
    )
