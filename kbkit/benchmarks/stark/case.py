"""A case study of a query (figure 6): where two systems rank the answers and the other hits, and what may explain it.

The paper shows a query for which a retriever ranks documents first that repeat its words but lack its relations, and a
reranker the answers.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kbkit.benchmarks.documents import read_documents
from kbkit.benchmarks.stark.audit import AuditedQuery, GoldAnswer, expressions_of, golds_of, labels
from kbkit.benchmarks.stark.run import Result
from kbkit.benchmarks.stark.task import StarkTask, nodes_of
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.errors import KbError, UnknownNameError
from kbkit.measures import ranking
from kbkit.questions.lexicon import stem

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

SHOWN = 4
"""Hits of the first system that are shown in addition to the answers."""
_MOST_WORDS = 3
_WORD = re.compile(r"\w+")
_FOUND = pl.List(pl.String())
CASE = pl.Schema(
    {
        "node": pl.String(),
        "name": pl.String(),
        "is_answer": pl.Boolean(),
        "first_rank": pl.Int64(),
        "second_rank": pl.Int64(),
        "repeated": _FOUND,
        "relations": pl.String(),
        "proof": _FOUND,
    }
)
"""A row per answer and per hit: its rank in both runs (null: not there), the words of the query that its text repeats
most, whether its relations are proved (:mod:`kbkit.benchmarks.stark.audit`), and the proof.
"""


class Case(NamedTuple):
    """A query, the reciprocal rank of its best answer in both runs, and its hits (:data:`CASE`)."""

    query: str
    text: str
    first: float
    second: float
    hits: pl.DataFrame


def case(
    kb: KnowledgeBase, dataset: Path, task: StarkTask, runs: tuple[Result, Result], query: str = "", shown: int = SHOWN
) -> Case:
    """Return the case of a query, by default that whose answers the second run ranks highest above the first.

    ``shown``: number of hits of each run in addition to the answers. Raises :class:`KbError` for an unknown query.
    """
    queries = task.gold.queries
    scores = [dict(ranking.measure(run.run, task.gold, ["mrr"]).select("query", "mrr").iter_rows()) for run in runs]
    names = queries["query"].to_list()
    if query and query not in names:
        raise UnknownNameError("query", query, names, str(dataset))
    gains = {name: (scores[1].get(name) or 0.0) - (scores[0].get(name) or 0.0) for name in names}
    chosen = query or max(names, key=lambda name: gains[name])
    if not query and gains[chosen] <= 0:
        raise KbError(f"{runs[1].name} ranks no answer above {runs[0].name}", "Choose a query, or swap the runs")
    text = dict(queries.select("query", "text").iter_rows())[chosen]
    golds = golds_of(kb, task).get(chosen, [])
    hits = _hits(kb, dataset, task, chosen, text, golds, runs, shown)
    return Case(chosen, text, scores[0].get(chosen) or 0.0, scores[1].get(chosen) or 0.0, hits)


def _hits(
    kb: KnowledgeBase,
    dataset: Path,
    task: StarkTask,
    query: str,
    text: str,
    golds: list[GoldAnswer],
    runs: tuple[Result, Result],
    shown: int,
) -> pl.DataFrame:
    ranked = [_ranked(run, query) for run in runs]
    answers = {gold.node for gold in golds}
    others = [[node for node in order if node not in answers][:shown] for order in ranked]
    wanted = list(dict.fromkeys([*answers, *others[0], *others[1]]))
    ids = nodes_of(kb, task, pl.Series("node", wanted, pl.String))
    documents = read_documents(kb, ids.values())
    judged_golds = [GoldAnswer(node, ids.get(node)) for node in wanted]
    expression = expressions_of(dataset).get(query)
    judged = AuditedQuery(kb, text, judged_golds, expression, labels(kb)).judged()
    places = [{node: place for place, node in enumerate(order, 1)} for order in ranked]
    rows = []
    for node, judgement in zip(wanted, judged, strict=True):
        document = documents.get(ids.get(node, -1))
        rows.append(
            (
                node,
                None if document is None else document.name,
                node in answers,
                places[0].get(node),
                places[1].get(node),
                [] if document is None else _repeated(text, document.text),
                judgement.status,
                judgement.proof,
            )
        )
    frame = pl.DataFrame(rows, schema=CASE, orient="row")
    return frame.sort("first_rank", "second_rank", nulls_last=True, maintain_order=True)


def _ranked(run: Result, query: str) -> list[str]:
    hits = run.run.filter(pl.col("query") == query)
    return hits.sort("score", descending=True, maintain_order=True)["node"].to_list()


def _repeated(query: str, document: str) -> list[str]:
    """Return the words of a query that a document has most often, with their numbers."""
    wanted = {stem(word) for word in _WORD.findall(query.casefold()) if word not in FUNCTION_WORDS}
    counts = Counter(one for word in _WORD.findall(document.casefold()) if (one := stem(word)) in wanted)
    return [f"{word} {count}" for word, count in counts.most_common(_MOST_WORDS)]
