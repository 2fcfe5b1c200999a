"""The classifiers of retrieved candidates: logistic regression, rerankers and language models (section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from kbkit.benchmarks.quest import classify
from kbkit.benchmarks.quest.bench import Bench, Part
from kbkit.benchmarks.quest.dataset import QuestDataset
from kbkit.errors import KbError, Option, UnknownNameError
from kbkit.llm.client import missing_model
from kbkit.search import rerank
from kbkit.search.settings import SearchSettings, check_mode
from kbkit.search.system_kinds import RERANKER, kind_of, parse_name

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

RETRIEVERS = ("bm25", "dense", "hybrid")
CLASSIFIERS = ("logistic", "text2text:MODEL", "cross-encoder:MODEL", "llm", "none")
RANDOM_NEGATIVES = 20
"""Random non-answers per training query, outside the candidates (appendix A)."""
PROMPT = "quest_relevance"
_MAX_TEXT = 20_000


class Judge(Protocol):
    """Scores how likely candidates (query, id) of a split are answers."""

    def __call__(self, part: Part, candidates: pl.DataFrame) -> classify.Vector:
        """Return a score for each candidate; higher is more likely."""
        ...


def check_retrievers(names: Sequence[str], k: int) -> None:
    """Raise :class:`KbError` for an unknown retriever, or an invalid number ``k`` of candidates."""
    SearchSettings(k=k)
    for name in names:
        check_mode(name, "retriever")


def check_classifier(name: str, dataset: QuestDataset, split: str, calls: Calls | None) -> None:
    """Raise :class:`KbError` for an unknown classifier, or one that lacks its training data."""
    if name not in ("logistic", "llm", "none") and not reads_texts(name):
        raise UnknownNameError("classifier", name, CLASSIFIERS)
    if name == "none":
        return
    needed = ("train", "val") if name == "logistic" else ("val",)
    missing = [f"{part}.jsonl" for part in needed if part not in dataset.splits]
    if missing:
        message = f"Classifier {name} needs {' and '.join(missing)}, missing in {dataset.folder}"
        raise KbError(message, "Use ", Option("classifier", "none"), " to run without a classifier")
    if split in needed:
        raise KbError(f"Classifier {name} is tuned on {split}", "Use another split or ", Option("classifier", "none"))
    if name == "llm" and calls is None:
        raise missing_model("Classifier llm needs a language model")
    if reads_texts(name):
        parse_name(name, RERANKER).kind.require()


def reads_texts(name: str) -> bool:
    """Whether a classifier is a reranker with a model of PyTorch, such as ``text2text:MODEL``."""
    kind = kind_of(name, RERANKER)
    return kind is not None and bool(kind.packages) and bool(name.partition(":")[2])


def judge(bench: Bench, name: str, retriever: str, calls: Calls | None = None) -> Judge:
    """Return the classifier called ``name``, trained if it learns."""
    if name == "logistic":
        return _logistic(bench, retriever)
    if name == "llm":
        assert calls is not None
        return _model(calls)
    return _reranker(rerank.load_reranker(name))


def _logistic(bench: Bench, retriever: str) -> Judge:
    """Return logistic regression, trained on the candidates of the training split."""
    modes = bench.signals(retriever)

    def rows(part: Part, candidates: pl.DataFrame) -> classify.Matrix:
        documents = bench.documents(candidates["id"]).select("id", pl.format("{} {}", "title", "text").alias("text"))
        rankings = {mode: part.ranking(mode) for mode in modes}
        return classify.matrix(bench.texts.base, candidates, part.examples, rankings, documents)

    training = bench.part("train")
    candidates = _with_random(training, training.ranking(retriever).select("query", "id"))
    fitted = classify.fit(rows(training, candidates), training.labels(candidates))
    return lambda part, candidates: fitted.scores(rows(part, candidates))


def _with_random(part: Part, candidates: pl.DataFrame) -> pl.DataFrame:
    """Add random documents of each query's domain that are neither candidates nor answers."""
    rng = np.random.default_rng(0)
    searched = {domain: part.bench.searched.within(domain) for domain in {e.domain for e in part.examples}}
    examples = [example for example in part.examples if len(searched[example.domain])]
    drawn = [rng.choice(searched[example.domain], RANDOM_NEGATIVES) for example in examples]
    names = np.repeat(np.array([example.id for example in examples], object), RANDOM_NEGATIVES)
    ids = np.concatenate([np.empty(0, np.int64), *drawn])
    random = pl.DataFrame({"query": pl.Series(names, dtype=pl.String), "id": pl.Series(ids, dtype=pl.Int32)}).unique(
        maintain_order=True
    )
    fresh = random.join(part.answers, on=["query", "id"], how="anti", maintain_order="left")
    fresh = fresh.join(candidates, on=["query", "id"], how="anti", maintain_order="left")
    return pl.concat([candidates, fresh])


def _reranker(reranker: rerank.Reranker) -> Judge:
    """Return a reranker that reads the texts, without relations."""

    def scores(part: Part, candidates: pl.DataFrame) -> classify.Vector:
        rows_of = _with_documents(part, candidates)
        texts = {example.id: example.text for example in part.examples}
        relevance: list[float] = []
        for (query,), rows in rows_of.group_by("query", maintain_order=True):
            documents = [
                rerank.RerankCandidate(title, "", text, []) for title, text in rows.select("title", "text").rows()
            ]
            relevance += reranker.score(texts[str(query)], documents)
        return np.array(relevance, np.float64)

    return scores


def _model(calls: Calls) -> Judge:
    """Return a language model; an invalid answer counts as no answer of the query (score -1)."""

    def scores(part: Part, candidates: pl.DataFrame) -> classify.Vector:
        texts = {example.id: example.text for example in part.examples}
        inputs = [
            {"query": texts[query], "document": {"title": title, "text": text[:_MAX_TEXT]}}
            for query, title, text in _with_documents(part, candidates).select("query", "title", "text").iter_rows()
        ]
        answers = calls.ask(PROMPT, inputs)
        return np.array([-1.0 if one.value is None else one.value["relevant"] for one in answers], np.float64)

    return scores


def _with_documents(part: Part, candidates: pl.DataFrame) -> pl.DataFrame:
    """Return query, id, title, text of the candidates, in order; candidates are grouped by query."""
    documents = part.bench.documents(candidates["id"])
    return candidates.select("query", "id").join(documents, on="id", how="left", maintain_order="left")
