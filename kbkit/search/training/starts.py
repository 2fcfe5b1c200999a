"""A model to start from: a tiny BERT or T5 with random weights, whose word pieces are learned from the texts of a KB.

With it, everything can be trained where no model can be downloaded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.search.node_texts import NodeTexts
from kbkit.search.text2text import NOT_RELEVANT, model_input
from kbkit.stores import Stores

PIECES, MIN_COUNT = 8_000, 2
"""Number of word pieces, and how often a piece occurs at least."""
SAMPLE = 50_000
"""Nodes whose texts the word pieces are learned from, at most."""
_BATCH = 1_000
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@dataclass(frozen=True)
class TinyBert:
    """Sizes of a BERT: those of BERT-tiny (Turc et al. 2019, 4.4 million parameters with its vocabulary)."""

    hidden: int = 128
    layers: int = 2
    heads: int = 2
    positions: int = 512


def write_start(folder: Path, stores: Stores, seed: int, *, relations: bool, size: TinyBert | None = None) -> Path:
    """Write a BERT with random weights and its tokenizer to a new folder, and return it."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    chosen = size or TinyBert()
    tokenizer = _tokenizer(stores, seed, relations, chosen.positions)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=chosen.hidden,
        num_hidden_layers=chosen.layers,
        num_attention_heads=chosen.heads,
        intermediate_size=4 * chosen.hidden,
        max_position_embeddings=chosen.positions,
        pad_token_id=tokenizer.pad_token_id,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_text2text(folder: Path, stores: Stores, seed: int, *, relations: bool, size: TinyBert | None = None) -> Path:
    """Write a T5 with random weights and its tokenizer to a new folder, and return it."""
    import torch
    from tokenizers import processors
    from transformers import T5Config, T5ForConditionalGeneration

    chosen = size or TinyBert()
    tokenizer = _tokenizer(stores, seed, relations, chosen.positions, [model_input("", ""), NOT_RELEVANT])
    end = _SPECIAL.index("[SEP]")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        "$A [SEP]", special_tokens=[("[SEP]", end)]
    )
    tokenizer.add_special_tokens({"eos_token": "[SEP]"})
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=chosen.hidden,
        d_kv=chosen.hidden // chosen.heads,
        d_ff=4 * chosen.hidden,
        num_layers=chosen.layers,
        num_heads=chosen.heads,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=end,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(stores: Stores, seed: int, relations: bool, length: int, whole: Sequence[str] = ()) -> Any:
    """Learn lower-cased word pieces (WordPiece, as BERT's) from the texts of a KB; words of ``whole`` are pieces."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(unk_token=_SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=PIECES, min_frequency=MIN_COUNT, special_tokens=list(_SPECIAL), show_progress=False
    )
    repeated = (text for text in whole for _ in range(PIECES))  # often enough to be learned first
    tokenizer.train_from_iterator(itertools.chain(repeated, _texts(stores, seed, relations)), trainer)
    cls, sep = _SPECIAL.index("[CLS]"), _SPECIAL.index("[SEP]")  # the trainer numbers them first
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), _SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=length, **names)


def _texts(stores: Stores, seed: int, relations: bool) -> Iterator[str]:
    count = stores.schema.nodes
    chosen = np.arange(count)
    if count > SAMPLE:
        chosen = np.sort(np.random.default_rng(seed).choice(count, SAMPLE, replace=False))
    texts = NodeTexts(stores, relations)
    for start in range(0, len(chosen), _BATCH):
        yield from texts.of(chosen[start : start + _BATCH].tolist())
