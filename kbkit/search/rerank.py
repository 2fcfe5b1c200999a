"""Reranks the best of any mode, by a cross-encoder or by a language model.

STaRK's rerankers (section 3.1) score the 20 best candidates of a query from 0 to 1, from their texts and relations.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from kbkit.answers.session import Session
from kbkit.errors import KbError, UnknownNameError
from kbkit.llm.calls import Calls
from kbkit.llm.models import open_calls, open_models
from kbkit.search.ranking import Ranked, Ranking
from kbkit.stores import documents
from kbkit.stores.embedders import first_line, sentence_transformers

KINDS = ("cross-encoder:MODEL", "llm:MODEL@URL")

_LONGEST_TEXT = 20_000


class Candidate(NamedTuple):
    """A hit to judge: ``texts`` are all its texts, ``relations`` lines of ``label: name, name, ...``."""

    name: str
    type: str
    texts: str
    relations: list[str]

    def document(self) -> str:
        """All of it as one text."""
        return ". ".join(part for part in (self.name, self.texts, *self.relations) if part)

    def asked(self, query: str) -> dict[str, Any]:
        """What the prompt ``rerank`` is given of it; very long texts are cut."""
        return {"query": query, "candidate": self._replace(texts=self.texts[:_LONGEST_TEXT])._asdict()}


class Reranker(Protocol):
    """Scores candidates for a query, best highest; ``name`` names it in results."""

    name: str

    def score(self, query: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """One number for each candidate."""
        ...


class CrossEncoder:
    """A cross-encoder of the sentence-transformers library, on this disk."""

    def __init__(self, model: str) -> None:
        library = sentence_transformers()
        try:
            self._model: Any = library.CrossEncoder(model, local_files_only=True)
        except (OSError, ValueError) as error:
            raise KbError(
                f"the cross-encoder {model!r} is not on this disk: {first_line(error)}",
                "name its folder, or fetch it first (hf download)",
            ) from None
        self.name = f"cross-encoder:{model}"

    def score(self, query: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """See :class:`Reranker`."""
        pairs = [(query, candidate.document()) for candidate in candidates]
        scores = np.asarray(self._model.predict(pairs, show_progress_bar=False), np.float64)
        if scores.shape != (len(candidates),):
            raise KbError(f"{self.name} gives {scores.shape} scores for {len(candidates)} candidates")
        return list(map(float, scores))


class ModelReranker:
    """A language model that says from 0 to 1 how well each candidate satisfies the query (prompt ``rerank``)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.name = f"llm:{calls.models[0]}" if calls.models else "llm"

    def score(self, query: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """See :class:`Reranker`. Raises :class:`KbError` for a candidate that gets no number from 0 to 1."""
        answers = self._calls.ask("rerank", [candidate.asked(query) for candidate in candidates])
        for candidate, answer in zip(candidates, answers, strict=True):
            if answer.problem:
                raise KbError(f"{self.name} gives {candidate.name!r} no score", answer.problem)
        return [float(answer.value["score"]) for answer in answers]


def load(name: str, calls: Calls | None = None, cache: Path | None = None) -> Reranker:
    """The reranker called ``name``.

    ``llm:MODEL@URL`` asks by ``calls``; without them by calls of its own, that are kept in the file ``cache``.
    """
    kind, _, model = name.partition(":")
    if kind == "cross-encoder" and model:
        return CrossEncoder(model)
    if kind == "llm" and (model or calls):
        return ModelReranker(calls or open_calls(open_models([model]), cache))
    raise UnknownNameError("reranker", name, KINDS)


def rerank(session: Session, query: str, ranked: Ranked, reranker: Reranker, k: int) -> Ranked:
    """The ``k`` best of a ranking by the reranker's scores; hits that it scores alike keep their order."""
    ids = ranked.ranking.ids
    if not len(ids):
        return Ranked(ranked.ranking, {**ranked.parts, "rerank": ranked.ranking})
    given = reranker.score(query, candidates(session, ids.tolist()))
    try:
        scores = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        scores = np.empty(0)
    if scores.shape != ids.shape or not np.isfinite(scores).all():
        raise KbError(
            f"{reranker.name} does not give {len(ids)} candidates a finite number each", f"it gave {given!r:.80}"
        )
    order = np.argsort(-scores, kind="stable")[:k]
    best = Ranking(ids[order], scores[order])
    return Ranked(best, {**ranked.parts, "rerank": best})


def candidates(session: Session, ids: Sequence[int]) -> list[Candidate]:
    """What a reranker reads of some nodes: names, types, texts, and the names of what they are joined to."""
    sql = (
        "SELECT n.id, n.name, n.type::VARCHAR, coalesce(x.text, ''), coalesce(r.relations, []) FROM nodes n"
        " LEFT JOIN (SELECT id, string_agg(text, ' ' ORDER BY field, position) AS text FROM texts"
        " WHERE id IN (SELECT unnest($ids)) GROUP BY id) x USING (id)"
        f" LEFT JOIN ({documents.relations_sql(session.schema, 'IN (SELECT unnest($ids))')}) r USING (id)"
        " WHERE n.id IN (SELECT unnest($ids))"
    )
    rows = session.stores.tables.rows(sql, {"ids": list(ids)})
    found = {node: Candidate(name, kind, text, relations) for node, name, kind, text, relations in rows}
    return [found[node] for node in ids]
