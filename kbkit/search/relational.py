"""The search modes ``relational`` and ``auto``: the answers of a trusted reading of the query first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.session import Session
from kbkit.questions.choices import ReadingChoices, resolved
from kbkit.questions.read import Read
from kbkit.questions.reader import QuestionReader
from kbkit.search.hybrid import Queries, Search, pairs
from kbkit.search.names import names_first
from kbkit.search.ranking import EMPTY, QueryResult, Ranking
from kbkit.search.retrievers import QueryBatch
from kbkit.search.settings import SearchSettings
from kbkit.stores import Stores
from kbkit.stores.arrays import Within, is_within
from kbkit.stores.text_query import TextQuery

MIN_CONFIDENCE_IN_DOUBT = 0.85
"""Confidence from which the answers of a reading rank first in a search if its names may be common words, or if a text
has all words of the query, which may be a list of words.
"""


@dataclass(frozen=True)
class RelationalSearch(Search):
    """A hybrid search that ranks the answers of a chosen or trusted reading first; other queries are ranked as hybrid.

    ``read`` gets the expression and the sorted answers of each query that was read.
    """

    read: dict[str, tuple[str, NDArray[np.int32]]] = field(default_factory=dict)

    def trusted(self, text: str) -> Read | None:
        """Return how a query was read if its answers are to rank first: it may be a name or a list of words instead."""
        read = None if _is_name(self, text) else _read(self, text)
        if read is None or not read.has_names or not read.is_sure:
            return None
        best = read.best
        if best is None or not best.selects or not best.has_answers:
            return None
        is_doubtful = not best.has_sure_name or _has_text(self, read)
        return None if is_doubtful and not read.reaches(MIN_CONFIDENCE_IN_DOUBT) else read

    def answers(self, text: str) -> AnswerSet | None:
        """Return the answers that rank first: of the reading that a person chose, else of a trusted one."""
        choice = ReadingChoices.of(self.session.stores).find(text)
        chosen = None if choice is None else resolved(self.session.stores, choice)[0]
        if chosen is not None:
            return chosen if chosen.value is None else None
        read = self.trusted(text)
        return None if read is None or read.best is None else read.best.answers

    def rank(self, batch: QueryBatch, settings: SearchSettings) -> list[QueryResult]:
        """Return the hybrid rankings, with answers first."""
        hybrid = settings.changed(mode="hybrid")
        results = super().rank(batch, hybrid)
        return [self._answers_first(batch.one(at), hybrid, result) for at, result in enumerate(results)]

    def _answers_first(self, batch: QueryBatch, settings: SearchSettings, result: QueryResult) -> QueryResult:
        text = batch.queries[0].text
        found = self.answers(text)
        answers = EMPTY.ids
        if found is not None:
            answers = found.ids.astype(np.int64)
            self.read[text] = found.expression, found.ids
        answers = answers[is_within(answers, settings.within)]
        components = {**result.components, "relational": EMPTY}
        if not len(answers):
            return result._replace(components=components)
        components["relational"] = Ranking(answers, np.ones(len(answers)))

        def rank(within: Within) -> QueryResult:
            return super(RelationalSearch, self).rank(batch, settings.changed(within=within))[0]

        ranked = names_first(result, answers, settings.within, settings.k, rank, apart=True)
        return ranked._replace(components=components, named=result.named)

    def explained(self, query: TextQuery, result: QueryResult, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the columns ``linked`` (the names that were found) and ``why`` (with the proofs of answers)."""
        found, read = self.answers(query.text), self.trusted(query.text)
        why = self.reasons(query, result, frame)
        names: list[str] = []
        if found is not None:
            if read is not None and read.best is not None and read.best.answers is found:
                names = [f"{m.words}: {m.meaning}" for m in read.best.matches() if "#" in m.meaning]
            answers = set(found.ids.tolist())
            for reasons, node in zip(why, frame["id"].to_list(), strict=True):
                if node in answers:
                    reasons += [found.expression, *found.why(node).lines()]
        linked = [names for _ in why]
        return frame.with_columns(
            pl.Series("linked", linked, dtype=pl.List(pl.String)), pl.Series("why", why, dtype=pl.List(pl.String))
        )


@dataclass(frozen=True)
class QuestionSearch(RelationalSearch):
    """A relational search for questions: the answers rank first wherever ``kb.ask`` answers.

    ``confidences`` gets the confidence of each question.
    """

    confidences: dict[str, float] = field(default_factory=dict)

    def trusted(self, text: str) -> Read | None:
        """Return how a question was read if it is answered."""
        read = _read(self, text)
        self.confidences[text] = 0.0 if read is None else read.confidence
        return read if read is not None and read.is_sure and read.best is not None and read.best.has_answers else None


class AutomaticSearch(RelationalSearch):
    """A hybrid search, and for queries that are read with confidence a relational one."""

    def rank(self, batch: QueryBatch, settings: SearchSettings) -> list[QueryResult]:
        """Return the hybrid rankings, with answers first where a query is read."""
        results = Search.rank(self, batch, settings)
        return [self._answers_first(batch.one(at), settings, result) for at, result in enumerate(results)]

    def _answers_first(self, batch: QueryBatch, settings: SearchSettings, result: QueryResult) -> QueryResult:
        if self.answers(batch.queries[0].text) is None:
            return result
        return super()._answers_first(batch, settings, result)

    def explained(self, query: TextQuery, result: QueryResult, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the column ``why``, and ``linked`` if the query is read."""
        if self.answers(query.text) is None:
            return Search.explained(self, query, result, frame)
        return super().explained(query, result, frame)


def ask_many(
    stores: Stores, questions: Queries, k: int = 20, progress: Callable[[int, int], None] | None = None
) -> pl.DataFrame:
    """Rank answers to many questions; see :meth:`kbkit.kb.KnowledgeBase.ask_many`."""
    search = QuestionSearch.of(Session.of(stores), "relational", k, None, None, None, {"quotes": False})
    ranked = search.many(questions, progress)
    answers, confidences = [], []
    for name, text in zip(*pairs(questions), strict=True):
        confidences.append((name, search.confidences.get(text, 0.0)))
        if text in search.read:
            expression, ids = search.read[text]
            answers.append(pl.DataFrame({"query": name, "id": ids, "expression": expression}))
    schema = {"query": pl.String, "id": pl.Int32, "expression": pl.String}
    known = pl.concat([pl.DataFrame(schema=schema), *(frame.cast(schema) for frame in answers)])  # type: ignore[arg-type]
    with_answers = ranked.join(known, on=["query", "id"], how="left", maintain_order="left")
    scored = pl.DataFrame(confidences, schema={"query": pl.String, "confidence": pl.Float64}, orient="row")
    return with_answers.join(scored.unique("query"), on="query", how="left", maintain_order="left")


def _read(search: Search, text: str) -> Read | None:
    """Return how a query was read; None if the KB cannot be asked."""
    if not text.strip() or not search.session.stores.has("adjacency"):
        return None
    return QuestionReader.of(search.session.stores).read(text)


def _is_name(search: Search, text: str) -> bool:
    """Return whether a query is a name, alias or key in full: *Rebecca Black* asks for nothing of *Rebecca*."""
    return search.session.stores.has("nodes") and len(search.session.stores.nodes.called(text.strip())) > 0


def _has_text(search: Search, read: Read) -> bool:
    """Return whether a text has all content words of a query, so that it may be a list of words."""
    if not search.session.stores.has("text"):
        return False
    words = tuple(read.question.tokens[at].word for at in read.question.content(set()))
    matching = search.session.stores.text.matching(TextQuery(read.question.text, words))
    return matching is not None and len(matching) > 0
