"""Engines of SPARQL over a small dataset: Oxigraph, Oxigraph after kbkit's rewriting, and columns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox

from kbkit.schema import STANDARD_PREFIXES
from kbkit.sparql.rewrite import rewrite
from tests.sparql.solutions import Answer, answer


class Dataset:
    """Quads in memory, and on disk where an engine needs them there."""

    def __init__(self, quads: Iterable[ox.Quad], folder: Path) -> None:
        self.folder = folder
        self.store = ox.Store()
        self.store.extend(quads)


def oxigraph(data: Dataset, text: str) -> Answer:
    """Ask Oxigraph."""
    return answer(data.store.query(text, prefixes=STANDARD_PREFIXES))


def rewritten(data: Dataset, text: str) -> Answer:
    """Ask Oxigraph the query as kbkit writes it after parsing it."""
    return oxigraph(data, rewrite(text, "sparql", prefixes={}, limit=10**9).text)
