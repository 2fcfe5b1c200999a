"""Embedders: text -> vectors, behind one small protocol.

``static`` is the model that ships with kbkit (192 dimensions, no download). ``model2vec:FOLDER`` is another static
model on disk, ``sentence-transformers:MODEL`` any model of that library (extra ``sentence-transformers``).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kbkit import assets
from kbkit.errors import KbError, UnknownNameError

Vectors = NDArray[np.float32]

STATIC = "static-minilm-192-int8"


class Embedder(Protocol):
    """Turns texts into unit vectors; ``name`` and ``dimension`` are what the manifest records."""

    name: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension), float32, of length 1 (0 for a text without known words)."""
        ...


class StaticEmbedder:
    """A model2vec model: one vector per word piece, averaged."""

    def __init__(self, name: str, folder: Path) -> None:
        from model2vec import StaticModel

        if not (folder / "model.safetensors").is_file():
            raise KbError(
                f"{folder} holds no model2vec model", "it needs model.safetensors, tokenizer.json, config.json"
            )
        # The hub's library remarks on every model card without its own front matter.
        logging.getLogger("huggingface_hub.repocard").setLevel(logging.ERROR)
        self._model = StaticModel.from_pretrained(folder)
        self.name = name
        self.dimension = int(self._model.dim)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        return unit(self._model.encode(list(texts), use_multiprocessing=False))


class SentenceTransformer:
    """A model of the sentence-transformers library, on disk or in its cache."""

    def __init__(self, name: str, model: str) -> None:
        try:
            import sentence_transformers
        except ImportError:
            raise KbError(
                "sentence-transformers is not installed", "python -m pip install 'kbkit[sentence-transformers]'"
            ) from None
        self._model: Any = sentence_transformers.SentenceTransformer(model)
        self.name = name
        self.dimension = int(self._model.get_sentence_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        return unit(self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False))


def load(name: str = "static") -> Embedder:
    """The embedder called ``name``; raises :class:`UnknownNameError` for a kind that does not exist."""
    kind, _, rest = name.partition(":")
    if kind == "static":
        return StaticEmbedder("static", assets.model(STATIC))
    if kind == "model2vec" and rest:
        # The KB records the folder, and may be opened from elsewhere.
        return StaticEmbedder(f"model2vec:{Path(rest).resolve()}", Path(rest))
    if kind == "sentence-transformers" and rest:
        return SentenceTransformer(name, rest)
    raise UnknownNameError("embedder", name, ["static", "model2vec:FOLDER", "sentence-transformers:MODEL"])


def unit(vectors: NDArray[Any]) -> Vectors:
    """Scale rows to length 1; rows of zeros stay."""
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return scaled
