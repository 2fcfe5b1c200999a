"""Options of a model in the name of an embedder: ``MODEL?revision=v1&dtype=float16``.

They are part of the name, so that a KB records them, and a search loads the same model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

from kbkit.errors import KbError, UnknownNameError

OPTIONS = (
    "revision",
    "dtype",
    "device",
    "dimension",
    "length",
    "prompt",
    "instruction",
    "pooling",
    "trust_remote_code",
)
"""Of a sentence-transformers model.

``dimension`` truncates vectors, ``length`` texts (in tokens); ``prompt`` is the name of one of the model's own,
``instruction`` the task that a query describes to an instruction-tuned model, ``pooling`` replaces the model's.
"""
REMOTE = ("length", "long", "dimension", "instruction", "batch", "workers", "price", "cache")
"""Of a model behind an endpoint; see :mod:`kbkit.stores.endpoint_embedder`."""
LASTING = REMOTE[:4]
"""Those that change vectors."""
CUT, MEAN = "cut", "mean"
_CHOICES = {
    "dtype": ("float32", "float16", "bfloat16"),
    "pooling": ("mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"),
    "long": (CUT, MEAN),
    "trust_remote_code": ("true", "false"),
}
_NUMBERS = ("dimension", "length", "batch", "workers")


def split(name: str, known: Sequence[str] = OPTIONS) -> tuple[str, dict[str, str]]:
    """Return a model and its options, some of ``known``; raise :class:`KbError` for an invalid one."""
    model, mark, query = name.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if mark and not options:
        example = "length=512" if known is REMOTE else "revision=main&dtype=float16"
        raise KbError(f"No options after '?' in the embedder {name!r}", f"For example MODEL?{example}")
    for key, value in options.items():
        if key not in known:
            raise UnknownNameError("option of an embedder", key, known)
        if not value:
            raise KbError(f"Option {key} of the embedder has no value")
        if key in _NUMBERS and not (value.isascii() and value.isdigit() and 0 < int(value) <= 1_000_000):
            raise KbError(f"Invalid {key} of the embedder: {value!r}", "Use a positive integer")
        if key == "price" and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
            raise KbError(f"Invalid price of the embedder: {value!r}", "Use that of a million tokens, such as 0.02")
        if value not in _CHOICES.get(key, (value,)):
            raise UnknownNameError(key, value, _CHOICES[key])
    return model, options


def joined(model: str, options: Mapping[str, str]) -> str:
    """Return the name of a model with options."""
    return f"{model}?{urlencode(options, safe='/:~')}" if options else model


def runs_code(name: str) -> bool:
    """Return whether an embedder's name asks to run code that came with the model."""
    return name.startswith("sentence-transformers:") and split(name)[1].get("trust_remote_code") == "true"


def arguments(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of the library's constructor."""
    found: dict[str, Any] = {key: options[key] for key in ("revision", "device") if key in options}
    if "dimension" in options:
        found["truncate_dim"] = int(options["dimension"])
    if "dtype" in options:
        found["model_kwargs"] = {"torch_dtype": options["dtype"]}
    if options.get("trust_remote_code") == "true":
        found["trust_remote_code"] = True
    return found
