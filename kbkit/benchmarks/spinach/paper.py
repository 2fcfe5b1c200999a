"""Figures of the paper (Liu et al., SPINACH, Findings of EMNLP 2024) for the tables that kbkit reproduces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from kbkit.errors import UnknownNameError


@dataclass(frozen=True)
class Published:
    """The paper's figures for a dataset; None if there are none.

    ``features`` (Table 1): means of clauses, projections, relations, subjects, predicates, objects, literals.
    ``patterns`` (Table 6): queries, unique patterns. ``properties`` (Table 7): queries, unique properties. ``scores``
    (Tables 2 and 3): exact match and F1 of the SPINACH agent with GPT-4o, in percent, by split. ``ablations`` (Table
    4): the same without one action, by its name.
    """

    name: str
    features: tuple[float, ...] | None = None
    patterns: tuple[int, int] | None = None
    properties: tuple[int, int] | None = None
    scores: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ablations: Mapping[str, tuple[float, float]] = field(default_factory=dict)


SPINACH = Published(
    "SPINACH",
    (8.89, 2.50, 4.03, 1.76, 3.55, 4.53, 0.46),
    (320, 320),
    (323, 298),
    {"dev": (21.4, 46.4), "test": (16.4, 45.3)},
    {"entry": (11.7, 36.4), "examples": (10.4, 29.4), "search": (4.6, 25.3)},
)
PUBLISHED = (
    SPINACH,
    Published("QALD-7", scores={"test": (62.2, 74.6)}),
    Published("QALD-9 Plus", (3.14, 1, 1.77, 1.26, 1.70, 1.78, 0.05), None, (507, 158), {"test": (58.3, 71.6)}),
    Published("QALD-10", (2.38, 1, 1.27, 1.19, 1.17, 1.32, 0.05), None, (394, 177), {"test": (63.1, 69.5)}),
    Published(
        "WikiWebQuestions",
        (2.63, 1, 1.53, 1.25, 1.52, 1.53, 0.04),
        (4316, 176),
        (4316, 189),
        {"dev": (61.2, 72.3), "test": (59.9, 70.3)},
    ),
    Published("RuBQ", (2.17, 1, 1.12, 1.03, 1.11, 1.07, 0.01), None, (2910, 251)),
    Published("SimpleQuestionsWikidata", (2.00, 1, 1.00, 1.00, 1.00, 1.00, 0.00)),
    Published("CWQ", (5.19, 1, 2.80, 1.87, 2.62, 3.38, 0.11), (34689, 402)),
    Published("GrailQA", (7.10, 1, 3.02, 1.97, 2.43, 3.90, 0.08), (51100, 116)),
    Published("KQA Pro", (6.34, 1, 5.01, 2.77, 3.94, 2.43, 2.37), (117970, 1689)),
    Published("MCWQ", (6.34, 1, 5.09, 2.67, 3.53, 3.37, 0.00), None, (124187, 27)),
    Published("LC-QuAD-2", (3.65, 1, 2.07, 1.51, 2.05, 2.07, 0.22)),
)
"""The datasets of Tables 1, 6 and 7, and of Table 2."""

ACTIONS = MappingProxyType({"3-5": 28.6, "6-8": 33.8, "9-11": 11.0, "12-14": 7.1, "15": 19.5})
"""Table 5: percent of the questions of SPINACH's dev by number of actions, without those rolled back."""
INPUT_TOKENS = (4912.5, 5418.0, (16.23, 24.03, 18.18, 8.44, 6.49, 5.84, 10.39, 7.14, 1.30, 1.95))
"""Table 10: start of the first of ten bins, width of each, percent of the questions in each."""
OUTPUT_TOKENS = (164.0, 281.3, (33.77, 27.92, 14.29, 11.04, 6.49, 3.90, 1.30, 0.65, 0.00, 0.65))
"""Table 11, likewise."""
COST = 0.1253
"""Dollars per question of dev, with GPT-4o (appendix D.1)."""

# Names of files and folders, tried in this order.
_CALLED = (
    (re.compile(r"qald[-_ ]?7"), "QALD-7"),
    (re.compile(r"qald[-_ ]?9"), "QALD-9 Plus"),
    (re.compile(r"qald[-_ ]?10"), "QALD-10"),
    (re.compile(r"wikiwebq|wwq"), "WikiWebQuestions"),
    (re.compile(r"rubq"), "RuBQ"),
    (re.compile(r"simple[-_ ]?q"), "SimpleQuestionsWikidata"),
    (re.compile(r"lc[-_ ]?quad"), "LC-QuAD-2"),
    (re.compile(r"kqa[-_ ]?pro"), "KQA Pro"),
    (re.compile(r"grail"), "GrailQA"),
    (re.compile(r"mcwq"), "MCWQ"),
    (re.compile(r"(?<![a-z])cwq"), "CWQ"),
    (re.compile(r"spinach"), "SPINACH"),
)


SPLITS = ("dev", "test", "train")


def named(path: Path) -> Published | None:
    """Return the dataset that a file is named after.

    A file called ``dev``, ``test`` or ``train`` is named after one of the two folders above it, the closer first.
    """
    parts = [path.stem, *path.absolute().parts[-2:-4:-1]] if path.stem.casefold() in SPLITS else [path.stem]
    for part in parts:
        for pattern, name in _CALLED:
            if pattern.search(part.casefold()):
                return called(name)
    return None


def called(name: str) -> Published:
    """Return the dataset with that name. Raises :class:`UnknownNameError` if the paper does not have it."""
    for one in PUBLISHED:
        if one.name.casefold() == name.casefold():
            return one
    raise UnknownNameError("dataset", name, [one.name for one in PUBLISHED], where="the paper")


def split(path: Path) -> str:
    """Return the split in a file's name, one of :data:`SPLITS`, or ""."""
    words = re.split("[^a-z]+", path.stem.casefold())
    return next((word for word in SPLITS if word in words), "")
