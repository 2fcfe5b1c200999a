"""Embedders: text -> vectors, behind one small protocol.

``static`` is the model that ships with kbkit (192 dimensions, no download). ``model2vec:FOLDER`` is another static
model on disk, ``sentence-transformers:MODEL`` any model of that library (extra ``sentence-transformers``), and
``openai:MODEL@URL`` a model behind an OpenAI-compatible endpoint. A KB records which one made its vectors, with its
dimension and prefixes, and queries go to the same one.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kbkit import assets
from kbkit.errors import KbError, MissingExtraError, UnknownNameError
from kbkit.stores import endpoint

Vectors = NDArray[np.float32]

STATIC = "static-minilm-192-int8"
KINDS = ("static", "model2vec:FOLDER", "sentence-transformers:MODEL", "openai:MODEL@URL")

_BATCH = 64
_MOST_LETTERS, _ROW_LETTERS = 100_000_000, 400
"""How much of a text's words is remembered: letters, and what a word's vector and place weigh in letters."""


@dataclass(frozen=True)
class Prefixes:
    """What stands before a query and before a document; None: what the model is known to want."""

    query: str | None = None
    document: str | None = None

    def over(self, other: Prefixes) -> Prefixes:
        """These, and where they say nothing the others."""
        return Prefixes(
            other.query if self.query is None else self.query,
            other.document if self.document is None else self.document,
        )


NO_PREFIXES = Prefixes("", "")


_FAMILIES = (
    (r"\be5-", Prefixes("query: ", "passage: ")),
    (r"\bbge-\w+-en", Prefixes("Represent this sentence for searching relevant passages: ", "")),
    (r"\bnomic-embed", Prefixes("search_query: ", "search_document: ")),
)
"""Prefixes that the model cards of well-known families ask for."""


class Embedder(Protocol):
    """Turns texts into unit vectors; ``name``, ``prefixes`` and ``dimension`` are what the manifest records."""

    name: str
    prefixes: Prefixes

    @property
    def dimension(self) -> int: ...  # noqa: D102

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension), float32, of length 1 (0 for a text without known words)."""
        ...


def queries(model: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of queries, with the model's prefix for these."""
    return model.embed([(model.prefixes.query or "") + text for text in texts])


def documents(model: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of documents, with the model's prefix for these."""
    return model.embed([(model.prefixes.document or "") + text for text in texts])


class StaticEmbedder:
    """A model2vec model: one vector per word piece, averaged."""

    def __init__(self, name: str, folder: Path, prefixes: Prefixes) -> None:
        if not (folder / "model.safetensors").is_file():
            raise KbError(
                f"{folder} holds no model2vec model", "it needs model.safetensors, tokenizer.json, config.json"
            )
        self._words = _shipped_words(folder) if name == "static" else None
        self._model = self._words.model if self._words else _static_model(folder)
        self.name = name
        self.dimension = int(self._model.dim)
        self.prefixes = prefixes.over(NO_PREFIXES)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        if self._words:
            return self._words.embed(texts)
        return unit(self._model.encode(list(texts), use_multiprocessing=False))


def _static_model(folder: Path) -> Any:
    from model2vec import StaticModel

    # The hub's library remarks on every model card without its own front matter.
    logging.getLogger("huggingface_hub.repocard").setLevel(logging.ERROR)
    return StaticModel.from_pretrained(folder)


class Words:
    """A static model whose tokenizer parts text at spaces, word by word: a text's vector is the sum of its words'.

    Word pieces are looked up once for each word and not once for each time it occurs, which for long texts is nearly
    all of the work. The whole text counts; the library would leave out what comes after 512 word pieces. A text's sum
    is taken in the order of its words, so that the same text has the same vector, bit for bit.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._guard = threading.Lock()
        self._places: dict[str, int] = {}
        self._vectors: Vectors = np.empty((1024, int(model.dim)), np.float32)
        self._letters = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts, of length 1."""
        from scipy import sparse

        split = [text.split(" ") for text in texts]
        ends = np.cumsum([0, *map(len, split)])
        with self._guard:
            rows = self._rows([word for words in split for word in words])
            ones = np.ones(len(rows), np.float32)
            counts = sparse.csr_matrix((ones, rows, ends), (len(texts), len(self._places)))
            return unit(counts @ self._vectors[: len(self._places)])

    def _rows(self, words: list[str]) -> NDArray[np.int64]:
        """The row of each word's vector; those of new words are added."""
        if self._letters > _MOST_LETTERS:  # begin anew
            self._places, self._letters = {}, 0
        new = [word for word in dict.fromkeys(words) if word not in self._places]
        if new:
            first = len(self._places)
            stop = first + len(new)
            pieces = self.model.encode_as_sequence(new, use_multiprocessing=False)
            if stop > len(self._vectors):
                bigger = np.empty((2 * stop, self._vectors.shape[1]), np.float32)
                bigger[:first] = self._vectors[:first]
                self._vectors = bigger
            self._vectors[first:stop] = [piece.sum(axis=0, dtype=np.float32) for piece in pieces]
            self._places.update(zip(new, range(first, stop), strict=True))
            self._letters += sum(map(len, new)) + _ROW_LETTERS * len(new)
        places = self._places
        return np.fromiter((places[word] for word in words), np.int64, len(words))


@functools.cache
def _shipped_words(folder: Path) -> Words:
    """The model that ships with kbkit never changes, and takes a third of a second to read.

    It is read as ``StaticModel.from_pretrained`` does, which would import the hub's client for nothing.
    """
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    config = json.loads((folder / "config.json").read_text("utf-8"))
    arrays, tokenizer = load_file(folder / "model.safetensors"), Tokenizer.from_file(str(folder / "tokenizer.json"))
    given = {name: config[name] for name in ("normalize", "max_length")}
    return Words(StaticModel(arrays["embeddings"], tokenizer, config, weights=arrays.get("weights"), **given))


class SentenceTransformer:
    """A model of the sentence-transformers library, on disk or in its cache; downloaded only with ``download``."""

    def __init__(self, name: str, model: str, prefixes: Prefixes, *, download: bool = False) -> None:
        library = sentence_transformers()
        try:
            self._model: Any = library.SentenceTransformer(model, local_files_only=True)
        except (OSError, ValueError) as error:
            if not download:
                raise KbError(
                    f"the embedder {model!r} is not on this disk: {first_line(error)}",
                    "kbkit build DIR vectors --embedder fetches it",
                ) from None
            self._model = _downloaded(library, model)
        self.name = name
        size = getattr(self._model, "get_embedding_dimension", None) or self._model.get_sentence_embedding_dimension
        self.dimension = int(size() or self._model.encode([""], show_progress_bar=False).shape[1])
        self.prefixes = prefixes.over(_own_prompts(self._model.prompts) or known_prefixes(model))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`. The library adds no prompt of its own: ours are in the texts already."""
        return unit(self._model.encode(list(texts), prompt="", convert_to_numpy=True, show_progress_bar=False))


def _downloaded(library: Any, model: str) -> Any:
    try:
        return library.SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise KbError(
            f"the embedder {model!r} is not on this disk, and cannot be fetched: {first_line(error)}",
            "name a folder, or a model of huggingface.co while there is a network",
        ) from None


def _own_prompts(prompts: dict[str, str]) -> Prefixes | None:
    """The prompts that a model brings along."""
    found = Prefixes(prompts.get("query") or "", prompts.get("document") or prompts.get("passage") or "")
    return found if found != NO_PREFIXES else None


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible endpoint: ``POST URL/embeddings``. Nothing is sent before texts come."""

    def __init__(self, name: str, prefixes: Prefixes, dimension: int = 0) -> None:
        model, _, url = name.removeprefix("openai:").rpartition("@")
        if not model:
            raise KbError(f"embedder {name!r} lacks a model or an address", "openai:MODEL@http://localhost:8080/v1")
        endpoint.check(url)
        self.name, self._model, self._url = name, model, url.rstrip("/")
        self.prefixes = prefixes.over(known_prefixes(model))
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """What the KB was built with, or else what the endpoint answers."""
        if not self._dimension:
            self._dimension = self._ask(["dimension"]).shape[1]
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        parts = [self._ask(texts[i : i + _BATCH]) for i in range(0, len(texts), _BATCH)]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def _ask(self, texts: Sequence[str]) -> Vectors:
        # An empty text is an error to most endpoints.
        body = {"model": self._model, "input": [text or " " for text in texts], "encoding_format": "float"}
        answer = endpoint.post(f"{self._url}/embeddings", body)
        try:
            entries = sorted(answer["data"], key=lambda entry: entry["index"])
            vectors = np.array([entry["embedding"] for entry in entries], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise KbError(f"{self._url} does not answer with embeddings", "see its documentation") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise KbError(f"{self._url} answered with numbers of shape {vectors.shape} for {len(texts)} texts")
        if not np.isfinite(vectors).all():
            raise KbError(f"{self._url} answered with numbers that are not finite")
        if self._dimension and vectors.shape[1] != self._dimension:
            raise KbError(f"{self._model} gives {vectors.shape[1]} dimensions now, and gave {self._dimension} before")
        return unit(vectors)


def load(
    name: str = "static", prefixes: Prefixes | None = None, *, dimension: int = 0, download: bool = False
) -> Embedder:
    """The embedder called ``name``; raises :class:`UnknownNameError` for a kind that does not exist.

    ``prefixes`` replace what the model is known to want. ``dimension`` is what a KB records, so that no endpoint need
    be asked for it. Only with ``download`` may a model be fetched.
    """
    kind, _, rest = name.partition(":")
    prefixes = prefixes or Prefixes()
    if kind == "static" and not rest:
        return StaticEmbedder("static", assets.model(STATIC), prefixes)
    if kind == "model2vec" and rest:
        # The KB records the folder, and may be opened from elsewhere.
        return StaticEmbedder(f"model2vec:{Path(rest).resolve()}", Path(rest), prefixes)
    if kind == "sentence-transformers" and rest:
        model = str(Path(rest).resolve()) if Path(rest).is_dir() else rest
        return SentenceTransformer(f"{kind}:{model}", model, prefixes, download=download)
    if kind == "openai" and rest:
        return OpenAIEmbedder(name, prefixes, dimension)
    raise UnknownNameError("embedder", name, KINDS)


def recorded(record: Mapping[str, Any], prefixes: Prefixes | None = None, *, download: bool = False) -> Embedder:
    """The embedder that a manifest's record of the vectors names; ``prefixes`` replace those recorded."""
    own = Prefixes(record["query_prefix"], record["document_prefix"])
    given = (prefixes or Prefixes()).over(own)
    return load(record["embedder"], given, dimension=record["dimension"], download=download)


def same_model(name: str, other: str) -> bool:
    """Whether two names mean one model: the same endpoint's model may have moved to another address."""
    if name.startswith("openai:") and other.startswith("openai:"):
        return name.rpartition("@")[0] == other.rpartition("@")[0]
    kind, _, folder = name.partition(":")
    if kind in ("model2vec", "sentence-transformers") and other.startswith(f"{kind}:"):
        return Path(folder).resolve() == Path(other.partition(":")[2]).resolve()
    return name == other


def known_prefixes(model: str) -> Prefixes:
    """What the family of a model asks for, by its name."""
    return next((prefixes for family, prefixes in _FAMILIES if re.search(family, model, re.IGNORECASE)), NO_PREFIXES)


def sentence_transformers() -> Any:
    """The library, or an error that says how to install it."""
    try:
        import sentence_transformers as library
    except ImportError:
        raise MissingExtraError("A sentence-transformers model", "sentence-transformers") from None
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)  # its remarks would stand between the hits
    with contextlib.suppress(ImportError):  # and so would the bars of what it loads models with
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
    return library


def first_line(error: Exception) -> str:
    """The first line of what a library says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def unit(vectors: NDArray[Any]) -> Vectors:
    """Scale rows to length 1; rows of zeros stay."""
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return scaled
