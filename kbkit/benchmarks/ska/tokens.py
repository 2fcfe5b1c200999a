"""Count tokens: with GPT-4o's tokenizer, as in the paper, if its file is on this computer, else with the shipped one.

Nothing is downloaded. tiktoken keeps the file under the SHA-1 of its address, in ``TIKTOKEN_CACHE_DIR``,
``DATA_GYM_CACHE_DIR`` or a folder for temporary files.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbkit import assets
from kbkit.stores.embedders import STATIC

ENCODING = "o200k_base"
_ADDRESS = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
_MAX_WORDS = 2_000_000
"""Limit on the words whose counts are kept."""


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer: its ``name``, and a function that counts the tokens of each text."""

    name: str
    counts: Callable[[Sequence[str]], list[int]]


@functools.cache
def tokenizer() -> Tokenizer:
    """Return the tokenizer of this computer: ``tiktoken:o200k_base``, or that of the embedder that ships with kbkit."""
    return _tiktoken() or Tokenizer(f"tokenizer of {STATIC}", WordPieceCounts(_shipped()).counts)


def _tiktoken() -> Tokenizer | None:
    """Return GPT-4o's tokenizer if the library is installed and its unchanged file is here, else None."""
    folder = next((os.environ[name] for name in _VARIABLES if name in os.environ), None)
    if folder == "":  # the library keeps no files then
        return None
    file = Path(folder or Path(tempfile.gettempdir()) / "data-gym-cache") / hashlib.sha1(_ADDRESS.encode()).hexdigest()  # noqa: S324 - the name that tiktoken gives it
    try:
        import tiktoken

        # The library would replace a damaged file by a download.
        if hashlib.sha256(file.read_bytes()).hexdigest() != _SHA256:
            return None
        encoding = tiktoken.get_encoding(ENCODING)
    except (ImportError, OSError):
        return None

    def counts(texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in encoding.encode_ordinary_batch(list(texts))]

    return Tokenizer(f"tiktoken:{ENCODING}", counts)


def _shipped() -> Any:
    from tokenizers import Tokenizer as Pieces

    pieces: Any = Pieces.from_file(str(assets.model(STATIC) / "tokenizer.json"))
    pieces.no_padding()
    pieces.no_truncation()
    return pieces


class WordPieceCounts:
    """Counts with a tokenizer that splits at spaces, so that each distinct word is tokenized once."""

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces
        self._known: dict[str, int] = {}

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        split = [text.split(" ") for text in texts]
        if len(self._known) > _MAX_WORDS:
            self._known = {}
        new = list({word for words in split for word in words} - self._known.keys())
        encoded = self._pieces.encode_batch_fast(new, add_special_tokens=False)
        self._known.update((word, len(encoding.ids)) for word, encoding in zip(new, encoded, strict=True))
        known = self._known
        return [sum(map(known.__getitem__, words)) for words in split]
