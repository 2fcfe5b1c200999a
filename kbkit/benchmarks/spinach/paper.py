"""Figures of the paper (Liu et al., SPINACH, Findings of EMNLP 2024) for the tables that kbkit reproduces."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kbkit.benchmarks.report import published
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


SPINACH = "SPINACH"
"""The name of the paper's own dataset."""
_FEATURES = ("clauses", "projections", "relations", "subjects", "predicates", "objects", "literals")


@functools.cache
def datasets() -> dict[str, Published]:
    """Return the datasets of Tables 1 to 4, 6 and 7 by name."""
    figures = published("spinach")
    features, patterns, properties = (figures.of(table) for table in ("1", "6", "7"))
    scores = {table: figures.of(table) for table in ("2", "3", "4")}

    def of(name: str, table: str) -> dict[str, tuple[float, float]]:
        return {part: (row["em"], row["f1"]) for (other, part), row in scores[table].items() if other == name}

    def pair(rows: Mapping[tuple[str, str], Mapping[str, float]], name: str, column: str) -> tuple[int, int] | None:
        row = rows.get((name, ""))
        return None if row is None else (int(row["queries"]), int(row[column]))

    names = dict.fromkeys(figure.row for figure in figures.figures)
    return {
        name: Published(
            name,
            tuple(features[name, ""][column] for column in _FEATURES) if (name, "") in features else None,
            pair(patterns, name, "unique_patterns"),
            pair(properties, name, "unique_properties"),
            of(name, "2") | of(name, "3"),
            of(name, "4"),
        )
        for name in names
    }


def actions() -> dict[str, float]:
    """Return Table 5: percent of the questions of SPINACH's dev by number of actions, without those rolled back."""
    return {part: row["questions"] for (_, part), row in published("spinach").of("5").items()}


def tokens(name: str) -> list[tuple[float, float, float]]:
    """Return the bins of Table 10 (``input_tokens``) or 11 (``output_tokens``): start, end, percent of questions."""
    rows = published("spinach").of("10" if name == "input_tokens" else "11")
    bins = [(tuple(map(float, part.split("-"))), row["questions"]) for (_, part), row in rows.items()]
    return [(start, end, share) for (start, end), share in bins]


def errors() -> dict[str, float]:
    """Return percent of 20 failures by class (section 5.4)."""
    return {part: row["failures"] for (_, part), row in published("spinach").of("").items() if "failures" in row}


def conversation_lengths() -> dict[str, float]:
    """Return Table 8: percent of the questions by number of responses."""
    return {part: row["questions"] for (_, part), row in published("spinach").of("8").items()}


def page_views() -> dict[str, int]:
    """Return Table 9: page views of a year by percentile of the entities."""
    return {part: int(row["views"]) for (_, part), row in published("spinach").of("9").items()}


def cost() -> float:
    """Return the dollars per question of dev, with GPT-4o (appendix D.1)."""
    return published("spinach").value("", SPINACH, "dev", "cost")


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


SPLITS = ("train", "dev", "val", "test")


def named(path: Path) -> Published | None:
    """Return the dataset that a file is named after.

    A file called as a split, such as ``dev``, is named after one of the two folders above it, the closer first.
    """
    parts = [path.stem, *path.absolute().parts[-2:-4:-1]] if path.stem.casefold() in SPLITS else [path.stem]
    for part in parts:
        for pattern, name in _CALLED:
            if pattern.search(part.casefold()):
                return called(name)
    return None


def called(name: str) -> Published:
    """Return the dataset with that name. Raises :class:`UnknownNameError` if the paper does not have it."""
    for dataset in datasets().values():
        if dataset.name.casefold() == name.casefold():
            return dataset
    raise UnknownNameError("dataset", name, list(datasets()), where="the paper")


def split(path: Path) -> str:
    """Return the split in a file's name, one of :data:`SPLITS`, or ""."""
    words = re.split("[^a-z]+", path.stem.casefold())
    return next((word for word in SPLITS if word in words), "")
