"""The files that ship with kbkit, in an installed wheel or in a checkout.

Recipes and queries are at the top level of the repository, where people look for them, and in this folder in a wheel.
Guides, prompts, templates and models are always in this folder.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def folder(name: str) -> Path:
    """Return the folder ``ingest``, ``sql`` or ``sparql``."""
    installed = _HERE / name
    return installed if installed.is_dir() else _HERE.parent.parent / name


def guides() -> Path:
    """Return the folder of guides."""
    return _HERE / "guides"


def model(name: str) -> Path:
    """Return the folder of an embedding model that ships with kbkit."""
    return _HERE / "models" / name


def prompts() -> Path:
    """Return the folder of prompts for language models."""
    return _HERE / "prompts"


def templates() -> Path:
    """Return the folder of catalogues of answer templates."""
    return _HERE / "templates"


def web() -> Path:
    """Return the folder of the scripts and styles of web pages; its folder ``vendor`` has the libraries."""
    return _HERE / "web"


def published_file(paper: str) -> Path:
    """Return the file of the figures that a paper prints."""
    return _HERE / "published" / f"{paper}.csv"
