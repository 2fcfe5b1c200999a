"""Generators of hostile input: calls, commands, requests, files, datasets, strangers' KBs, damage, kills, shortages.

``python -m tests.fuzz --minutes N`` runs them; ``tests/kb/test_fuzz.py`` runs a bounded sample. An area is a module of
this package with one function ``case``, listed in ``__main__.AREAS``. A case is made from its
seed alone, so that ``python -m tests.fuzz AREA --seed N`` repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bench:
    """What all cases of a run share."""

    world: Path
    """The KB of the sample, with all stores; read it only."""
    tiny: Path
    """The KB of the tiny graph, with all stores; read it only."""
    folder: Path
    """An empty folder for this case, removed after it."""


@dataclass(frozen=True)
class Broken:
    """A promise that a case found broken."""

    input: str
    """What was called, run or changed, so that a person can repeat it."""
    found: str
    """What happened: the exception, the exit code, the value that differs, the file that was left."""


Case = Callable[[Bench, int], Iterable[Broken]]
"""Run the case of a seed, which may try several inputs, and return what is broken."""
