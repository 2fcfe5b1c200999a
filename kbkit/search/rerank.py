"""Rerank hits of any mode with a cross-encoder or a language model.

STaRK's rerankers (section 3.1) score the 20 best candidates of a query from 0 to 1, by their texts and relations.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from kbkit.answers.session import Session
from kbkit.errors import KbError
from kbkit.llm.calls import Calls
from kbkit.llm.models import open_calls, open_models
from kbkit.search import model_folder
from kbkit.search.ranking import QueryResult, Ranking
from kbkit.search.system_kinds import RERANKER, SystemName, imported, parse_name
from kbkit.stores import documents
from kbkit.stores.embedders import first_line, sentence_transformers

_MAX_TEXT = 20_000
"""Characters of a candidate's text in a prompt."""


class RerankCandidate(NamedTuple):
    """A hit to score; ``texts`` are all its texts, ``relations`` lines of ``label: name, name, ...``."""

    name: str
    type: str
    texts: str
    relations: list[str]

    def document(self) -> str:
        """Return name, texts and relations as one text."""
        return ". ".join(part for part in (self.name, self.texts, *self.relations) if part)

    def alone(self) -> RerankCandidate:
        """Return the candidate without its relations."""
        return self._replace(relations=[])

    def prompt_inputs(self, query: str) -> dict[str, Any]:
        """Return the inputs of the prompt ``rerank``; very long texts are truncated."""
        return {"query": query, "candidate": self._replace(texts=self.texts[:_MAX_TEXT])._asdict()}


class Reranker(Protocol):
    """Scores candidates for a query; ``name`` identifies it in results.

    It may have ``settings``, everything that its scores depend on, which a run records: model, revision, settings.
    """

    name: str

    def score(self, query: str, candidates: Sequence[RerankCandidate]) -> Sequence[float]:
        """Return a finite number for each candidate, higher is better."""
        ...


class CrossEncoder:
    """A cross-encoder of the sentence-transformers library, loaded from disk; see :class:`EncoderSettings`."""

    def __init__(self, model: str | SystemName) -> None:
        system = parse_name(f"cross-encoder:{model}", RERANKER) if isinstance(model, str) else model
        library = sentence_transformers()
        folder = model_folder.opened(system)
        try:
            self._model: Any = library.CrossEncoder(
                folder.model,
                local_files_only=True,
                max_length=system.settings["length"] or None,
                device=system.settings["device"] or None,
            )
        except (OSError, ValueError) as error:
            raise KbError(
                f"Cannot load the cross-encoder {system.model!r}: {first_line(error)}",
                "Download it first (hf download), or name its folder",
            ) from None
        self.name = system.text
        self._batch = system.settings["batch"]
        self._relations = folder.relations
        self.settings = folder.settings(system)

    def score(self, query: str, candidates: Sequence[RerankCandidate]) -> Sequence[float]:
        """See :class:`Reranker`."""
        read = candidates if self._relations else [candidate.alone() for candidate in candidates]
        pairs = [(query, candidate.document()) for candidate in read]
        scores = np.asarray(self._model.predict(pairs, batch_size=self._batch, show_progress_bar=False), np.float64)
        if scores.shape != (len(candidates),):
            raise _bad_scores(self.name, len(candidates), scores.tolist())
        return list(map(float, scores))


class ModelReranker:
    """A language model that scores each candidate from 0 to 1 (prompt ``rerank``)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.name = f"llm:{calls.models[0]}" if calls.models else "llm"

    def score(self, query: str, candidates: Sequence[RerankCandidate]) -> Sequence[float]:
        """See :class:`Reranker`. Raises :class:`KbError` if the model returns no number from 0 to 1."""
        answers = self._calls.ask("rerank", [candidate.prompt_inputs(query) for candidate in candidates])
        for candidate, answer in zip(candidates, answers, strict=True):
            if answer.problem:
                raise KbError(f"No score from {self.name} for {candidate.name!r}: {answer.problem}")
        return [float(answer.value["score"]) for answer in answers]


def load_reranker(name: str, cache: Path | None = None) -> Reranker:
    """Load a reranker by name, such as ``cross-encoder:MODEL`` or ``llm:MODEL@URL``.

    Calls of language models are cached in the file ``cache``.
    """
    kind, _, model = name.partition(":")
    if kind == "llm" and model:
        return ModelReranker(open_calls(open_models([model]), cache))
    system = parse_name(name, RERANKER)
    system.kind.require()
    reranker: Reranker = imported(system.kind.opens)(system)
    return reranker


def rerank(session: Session, query: str, result: QueryResult, reranker: Reranker, k: int) -> QueryResult:
    """Return the ``k`` best hits by the reranker's scores; equal scores keep their order."""
    ids = result.ranking.ids
    if not len(ids):
        return QueryResult(result.ranking, {**result.components, "rerank": result.ranking})
    returned = reranker.score(query, candidates(session, ids.tolist()))
    try:
        scores = np.asarray(returned, np.float64)
    except (TypeError, ValueError):
        scores = np.empty(0)
    if scores.shape != ids.shape or not np.isfinite(scores).all():
        raise _bad_scores(reranker.name, len(ids), returned)
    order = np.argsort(-scores, kind="stable")[:k]
    best = Ranking(ids[order], scores[order])
    return QueryResult(best, {**result.components, "rerank": best})


def _bad_scores(name: str, count: int, returned: object) -> KbError:
    shown = " ".join(repr(returned).split())
    message = f"The reranker {name} did not return {count} finite scores: {shown:.80}"
    return KbError(message, "Return one finite number per candidate")


def candidates(session: Session, ids: Sequence[int]) -> list[RerankCandidate]:
    """Return nodes as candidates: names, types, texts, and the names of neighbours by relation."""
    sql = (
        "SELECT n.id, n.name, n.type::VARCHAR, coalesce(x.text, ''), coalesce(r.relations, []) FROM nodes n"
        " LEFT JOIN (SELECT id, string_agg(text, ' ' ORDER BY field, position) AS text FROM texts"
        " WHERE id IN (SELECT unnest($ids)) GROUP BY id) x USING (id)"
        f" LEFT JOIN ({documents.relations_sql(session.schema, 'IN (SELECT unnest($ids))')}) r USING (id)"
        " WHERE n.id IN (SELECT unnest($ids))"
    )
    rows = session.stores.tables.rows(sql, {"ids": list(ids)})
    by_node = {node: RerankCandidate(name, kind, text, relations) for node, name, kind, text, relations in rows}
    return [by_node[node] for node in ids]
