"""Fit the weights of sketches to questions about databases, and print how good they are with each database left out.

``python -m tests.performance.sketch_training [--write]``. The questions are those of ``table_questions`` and of
``written``: 480 that four writers, who had not seen the code, asked about sixteen databases of theirs; and those about
80 tables of WikiTableQuestions.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import minimize

import kbkit
from kbkit.answers.answer_set import AnswerSet
from kbkit.kb import KnowledgeBase
from kbkit.questions.reader import QuestionReader
from kbkit.questions.sketches import judge
from kbkit.questions.sketches.reading import SketchReader
from kbkit.questions.sketches.words import SketchWords
from tests.performance.table_questions import TableQuestion, gold_of, is_right, kb_of, own, spider, wikitables, written

WEIGHTS = Path(judge.__file__).with_name("weights.toml")
FOLDS, RIDGE, LEAST = 8, 0.5, 0.0005
"""Folds of databases, the factor of squared weights, and the least weight that is written."""
AGAINST = (
    "ignore",
    "may be",
    "denies",
    "dropped",
    "worst",
    "better",
    "fails",
    "no answers",
    "not ",
    "one thing",
    "further hops",
    "shows",
)
ALSO_AGAINST = frozenset(["nouns", "verbs", "same type twice", "flag elsewhere", "lists all", "several meanings"])
"""Features that can only speak against a sketch, and how others begin that can."""


class Tried(NamedTuple):
    """A question whose sketches were tried, and which of them are right."""

    what: str
    database: str
    sketches: list[judge.TriedSketch]
    right: list[bool]


class Answered(NamedTuple):
    """The answers of a sketch, as a result that ``is_right`` looks at."""

    answers: AnswerSet

    @property
    def value(self) -> Any:
        """The value that is asked for; None for nodes."""
        return self.answers.value

    def nodes(self) -> pl.DataFrame:
        """Return the nodes."""
        return self.answers.nodes()


def tried() -> Iterator[Tried]:
    """Yield the questions of all sets with their sketches."""
    own_questions = [*own(tuned=True), *own(tuned=False)]
    sets = {"spider": spider(), "own": own_questions, "plain": written("plain"), "casual": written("casual")}
    sets["wikitables"] = wikitables(tuned=True)
    for what, asked in sets.items():
        for name in dict.fromkeys(one.database for one in asked):
            with kbkit.open(kb_of(name)) as kb:
                reader = QuestionReader.of(kb.stores)
                sketches = SketchReader(reader.elements)
                for one in (one for one in asked if one.database == name):
                    read = reader.read(one.question)
                    words = SketchWords(reader.elements, read.question, read.by_clauses.links)
                    found = sketches.tried(words)
                    yield Tried(what, name, found, _right(kb, one, found))


def _right(kb: KnowledgeBase, one: TableQuestion, found: Sequence[judge.TriedSketch]) -> list[bool]:
    """Return which sketches have the answers of the gold."""
    gold = gold_of(one) if one.has_gold else []
    sets = (None if sketch.content is None else kb.answers(str(sketch.sketch.tree)) for sketch in found)
    return [bool(gold) and answers is not None and is_right(kb, Answered(answers), gold) for answers in sets]


def matrix(sketches: Sequence[judge.TriedSketch], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the features of sketches: a row for each."""
    rows = [[sketch.with_answers.get(name, 0.0) for name in names] for sketch in sketches]
    return np.array(rows, np.float64).reshape(len(rows), len(names))


def fitted(questions: Sequence[Tried], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the weights under which right sketches are likeliest among those of their questions.

    What can only speak against a sketch has no weight above 0.
    """
    known = [(matrix(one.sketches, names), np.array(one.right)) for one in questions]
    known = [(rows, right) for rows, right in known if right.any() and not right.all()]

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = 0.5 * RIDGE * float(weights @ weights), RIDGE * weights
        for rows, right in known:
            scores = rows @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            share = shares[right].sum() + 1e-12
            value -= float(np.log(share))
            slope = slope + rows.T @ shares - rows.T @ (shares * right) / share
        return value, slope

    bounds = [(None, 0.0 if is_against(name) else None) for name in names]
    found: NDArray[np.float64] = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


def is_against(name: str) -> bool:
    """Return whether a feature can only speak against a sketch."""
    return name.startswith(AGAINST) or "unsaid" in name or name in ALSO_AGAINST


def main() -> None:
    """Print how often sketches are right with their database left out; ``--write`` writes weights fitted to all."""
    questions = list(tried())
    names = sorted({name for one in questions for sketch in one.sketches for name in sketch.with_answers})
    databases = sorted({(one.what, one.database) for one in questions})
    random.Random(1).shuffle(databases)
    fold = {one: number % FOLDS for number, one in enumerate(databases)}
    order: dict[int, list[bool]] = {}
    for k in range(FOLDS):
        weights = fitted([one for one in questions if fold[one.what, one.database] != k], names)
        for number, one in enumerate(questions):
            if fold[one.what, one.database] == k:
                scores = matrix(one.sketches, names) @ weights
                order[number] = [one.right[at] for at in np.argsort(-scores, kind="stable").tolist()]
    for what in dict.fromkeys(one.what for one in questions):
        mine = [order[number] for number, one in enumerate(questions) if one.what == what]
        counts = (sum(any(right[:first]) for right in mine) for first in (1, 3, len(names)))
        shares = ", ".join(f"{count / len(mine):.3f}" for count in counts)
        print(f"{what}: {len(mine)} questions; right first, among three, among all tried: {shares}")
    if "--write" in sys.argv:
        found = zip(names, fitted(questions, names), strict=True)
        WEIGHTS.write_text("".join(f'"{name}" = {value:.3f}\n' for name, value in found if abs(value) >= LEAST))


if __name__ == "__main__":
    main()
