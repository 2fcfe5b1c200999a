"""Embeddings from an OpenAI-compatible endpoint: ``openai:MODEL@URL``, with options ``MODEL?length=8191&long=mean``.

* ``length``: tokens of the longest text that the model takes. Longer ones are cut, or with ``long=mean`` embedded in
  parts of that length, whose vectors are averaged, weighted by length. Tokens are those of the shipped tokenizer, an
  estimate; a text that the endpoint refuses as too long is shortened until it is accepted.
* ``dimension``: number of dimensions to keep, for models trained for that.
* ``instruction``: the task of an instruction-tuned model, part of each query.
* ``batch``: texts of a request (64; fewer once the endpoint refuses so many), ``workers``: concurrent requests (1).
* ``price`` of a million tokens; ``cache``: a file (SQLite) of vectors that are not requested again.

A KB records the first three, which change vectors.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError, plural
from kbkit.stores import endpoint, model_options
from kbkit.stores.arrays import unit
from kbkit.stores.model_files import shipped_tokenizer
from kbkit.stores.prefixes import Prefixes, instructed, known_prefixes
from kbkit.stores.vector_cache import VectorCache

Vectors = NDArray[np.float32]

KIND = "openai:"
BATCH = 64
_LENGTHS = ((r"\btext-embedding-(?:ada-002|3-(?:small|large))$", 8191),)
"""Longest texts of well-known models, in their own tokens."""
_REFUSED = (400, 413, 422, 500)
_TOO_LONG = re.compile(
    r"\b(?:context|tokens?|too (?:long|large|many)|max(?:imum)?|length|batch size|exceed\w*)\b", re.I
)
"""Errors of servers for texts that are too long, or too many: status and words."""
_TOO_MANY = re.compile(r"batch size \d+ >|maximum allowed batch|too many (?:inputs|texts)", re.I)
_TWO_NUMBERS = re.compile(r"(?:max(?:imum)?|context)\D{0,40}?(\d+)\D{1,60}?(\d+)|(\d+) tokens\D{1,100}?(\d+)", re.I)
_SHORTEST = 16
"""Characters of a text that is not shortened: then the endpoint refuses something else."""


class TextPart(NamedTuple):
    """A part of the text number ``owner``, that weighs as many ``tokens``."""

    text: str
    owner: int
    tokens: int


class EndpointEmbedder:
    """A model of an OpenAI-compatible endpoint (``POST URL/embeddings``), called when texts are embedded.

    ``tokens`` counts those that the endpoint has reported, ``cost`` is their price (None: no price is given).
    """

    def __init__(self, name: str, prefixes: Prefixes, dimension: int = 0) -> None:
        named, _, url = name.removeprefix(KIND).rpartition("@")
        self._model, options = model_options.split(named, model_options.REMOTE)
        if not self._model:
            raise KbError(
                f"Embedder {name!r} needs a model and an address", "For example openai:MODEL@http://localhost:8080/v1"
            )
        endpoint.check_base(url)
        lasting = {key: value for key, value in options.items() if key in model_options.LASTING}
        self.name = f"{KIND}{model_options.joined(self._model, lasting)}@{url}"
        own = instructed(self._model, task) if (task := options.get("instruction")) else known_prefixes(self._model)
        self.prefixes = prefixes.over(own)
        self.tokens = 0
        self._url = url.rstrip("/")
        self._length = int(options.get("length", 0)) or _known_length(self._model)
        self._mean = options.get("long") == model_options.MEAN
        self._kept = int(options.get("dimension", 0))
        self._batch, self._workers = int(options.get("batch", BATCH)), int(options.get("workers", 1))
        self._price = float(options["price"]) if "price" in options else None
        self._cache = VectorCache(Path(options["cache"])) if "cache" in options else None
        self._dimension = dimension
        self._guard = threading.Lock()

    @property
    def dimension(self) -> int:
        """The recorded dimension, or else that of a vector from the endpoint."""
        if not self._dimension:
            self._dimension = self.embed(["dimension"]).shape[1]
        return self._dimension

    @property
    def cost(self) -> float | None:
        """The price of the tokens so far (None: no price is given)."""
        return None if self._price is None else self.tokens * self._price / 1e6

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of length 1, of shape (len(texts), dimension). Raises :class:`KbError`."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        pieces = self._pieces(texts)
        vectors = self._known_or_new([piece.text for piece in pieces])
        if len(pieces) > len(texts):
            weights = np.array([piece.tokens for piece in pieces], np.float32)
            starts = np.searchsorted([piece.owner for piece in pieces], np.arange(len(texts)))
            vectors = np.add.reduceat(vectors * weights[:, None], starts)
        vectors = unit(vectors[:, : self._kept] if self._kept else vectors)
        if self._dimension and vectors.shape[1] != self._dimension:
            raise KbError(f"{self._model} returned {vectors.shape[1]} dimensions instead of {self._dimension}")
        return vectors

    def _pieces(self, texts: Sequence[str]) -> list[TextPart]:
        """Return the texts, those beyond ``length`` cut or in parts."""
        pieces: list[TextPart] = []
        for owner, text in enumerate(texts):
            # A token has a character or more.
            ends = _token_ends(text) if self._length and len(text) > self._length else []
            if len(ends) <= self._length:
                pieces.append(TextPart(text or " ", owner, 1))  # most endpoints refuse empty texts
                continue
            stops = [ends[last] for last in range(self._length - 1, len(ends), self._length)]
            bounds = [0, *stops, *([len(text)] if stops[-1] < len(text) else [])]
            parts = list(itertools.pairwise(bounds))[: None if self._mean else 1]
            counts = [min(self._length, len(ends) - n * self._length) for n in range(len(parts))]
            pieces += [TextPart(text[a:b], owner, max(1, n)) for (a, b), n in zip(parts, counts, strict=True)]
        return pieces

    def _known_or_new(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts as the endpoint sends them, those in the cache without a request."""
        if self._cache is None:
            return self._requested(texts)
        found = self._cache.find(self._model, texts)
        new = [text for text in dict.fromkeys(texts) if text not in found]
        for first in range(0, len(new), self._batch * self._workers):  # so that an interrupted build keeps most
            some = new[first : first + self._batch * self._workers]
            vectors = self._requested(some)
            self._cache.add(self._model, some, vectors)
            found.update(zip(some, vectors, strict=True))
        if len({row.shape for row in found.values()}) > 1:
            raise KbError(f"{self._cache.path} has vectors of {self._model} of several lengths", "Move the file away")
        return np.stack([found[text] for text in texts])

    def _requested(self, texts: Sequence[str]) -> Vectors:
        batches = [texts[first : first + self._batch] for first in range(0, len(texts), self._batch)]
        if self._workers == 1 or len(batches) == 1:
            return np.concatenate([self._accepted(batch) for batch in batches])
        with ThreadPoolExecutor(self._workers) as pool:
            return np.concatenate(list(pool.map(self._accepted, batches)))

    def _accepted(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of a batch, in halves and with shorter texts if the endpoint refuses it as too long."""
        try:
            return self._request(texts)
        except endpoint.StatusError as error:
            if not _is_too_long(error):
                raise
            if len(texts) > 1:
                half = len(texts) // 2
                if _TOO_MANY.search(error.message):
                    self._batch = min(self._batch, half)
                return np.concatenate([self._accepted(texts[:half]), self._accepted(texts[half:])])
            [text] = texts
            if len(text) <= _SHORTEST:
                raise
            kept = max(_SHORTEST, int(len(text) * _share(error.message)))
            if not self._mean:
                return self._accepted([text[:kept]])
            middle = len(text) // 2
            sums: Vectors = self._accepted([text[:middle]]) + self._accepted([text[middle:]])
            return sums  # their mean, once scaled

    def _request(self, texts: Sequence[str]) -> Vectors:
        # Some endpoints refuse the field encoding_format: numbers are the default.
        body = {"model": self._model, "input": list(texts)}
        response = endpoint.post(f"{self._url}/embeddings", body, _is_too_long)
        try:
            entries = sorted(response["data"], key=lambda entry: entry["index"])
            vectors = np.array([entry["embedding"] for entry in entries], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise KbError(f"{self._url} did not return embeddings", "Check its documentation") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise KbError(f"{self._url} returned an array of shape {vectors.shape} for {plural(len(texts), 'text')}")
        if not np.isfinite(vectors).all():
            raise KbError(f"{self._url} returned numbers that are not finite")
        with self._guard:
            self.tokens += _tokens(response.get("usage"))
        return vectors


def same_model(name: str, other: str) -> bool:
    """Return whether two names are of one model with the same vectors, possibly at another address."""
    return _identity(name) == _identity(other)


def _identity(name: str) -> tuple[str, dict[str, str]]:
    model, _, options = name.removeprefix(KIND).rpartition("@")[0].partition("?")
    given = dict(pair.partition("=")[::2] for pair in options.split("&") if pair)
    return model, {key: unquote_plus(value) for key, value in given.items() if key in model_options.LASTING}


def _known_length(model: str) -> int:
    return next((length for pattern, length in _LENGTHS if re.search(pattern, model)), 0)


def _token_ends(text: str) -> list[int]:
    """Return where the tokens of a text end, in characters."""
    return [end for _, end in shipped_tokenizer().encode(text, add_special_tokens=False).offsets]


def _is_too_long(error: endpoint.StatusError) -> bool:
    """Return whether an endpoint refuses texts as too long, or too many at once."""
    return error.status in _REFUSED and bool(_TOO_LONG.search(error.message))


def _share(message: str) -> float:
    """Return the part of a text to keep: what an error says of limit and tokens, less a tenth, or else half."""
    for found in _TWO_NUMBERS.finditer(message):
        low, high = sorted(int(number) for number in found.groups() if number)
        if 0 < low < high:
            return 0.9 * low / high
    return 0.5


def _tokens(usage: Any) -> int:
    """Return the tokens that an endpoint reports (0: none)."""
    found = usage.get("prompt_tokens", usage.get("total_tokens")) if isinstance(usage, dict) else None
    return found if type(found) is int and 0 < found < 1 << 40 else 0
