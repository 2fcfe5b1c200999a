"""Options of a sentence-transformers model in the name of an embedder: ``MODEL?revision=v1&dtype=float16``.

They are part of the name, so that a KB records them, and a search loads the same model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from kbkit.errors import KbError, UnknownNameError

OPTIONS = ("revision", "dtype", "device", "dimension", "length", "prompt", "trust_remote_code")
"""``dimension`` truncates vectors, ``length`` texts (in tokens); ``prompt`` is the name of one of the model's own."""
_DTYPES = ("float32", "float16", "bfloat16")


def split(name: str) -> tuple[str, dict[str, str]]:
    """Return a model and its options; raise :class:`KbError` for an invalid one."""
    model, mark, query = name.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if mark and not options:
        raise KbError(f"No options after '?' in the embedder {name!r}", "For example MODEL?revision=main&dtype=float16")
    for key, value in options.items():
        if key not in OPTIONS:
            raise UnknownNameError("option of an embedder", key, OPTIONS)
        if not value:
            raise KbError(f"Option {key} of the embedder has no value")
        if key in ("dimension", "length") and not (value.isascii() and value.isdigit() and 0 < int(value) <= 1_000_000):
            raise KbError(f"Invalid {key} of the embedder: {value!r}", "Use a positive integer")
        if key == "dtype" and value not in _DTYPES:
            raise UnknownNameError("dtype", value, _DTYPES)
        if key == "trust_remote_code" and value not in ("true", "false"):
            raise KbError(f"Invalid trust_remote_code: {value!r}", "Use true or false")
    return model, options


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
