"""The frames of ``grammar.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("grammar.toml")


@cache
def grammar() -> Mapping[str, list[str]]:
    """Return the frames and words by name."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
