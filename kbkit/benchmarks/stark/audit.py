"""Audit a STaRK dataset on its KB: which answers can be proved, and what would make scores misleading.

A dataset of kbkit states the relational requirement of a query as an expression, which is evaluated. A published one
has none: then an answer counts as proved if a path of at most two relations leads to it from each node that the query
names, as in the paper's templates (appendix A). Such a path proves that the answer is related to these nodes, not that
the relation is the one that the words mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kbkit.benchmarks.dataset import QUERIES
from kbkit.benchmarks.duplicates import duplicates
from kbkit.benchmarks.stark.task import StarkTask, answer_nodes
from kbkit.measures.records import content, records
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.mentions import Mention, exact_mentions
from kbkit.questions.question import Question
from kbkit.search.run import search

if TYPE_CHECKING:
    from kbkit.answers.answer_set import AnswerSet
    from kbkit.kb import KnowledgeBase

PROVED, PARTLY, UNPROVED = "proved", "proved in part", "not proved"
UNNAMED, UNKNOWN = "query names no node", "answer not searched"
"""Whether the relations of an answer are proved: to all named nodes, to some, to none; or why that is unknown. With an
expression, answers are proved, not proved, or not searched.
"""
STATUSES = (PROVED, PARTLY, UNPROVED, UNNAMED, UNKNOWN)
STEPS = 2
"""Most relations between a named node and an answer."""
DEPTH = 100
"""Hits in which an answer is looked for by text alone."""
_LISTED = pl.List(pl.String)
ANSWERS = pl.Schema(
    {
        "query": pl.String(),
        "node": pl.String(),
        "name": pl.String(),
        "status": pl.String(),
        "is_named": pl.Boolean(),
        "proof": _LISTED,
        "unrelated": _LISTED,
    }
)
"""A row per answer. ``is_named``: the query names it. ``proof``: a line per step. ``unrelated``: the named nodes that
no path joins to it.
"""
PAIRS = pl.Schema(
    {
        "first": pl.String(),
        "second": pl.String(),
        "similarity": pl.Float64(),
        "first_split": pl.String(),
        "second_split": pl.String(),
        "same_answers": pl.Boolean(),
    }
)
"""Similar queries, see :func:`kbkit.benchmarks.duplicates.duplicates`."""
ROWS = pl.Schema(
    {
        "query": pl.String(),
        "split": pl.String(),
        "text": pl.String(),
        "names": _LISTED,
        "answers": pl.Int64(),
        "proved": pl.Int64(),
        "unproved": pl.Int64(),
        "unknown": pl.Int64(),
        "named_answers": pl.Int64(),
        "duplicates": _LISTED,
        "near_duplicates": _LISTED,
        "leaks": _LISTED,
        "twins": _LISTED,
        "text_rank": pl.Int64(),
        "text_decides": pl.Boolean(),
        "relations_decide": pl.Boolean(),
    }
)
"""A row per query.

* ``leaks``: queries in another split with equal words, or with almost equal ones and the same answers
* ``twins``: queries with the same answers that name the same nodes
* ``text_rank``: rank of the best answer in a full-text search for the query (null: below the first 100)
* ``text_decides``: whether the first hits of that search are the answers, all and no others
* ``relations_decide``: whether the expression has the answers, all and no others (null: there is no expression)
"""


class GoldAnswer(NamedTuple):
    """An answer as the dataset names it, and its node (None: not searched)."""

    node: str
    id: int | None


class Judged(NamedTuple):
    """What is found of an answer, see :data:`ANSWERS`."""

    status: str
    is_named: bool
    proof: list[str]
    unrelated: list[str]


@dataclass(frozen=True)
class StarkAudit:
    """The findings: ``rows`` per query (:data:`ROWS`), ``answers`` (:data:`ANSWERS`) and ``pairs`` (:data:`PAIRS`).

    ``has_expressions``: the relational requirements are expressions.
    """

    rows: pl.DataFrame
    answers: pl.DataFrame
    pairs: pl.DataFrame
    has_expressions: bool

    @property
    def is_faulty(self) -> bool:
        """Whether an answer is refuted by the expression of its query, or a query leaks into another split."""
        refuted = self.has_expressions and self.answers.filter(pl.col("status") == UNPROVED).height > 0
        return refuted or self.rows.filter(pl.col("leaks").list.len() > 0).height > 0


class AuditedQuery:
    """A query with its answers, and what it names."""

    def __init__(
        self, kb: KnowledgeBase, text: str, golds: Sequence[GoldAnswer], expression: str | None, labels: frozenset[str]
    ) -> None:
        self._kb, self._text, self._labels = kb, text, labels
        self.golds, self.ids = golds, [gold.id for gold in golds if gold.id is not None]
        self._expression = expression

    @cached_property
    def named(self) -> list[Mention]:
        """The longest names of nodes in the query, without words for types and relations."""
        found = exact_mentions(self._kb.stores, Question.of(self._text))
        exact = [mention for mention in found if mention.how == "exact"]
        longest: list[Mention] = []
        for mention in sorted(exact, key=lambda mention: (mention.first - mention.last, mention.first)):
            is_label = " ".join(stem(word) for word in label_words(mention.text)) in self._labels
            if not is_label and not any(mention.overlaps(other) for other in longest):
                longest.append(mention)
        return sorted(longest, key=lambda mention: mention.first)

    @cached_property
    def _required(self) -> AnswerSet | None:
        """The nodes that meet the expression; None without one, or if it is not an expression of this KB."""
        return None if self._expression is None else self._kb.answers(self._expression)

    @property
    def relations_decide(self) -> bool | None:
        """Whether the expression alone has the answers, all and no others."""
        return None if self._required is None else set(self._required.ids.tolist()) == set(self.ids)

    def judged(self) -> list[Judged]:
        """Return what is found of each answer."""
        return [self._judged(gold.id) for gold in self.golds]

    def _judged(self, node: int | None) -> Judged:
        if node is None:
            return Judged(UNKNOWN, False, [], [])
        is_named = any(node in mention.nodes for mention in self.named)
        if self._required is not None:
            if node not in self._required:
                return Judged(UNPROVED, is_named, [], [])
            return Judged(PROVED, is_named, self._required.why(node).lines(), [])
        anchors = [mention for mention in self.named if node not in mention.nodes]
        paths = [(mention, self._path(mention, node)) for mention in anchors]
        proof = [line for _, lines in paths for line in lines]
        unrelated = [mention.text for mention, lines in paths if not lines]
        status = UNNAMED if not anchors else UNPROVED if not proof else PARTLY if unrelated else PROVED
        return Judged(status, is_named, proof, unrelated)

    def _path(self, mention: Mention, node: int) -> list[str]:
        """Return the shortest path from one of the nodes of a name as a line; empty without one."""
        routes = [paths for start in mention.nodes if len(paths := self._kb.paths(start, node, STEPS, 1))]
        if not routes:
            return []
        [best] = min(routes, key=lambda paths: paths.steps)
        return [" ".join([best.start.name, *(f"{step.label} {step.node.name}" for step in best.steps)])]


def audit(
    kb: KnowledgeBase, dataset: Path, task: StarkTask, progress: Callable[[int, int], None] = lambda *_: None
) -> StarkAudit:
    """Audit the questions of a task. ``progress`` is called with (done, total).

    Raises :class:`KbError` for expressions of another KB, and without the stores ``adjacency`` and ``text``.
    """
    queries = task.gold.queries
    expressions, words = expressions_of(dataset), labels(kb)
    golds = golds_of(kb, task)
    audited = {
        query: AuditedQuery(kb, text, golds.get(query, ()), expressions.get(query), words)
        for query, text in queries.select("query", "text").iter_rows()
    }
    judged = {}
    for done, (query, audited_query) in enumerate(audited.items()):
        progress(done, queries.height)
        judged[query] = audited_query.judged()
    progress(queries.height, queries.height)
    pairs = _pairs(queries, audited)
    columns = [*_about(queries, audited, judged), *_others(pairs, audited), *_decided(kb, task, audited)]
    rows = pl.DataFrame(dict(zip(ROWS, columns, strict=True)), schema=ROWS)
    return StarkAudit(rows, _answers(kb, audited, judged), pairs, any(query in expressions for query in audited))


def expressions_of(dataset: Path) -> dict[str, str]:
    """Return the expressions of the queries of a dataset that kbkit generated, by id."""
    path = (dataset if dataset.is_dir() else dataset.absolute().parent.parent) / QUERIES
    rows = [record.fields for record in records(path, content(path))] if path.is_file() else []
    return {str(row.get("id")): row["expression"] for row in rows if isinstance(row.get("expression"), str)}


def labels(kb: KnowledgeBase) -> frozenset[str]:
    """Return the stems of the labels of types and relations, which are also names of nodes in some KBs."""
    names = [*(kind.name for kind in kb.schema.node_types), *(relation.name for relation in kb.schema.relations)]
    return frozenset(" ".join(stem(word) for word in label_words(name)) for name in names)


def golds_of(kb: KnowledgeBase, task: StarkTask) -> dict[str, list[GoldAnswer]]:
    """Return the answers of each query."""
    golds: dict[str, list[GoldAnswer]] = defaultdict(list)
    for query, node, node_id in answer_nodes(kb, task).iter_rows():
        golds[query].append(GoldAnswer(node, node_id))
    return golds


def _answers(
    kb: KnowledgeBase, audited: Mapping[str, AuditedQuery], judged: Mapping[str, list[Judged]]
) -> pl.DataFrame:
    named = kb.stores.nodes.rows(sorted({node for audited_query in audited.values() for node in audited_query.ids}))
    rows = [
        (query, gold.node, None if gold.id is None else named[gold.id].name, *judgement)
        for query, audited_query in audited.items()
        for gold, judgement in zip(audited_query.golds, judged[query], strict=True)
    ]
    return pl.DataFrame(rows, schema=ANSWERS, orient="row")


# -- columns of the rows ----------------------------------------------------------------------------------------------


def _about(
    queries: pl.DataFrame, audited: Mapping[str, AuditedQuery], judged: Mapping[str, list[Judged]]
) -> list[Sequence[object]]:
    """Return the columns from query to named_answers."""
    splits = queries["split"].to_list() if "split" in queries.columns else [None] * queries.height
    statuses = [[answer.status for answer in answers] for answers in judged.values()]
    return [
        list(audited),
        splits,
        queries["text"].to_list(),
        [[mention.text for mention in audited_query.named] for audited_query in audited.values()],
        [len(audited_query.golds) for audited_query in audited.values()],
        [own.count(PROVED) for own in statuses],
        [own.count(UNPROVED) + own.count(PARTLY) for own in statuses],
        [own.count(UNKNOWN) for own in statuses],
        [sum(answer.is_named for answer in answers) for answers in judged.values()],
    ]


def _pairs(queries: pl.DataFrame, audited: Mapping[str, AuditedQuery]) -> pl.DataFrame:
    names, texts = list(audited), queries["text"].to_list()
    splits = queries["split"].to_list() if "split" in queries.columns else [None] * len(names)
    answers = [{gold.node for gold in audited_query.golds} for audited_query in audited.values()]
    rows = [
        (names[first], names[second], similarity, splits[first], splits[second], answers[first] == answers[second])
        for first, second, similarity in duplicates(texts)
    ]
    return pl.DataFrame(rows, schema=PAIRS, orient="row")


def _others(pairs: pl.DataFrame, audited: Mapping[str, AuditedQuery]) -> list[Sequence[object]]:
    """Return the columns duplicates, near_duplicates, leaks and twins."""
    equal: dict[str, list[str]] = {query: [] for query in audited}
    near: dict[str, list[str]] = {query: [] for query in audited}
    leaks: dict[str, list[str]] = {query: [] for query in audited}
    for first, second, similarity, *splits, same_answers in pairs.iter_rows():
        leaking = None not in splits and splits[0] != splits[1] and (similarity == 1 or same_answers)
        for one, other in ((first, second), (second, first)):
            (equal if similarity == 1 else near)[one].append(other)
            if leaking:
                leaks[one].append(other)
    meanings: dict[tuple[frozenset[str], frozenset[str]], list[str]] = defaultdict(list)
    keys = {}
    for query, one in audited.items():
        names = frozenset(mention.text.casefold() for mention in one.named)
        keys[query] = (frozenset(gold.node for gold in one.golds), names)
        if all(keys[query]):
            meanings[keys[query]].append(query)
    twins = [[other for other in meanings.get(key, ()) if other != query] for query, key in keys.items()]
    return [list(equal.values()), list(near.values()), list(leaks.values()), twins]


def _decided(kb: KnowledgeBase, task: StarkTask, audited: Mapping[str, AuditedQuery]) -> list[Sequence[object]]:
    """Return the columns text_rank, text_decides and relations_decide."""
    if not kb.has("text"):
        kb.text  # noqa: B018 - raises and says how to build it
    depth = max([DEPTH, *(len(audited_query.ids) for audited_query in audited.values())])
    searched = search(kb.stores, "bm25", depth, task.within, options={"quotes": False})
    frame = searched.many(dict(zip(audited, task.texts, strict=True)))
    hits = {str(query): part["id"].to_list() for (query,), part in frame.partition_by("query", as_dict=True).items()}
    ranks, decides = [], []
    for query, audited_query in audited.items():
        own, ranked = set(audited_query.ids), hits.get(query, [])
        places = [place for place, node in enumerate(ranked[:DEPTH], 1) if node in own]
        ranks.append(min(places, default=None))
        decides.append(bool(own) and set(ranked[: len(own)]) == own)
    return [ranks, decides, [audited_query.relations_decide for audited_query in audited.values()]]
