"""Embedding models behind one protocol.

``static`` is the model that ships with kbkit (192 dimensions, no download), ``minilm`` one that a package ships (extra
``minilm``), ``model2vec:FOLDER`` another static model,
``sentence-transformers:MODEL`` a model of that library (extra ``sentence-transformers``), and ``openai:MODEL@URL`` a
model of an OpenAI-compatible endpoint. A KB records the model of its vectors with dimension and prefixes, and queries
use the same model.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from kbkit import assets
from kbkit.directory import endpoints
from kbkit.errors import Command, KbError, MissingExtraError, Option, UnknownNameError
from kbkit.stores import endpoint_embedder, model_options
from kbkit.stores.arrays import unit
from kbkit.stores.endpoint_embedder import EndpointEmbedder
from kbkit.stores.prefixes import NO_PREFIXES, Prefixes, instructed, known_prefixes

Vectors = NDArray[np.float32]

STATIC = "static-minilm-192-int8"
KINDS = ("static", "minilm", "model2vec:FOLDER", "sentence-transformers:MODEL", "openai:MODEL@URL")

_FEW_WORDS = 4_000
"""Words whose vectors are summed without loading SciPy."""
_FEW_NEW = 32
"""Words that are split one by one, because waking the tokenizer's threads takes longer."""
_MAX_CACHE, _ROW_SIZE = 100_000_000, 400
"""Size of the cache of words in characters, and the size of a word's vector in the same unit."""


class Embedder(Protocol):
    """A model that embeds texts; the manifest records ``name``, ``prefixes`` and ``dimension``."""

    name: str
    prefixes: Prefixes

    @property
    def dimension(self) -> int: ...  # noqa: D102

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of shape (len(texts), dimension) and length 1 (0 for texts without known words)."""
        ...


def queries(model: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed queries, with the model's query prefix."""
    return model.embed([(model.prefixes.query or "") + text for text in texts])


def is_remote(model: Embedder) -> bool:
    """Return whether each call of the model is a request to another program."""
    return isinstance(model, EndpointEmbedder)


def usage(model: Embedder) -> dict[str, int | float]:
    """Return the tokens that an endpoint has reported, and their cost if a price is given."""
    if not isinstance(model, EndpointEmbedder) or not model.tokens:
        return {}
    return {"tokens": model.tokens, **({} if model.cost is None else {"cost": round(model.cost, 6)})}


def documents(model: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed documents, with the model's document prefix."""
    return model.embed([(model.prefixes.document or "") + text for text in texts])


class StaticEmbedder:
    """A model2vec model: the average of one vector per word piece."""

    def __init__(self, name: str, folder: Path, prefixes: Prefixes) -> None:
        if not (folder / "model.safetensors").is_file():
            raise KbError(
                f"No model2vec model in {folder}", "It needs model.safetensors, tokenizer.json and config.json"
            )
        self._words = _shipped_words(folder) if name == "static" else None
        self._model = cast("Any", None if self._words else _static_model(folder))
        self.name = name
        self.dimension = self._words.dimension if self._words else int(self._model.dim)
        self.prefixes = prefixes.over(NO_PREFIXES)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        if self._words:
            return self._words.embed(texts)
        return unit(self._model.encode(list(texts), use_multiprocessing=False))


def _static_model(folder: Path) -> Any:
    from model2vec import StaticModel

    # The hub's library warns about each model card without front matter.
    logging.getLogger("huggingface_hub.repocard").setLevel(logging.ERROR)
    return StaticModel.from_pretrained(folder)


class CachedWords:
    """A static model whose tokenizer splits at spaces, with a cache of word vectors; a text is the sum of its words.

    Each distinct word is tokenized once, which is most of the work for long texts. The entire text is embedded; the
    library truncates it to 512 word pieces. Words are summed in their order, so that equal texts have identical
    vectors.
    """

    def __init__(self, model: WordPieces) -> None:
        self._model = model
        self.dimension = model.dimension
        self._guard = threading.Lock()
        self._positions: dict[str, int] = {}
        self._vectors: Vectors = np.empty((1024, model.dimension), np.float32)
        self._size = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of length 1."""
        split = [text.split(" ") for text in texts]
        ends = np.cumsum([0, *map(len, split)])
        with self._guard:
            rows = self._rows([word for words in split for word in words])
            if len(rows) <= _FEW_WORDS:  # the order of summation is the same
                return unit(np.add.reduceat(self._vectors[rows], ends[:-1]) if len(texts) else self._vectors[:0])
            from scipy import sparse

            ones = np.ones(len(rows), np.float32)
            counts = sparse.csr_matrix((ones, rows, ends), (len(texts), len(self._positions)))
            return unit(counts @ self._vectors[: len(self._positions)])

    def _rows(self, words: list[str]) -> NDArray[np.int64]:
        """Return the row of each word's vector, adding new words."""
        if self._size > _MAX_CACHE:
            self._positions, self._size = {}, 0
        new = [word for word in dict.fromkeys(words) if word not in self._positions]
        if new:
            first = len(self._positions)
            stop = first + len(new)
            sums = self._model.sums(new)
            if stop > len(self._vectors):
                bigger = np.empty((2 * stop, self._vectors.shape[1]), np.float32)
                bigger[:first] = self._vectors[:first]
                self._vectors = bigger
            self._vectors[first:stop] = sums
            self._positions.update(zip(new, range(first, stop), strict=True))
            self._size += sum(map(len, new)) + _ROW_SIZE * len(new)
        positions = self._positions
        return np.fromiter((positions[word] for word in words), np.int64, len(words))


class WordPieces:
    """The tokenizer and the vectors of a model2vec model, whose library takes as long to import as a search."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        arrays = load_file(folder / "model.safetensors")
        self._vectors, self._weights = arrays["embeddings"], arrays.get("weights")
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()  # a text without spaces is one word
        self._unknown = self._tokenizer.token_to_id(self._tokenizer.model.unk_token)
        self.dimension = int(self._vectors.shape[1])

    def sums(self, words: Sequence[str]) -> Vectors:
        """Return the sum of the vectors of each word's pieces."""
        if len(words) <= _FEW_NEW:
            encoded = [self._tokenizer.encode(word, add_special_tokens=False) for word in words]
        else:
            encoded = self._tokenizer.encode_batch_fast(list(words), add_special_tokens=False)
        sums = np.zeros((len(words), self.dimension), np.float32)
        for position, word in enumerate(encoded):
            ids = [piece for piece in word.ids if piece != self._unknown]
            pieces = self._vectors[ids]
            if self._weights is not None:
                pieces = pieces * self._weights[ids][:, None]
            sums[position] = pieces.sum(axis=0, dtype=np.float32)
        return sums


@functools.cache
def _shipped_words(folder: Path) -> CachedWords:
    """Load the model that ships with kbkit, once per process."""
    return CachedWords(WordPieces(folder))


class SentenceTransformer:
    """A model of the sentence-transformers library, from a folder or its cache; ``download`` allows a download."""

    def __init__(self, name: str, model: str, prefixes: Prefixes, *, download: bool = False) -> None:
        library = sentence_transformers()
        model, options = model_options.split(model)
        arguments = model_options.arguments(options)
        try:
            self._model: Any = library.SentenceTransformer(model, local_files_only=True, **arguments)
        except (OSError, ValueError) as error:
            if not download:
                raise KbError(
                    f"Embedder {model!r} is not on this computer: {first_line(error)}",
                    *("Run ", Command("build KB vectors"), " with ", Option("embedder", name), " to download it"),
                ) from None
            self._model = _downloaded(library, model, arguments)
        if "pooling" in options:
            _pool(library, self._model, options["pooling"])
        if "length" in options:
            self._model.max_seq_length = int(options["length"])
        self.name = name
        size = getattr(self._model, "get_embedding_dimension", None) or self._model.get_sentence_embedding_dimension
        self.dimension = int(size() or self._model.encode([""], show_progress_bar=False).shape[1])
        prompt = options.get("prompt")
        if prompt is not None and prompt not in self._model.prompts:
            raise UnknownNameError("prompt", prompt, self._model.prompts)
        chosen = Prefixes(self._model.prompts[prompt]) if prompt is not None else Prefixes()
        if "instruction" in options:
            chosen = instructed(model, options["instruction"])
        own = _own_prompts(self._model.prompts) or known_prefixes(model)
        self.prefixes = prefixes.over(chosen.over(own))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`. The texts have their prefixes already, so the library adds no prompt."""
        return unit(self._model.encode(list(texts), prompt="", convert_to_numpy=True, show_progress_bar=False))


def _pool(library: Any, model: Any, mode: str) -> None:
    """Replace how a model makes one vector of those of its tokens."""
    places = [name for name, module in model.named_children() if type(module).__name__ == "Pooling"]
    if len(places) != 1:
        raise KbError(f"The model has {len(places)} pooling modules, not one", "Leave out the option pooling")
    size = model[0].get_word_embedding_dimension()
    setattr(model, places[0], library.models.Pooling(size, pooling_mode=mode))


def _downloaded(library: Any, model: str, arguments: dict[str, Any]) -> Any:
    try:
        return library.SentenceTransformer(model, **arguments)
    except (OSError, ValueError) as error:
        raise KbError(
            f"Cannot download embedder {model!r}: {first_line(error)}",
            "Check the name of the model and the network connection, or name a folder",
        ) from None


def _own_prompts(prompts: dict[str, str]) -> Prefixes | None:
    """Return the prompts from a model's configuration."""
    prefixes = Prefixes(prompts.get("query") or "", prompts.get("document") or prompts.get("passage") or "")
    return prefixes if prefixes != NO_PREFIXES else None


class MiniLMEmbedder:
    """all-MiniLM-L6-v2 with int8 weights; see :mod:`kbkit.stores.minilm`."""

    name = "minilm"

    def __init__(self, prefixes: Prefixes) -> None:
        from kbkit.stores import minilm

        self._model = minilm.MiniLM()
        self.dimension: int = self._model.dimension
        self.prefixes = prefixes.over(NO_PREFIXES)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        return self._model.embed(texts)


def load(
    name: str = "static", prefixes: Prefixes | None = None, *, dimension: int = 0, download: bool = False
) -> Embedder:
    """Return the embedder that the user calls ``name``, or raise :class:`UnknownNameError` for an unknown kind.

    ``prefixes`` replace the model's known prefixes. ``dimension`` is the recorded one, which saves a request to the
    endpoint, whose address is remembered. ``download`` allows a download.
    """
    kind, _, rest = name.partition(":")
    prefixes = prefixes or Prefixes()
    if kind == "static" and not rest:
        return StaticEmbedder("static", assets.model(STATIC), prefixes)
    if name == "minilm":
        return MiniLMEmbedder(prefixes)
    if kind == "model2vec" and rest:
        # The KB records an absolute path, because it may be opened from another folder.
        return StaticEmbedder(f"model2vec:{Path(rest).resolve()}", Path(rest), prefixes)
    if kind == "sentence-transformers" and rest:
        model_name, mark, options = rest.partition("?")
        source = (str(Path(model_name).resolve()) if Path(model_name).is_dir() else model_name) + mark + options
        return SentenceTransformer(f"{kind}:{source}", source, prefixes, download=download)
    if kind == "openai" and rest:
        model = EndpointEmbedder(name, prefixes, dimension)
        endpoints.remember(name.rpartition("@")[2])
        return model
    raise UnknownNameError("embedder", name, KINDS)


@dataclass(frozen=True)
class ModelRecord:
    """The model of a manifest's record of the vectors."""

    embedder: str
    dimension: int
    query_prefix: str | None
    document_prefix: str | None


def recorded(
    record: ModelRecord, prefixes: Prefixes | None = None, *, name: str | None = None, download: bool = False
) -> Embedder:
    """Return the embedder of a manifest's record of the vectors; ``prefixes`` replace the recorded ones.

    ``name`` is what the user calls the same model, such as ``openai:MODEL@URL`` at another address. Raises
    :class:`KbError` for a recorded address that the user never named: the KB may be a stranger's.
    """
    own = Prefixes(record.query_prefix, record.document_prefix)
    chosen = (prefixes or Prefixes()).over(own)
    model = record.embedder
    if name is None and model.startswith("openai:") and not endpoints.is_known(url := model.rpartition("@")[2]):
        hint = ("If you trust it, use ", Option("embedder", model), " once: kbkit remembers the address for you")
        raise KbError(f"This KB would send queries to {url}, an address that you have not used yet", *hint)
    if name is None and not download and model_options.runs_code(model):
        trusted = ("If you trust it, name it in each search: ", Option("embedder", model))
        raise KbError("The embedder of this KB would run code that came with the model", *trusted)
    return load(name or model, chosen, dimension=record.dimension, download=download)


def same_model(name: str, other: str) -> bool:
    """Return whether two names refer to the same model, possibly at another address."""
    if name.startswith(endpoint_embedder.KIND) and other.startswith(endpoint_embedder.KIND):
        return endpoint_embedder.same_model(name, other)
    kind, _, folder = name.partition(":")
    if kind in ("model2vec", "sentence-transformers") and other.startswith(f"{kind}:"):
        return Path(folder).resolve() == Path(other.partition(":")[2]).resolve()
    return name == other


def sentence_transformers() -> Any:
    """Import the library, or raise :class:`MissingExtraError`."""
    try:
        import sentence_transformers as library
    except ImportError:
        raise MissingExtraError("A sentence-transformers model", "sentence-transformers") from None
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)  # keep warnings out of the results
    quiet_transformers()
    return library


def quiet_transformers() -> None:
    """Keep warnings and progress bars of transformers out of the results."""
    with contextlib.suppress(ImportError):
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        transformers_logging.set_verbosity_error()


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
