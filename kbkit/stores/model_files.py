"""Files of models: the revision that a run records, and the tokenizer that ships with the package."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from pathlib import Path
from typing import Any

from kbkit import assets

_FILES = ("*.json", "*.safetensors", "*.bin", "*.txt", "*.model")
_BLOCK = 1 << 20
_TOKENIZER = "static-minilm-192-int8"


def revision(model: str) -> str:
    """Return a name for the files of a model: a hash for a folder, the commit for a model of the hub (empty: unknown).

    A hub's model is looked up in the cache of this computer; nothing is downloaded.
    """
    folder = Path(model)
    if folder.is_dir():
        files = sorted({path for pattern in _FILES for path in folder.rglob(pattern) if path.is_file()})
        stamps = tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
        return _digest(str(folder), stamps)
    with contextlib.suppress(ImportError, ValueError, OSError):
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(model, "config.json")
        if isinstance(found, str):
            return Path(found).parent.name
    return ""


@functools.lru_cache(64)
def _digest(folder: str, stamps: tuple[tuple[str, int, int], ...]) -> str:
    """Return a hash of the names and contents of files; ``stamps`` (path, size, time) tell when they have changed."""
    found = hashlib.sha256()
    for path, size, _ in stamps:
        found.update(f"{Path(path).relative_to(folder)}\0{size}\0".encode())
        with Path(path).open("rb") as file:
            while block := file.read(_BLOCK):
                found.update(block)
    return found.hexdigest()[:16]


@functools.cache
def shipped_tokenizer() -> Any:
    """Return the tokenizer of the shipped model, without padding and truncation."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(assets.model(_TOKENIZER) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
