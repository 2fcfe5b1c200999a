"""Positive row and passage of a question over a table and its passages (HybridQA).

HybridQA's answer nodes are all places where the answer occurs; most are coincidences. There are two readings:

* the answer is in a passage, and the question names a cell of the row that links to it ("the driver in position 4"), or
* the answer is in a cell, and the passage of the row has the words of the question ("born on 15 February 1968").

A question is dropped unless one row and one passage fit clearly better than all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.ska.published import rules
from kbkit.benchmarks.ska.published.cells import Grid, Named, content_words, named_cells
from kbkit.benchmarks.ska.published.files import AnswerNode
from kbkit.benchmarks.ska.published.words import words
from kbkit.benchmarks.ska.tables.data import Linked, TableData

NO_PLACE = "no cell or passage has the answer"
UNCLEAR = "the question does not show which place of the answer is meant"
_MIN_WORDS = 3
_LEAD = 2
"""Least number of the question's words in a passage, and the least lead over the passages of other rows."""


class Traced(NamedTuple):
    """The positive row and passage."""

    row: int
    link: Linked


def find(question: str, answer: str, grid: Grid, nodes: Sequence[AnswerNode] | None = None) -> Traced | str:
    """Return the positive row and passage of a question, or the reason why they are not known.

    ``nodes`` are the places of the answer; by default it is looked for in all cells and passages.
    """
    if reason := rules.leaked(question, [answer]):
        return reason
    links = grid.table.passages
    places = _places(answer, grid.table) if nodes is None else nodes
    if not places:
        return NO_PLACE
    asked = words(question)
    named = named_cells(asked, grid)
    inside = {i for mention in named for i in range(mention.start, mention.end)}
    if reason := rules.words_of_question([word for i, word in enumerate(asked) if i not in inside], question):
        return reason
    by_cell = _by_cell(answer, places, named, links)
    by_text = _by_text(question, places, grid)
    candidates = by_cell | by_text
    if len(candidates) != 1:
        return UNCLEAR
    [traced] = candidates
    texts = [traced.link.title, traced.link.text]
    return rules.both_sources(question, [answer], grid.table.rows[traced.row], texts) or traced


def _places(answer: str, table: TableData) -> list[AnswerNode]:
    """Return the places of an answer as HybridQA's authors look for them: as whole words in cells and passages."""
    cells = [
        AnswerNode(row, column, "")
        for row, cells in enumerate(table.rows)
        for column, cell in enumerate(cells)
        if leaks(cell, [answer])
    ]
    taken = {(node.row, node.column) for node in cells}
    passages = [link for link in table.passages if (link.row, link.column) not in taken and leaks(link.text, [answer])]
    return cells + [AnswerNode(link.row, link.column, link.node.partition("#")[2]) for link in passages]


def _by_cell(answer: str, places: Sequence[AnswerNode], named: Sequence[Named], links: Sequence[Linked]) -> set[Traced]:
    """Return the rows whose cells the question names, with the linked passages that have the answer.

    Every part of the question that names cells must name one of the row, in another column than the link.
    """
    traced = set()
    for place in places:
        if not place.link or not named:
            continue
        if all(
            any(place.row in rows for column, rows in mention.rows.items() if column != place.column)
            for mention in named
        ):
            traced |= {
                Traced(place.row, link)
                for link in links
                if (link.row, link.column) == (place.row, place.column)
                and link.node.partition("#")[2] == place.link
                and leaks(link.text, [answer])
            }
    return traced


def _by_text(question: str, places: Sequence[AnswerNode], grid: Grid) -> set[Traced]:
    """Return the rows with the answer whose passage has clearly more of the question's words than other rows' passages.

    Words that half of the passages have are ignored.
    """
    links = grid.table.passages
    rows = {place.row for place in places if not place.link}
    if not rows or not links:
        return set()
    asked = content_words(question, grid)
    texts = {link.node: asked & set(words(link.text)) for link in links}
    frequency = Counter(word for shared in texts.values() for word in shared)
    rare = {word for word in asked if frequency[word] <= max(1, len(texts) // 2)}
    counts = sorted(((len(texts[link.node] & rare), link.row, link) for link in links), key=lambda one: -one[0])
    best, row, link = counts[0]
    others = [count for count, other, further in counts if other != row or further.node != link.node]
    if row not in rows or best < _MIN_WORDS or (others and best < max(others) + _LEAD):
        return set()
    return {Traced(row, link)}
