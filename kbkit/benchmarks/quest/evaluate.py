"""Run the paper's systems on a dataset: a retriever, then a classifier with a tuned threshold (sections 4.2, 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from kbkit.benchmarks.document_index import DocumentIndex
from kbkit.benchmarks.quest import classify
from kbkit.benchmarks.quest.corpus import Corpus
from kbkit.benchmarks.quest.dataset import Example, QuestDataset
from kbkit.errors import KbError, Option, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.llm.client import missing_model
from kbkit.measures.false_positives import unmet
from kbkit.measures.frames import Gold
from kbkit.search import rerank
from kbkit.search.learn import RankedPair
from kbkit.search.settings import SearchOptions, SearchSettings, check_mode
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


@dataclass(frozen=True)
class Bench:
    """A dataset on a KB: its documents, and the number ``k`` of candidates.

    ``corpus``: the documents as nodes of the KB, in which expressions are evaluated. ``searched``: the documents that
    systems see, with the ids of the ``index`` of the dataset's documents, or else those of the KB.
    """

    kb: KnowledgeBase
    dataset: QuestDataset
    corpus: Corpus
    searched: Corpus
    index: DocumentIndex | None = None
    k: int = 100
    _parts: dict[str, Part] = field(default_factory=dict)

    @staticmethod
    def of(kb: KnowledgeBase, dataset: QuestDataset, k: int = 100, index: DocumentIndex | None = None) -> Bench:
        """Find the documents of all splits in the KB. Raises :class:`KbError` for an invalid ``k``.

        With an ``index`` of the dataset's documents, these are searched, without one the texts of the KB.
        """
        SearchSettings(k=k)
        examples = dataset.read_all()
        corpus = Corpus.of(kb, dataset, examples)
        searched = corpus if index is None else Corpus.of_index(index, examples)
        return Bench(kb, dataset, corpus, searched, index, k)

    @property
    def texts(self) -> KnowledgeBase:
        """The KB whose texts are searched."""
        return self.kb if self.index is None else self.index.kb

    def part(self, split: str) -> Part:
        """Return the queries of a split, read once."""
        if split not in self._parts:
            self._parts[split] = Part(self, self.dataset.read(split))
        return self._parts[split]

    def examples(self, split: str) -> list[RankedPair]:
        """Return the queries of a split with the nodes of the KB that are their answers, to learn a ranking from."""
        ids = dict(self.corpus.nodes.select("title", "id").iter_rows())
        known = [
            (one.text, frozenset(ids[title] for title in one.docs if title in ids)) for one in self.dataset.read(split)
        ]
        return [RankedPair(text, nodes) for text, nodes in known if nodes]

    def signals(self, retriever: str) -> list[str]:
        """Return the rankings that logistic regression sees: full text and vectors, if built, and its own."""
        stores = {"bm25": "text", "dense": "vectors"}
        return list(dict.fromkeys([*(mode for mode, store in stores.items() if self.texts.has(store)), retriever]))

    def options(self, mode: str) -> SearchOptions:
        """Return search options: full text leaves out the fields that the dataset's documents leave out."""
        without = self.dataset.without
        if self.searches_documents(mode) or not without or mode not in ("bm25", "hybrid", "relational"):
            return {}
        return {"fields": [name for name in self.kb.text.fields if name not in without]}

    def searches_documents(self, mode: str) -> bool:
        """Whether a mode searches the dataset's own documents."""
        return self.index is not None and self.index.searches(mode)

    def searching(self, mode: str) -> KnowledgeBase:
        """Return the KB that a mode searches: that of the documents, or the KB itself."""
        return self.texts if self.searches_documents(mode) else self.kb

    def documents(self, ids: pl.Series) -> pl.DataFrame:
        """Return id, title, text of nodes as systems read them: the dataset's documents, or else the KB's texts."""
        wanted = self.searched.nodes.filter(pl.col("id").is_in(ids.unique().to_list())).select("id", "title")
        lazy = self.dataset.documents()
        if lazy is not None:
            texts = lazy.select("title", pl.col("text").fill_null("")).join(wanted.lazy(), on="title")
            return self.dataset.collect(texts).select("id", "title", "text").sort("id")
        sql = (
            "SELECT w.id, w.title, coalesce(string_agg(x.text, ' ' ORDER BY x.field, x.position), '') AS text"
            " FROM kbkit_wanted w LEFT JOIN texts x ON x.id = w.id GROUP BY ALL ORDER BY w.id"
        )
        return self.kb.tables.lookup(sql, frames={"kbkit_wanted": wanted})


@dataclass(frozen=True)
class Part:
    """The queries of one split and their rankings."""

    bench: Bench
    examples: Sequence[Example]
    _found: dict[str, dict[str, pl.DataFrame]] = field(default_factory=dict)

    def only(self, examples: Sequence[Example]) -> Part:
        """Return some of the queries; what is found for one of the parts is known to both."""
        return Part(self.bench, examples, self._found)

    def ranking(self, mode: str) -> pl.DataFrame:
        """Return the best ``k`` documents of each query's domain: query, id, score, rank. Computed once."""
        known = self._found.setdefault(mode, {})
        domains = dict.fromkeys(example.domain for example in self.examples)
        for domain in domains:
            texts = {one.id: one.text for one in self.examples if one.domain == domain and one.id not in known}
            if texts:
                hits = self._search(mode, domain, texts)
                parts = {str(name): part for (name,), part in hits.partition_by("query", as_dict=True).items()}
                known.update({name: parts.get(name, hits.clear()) for name in texts})
        return pl.concat([known[one.id] for domain in domains for one in self.examples if one.domain == domain])

    def _search(self, mode: str, domain: str | None, texts: dict[str, str]) -> pl.DataFrame:
        bench = self.bench
        columns = ("query", "id", "score", "rank")
        if bench.searches_documents(mode):
            return bench.texts.search_many(texts, bench.k, mode, bench.searched.within(domain)).select(columns)
        hits = bench.kb.search_many(texts, bench.k, mode, bench.corpus.within(domain), **bench.options(mode))
        if bench.index is None:
            return hits.select(columns)
        ids = bench.corpus.nodes.select("title", node="id").join(bench.searched.nodes.select("title", "id"), on="title")
        return hits.rename({"id": "node"}).join(ids, on="node", maintain_order="left").select(columns)

    @cached_property
    def answers(self) -> pl.DataFrame:
        """query, id of the answers that are documents of the corpus."""
        rows = [(example.id, title) for example in self.examples for title in example.docs]
        titles = pl.DataFrame(rows, schema={"query": pl.String, "title": pl.String}, orient="row")
        return titles.join(self.bench.searched.nodes, on="title").select("query", "id")

    def labels(self, candidates: pl.DataFrame) -> classify.Labels:
        """Return which of the candidates (query, id) are answers."""
        marked = self.answers.with_columns(answer=True)
        labels: classify.Labels = (
            candidates.join(marked, on=["query", "id"], how="left", maintain_order="left")["answer"]
            .fill_null(value=False)
            .to_numpy()
        )
        return labels


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
        return classify.matrix(bench.texts, candidates, part.examples, rankings, documents)

    training = bench.part("train")
    candidates = _with_random(training, training.ranking(retriever).select("query", "id"))
    fitted = classify.fit(rows(training, candidates), training.labels(candidates))
    return lambda part, candidates: fitted.scores(rows(part, candidates))


def _with_random(part: Part, candidates: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Add random documents of each query's domain that are neither candidates nor answers."""
    rng = np.random.default_rng(seed)
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


def failures(kb: KnowledgeBase, corpus: Corpus, gold: Gold, run: pl.DataFrame) -> pl.DataFrame:
    """Return which constraints the false positives of a run fail, as :func:`kbkit.measures.false_positives.unmet` does.

    Nodes are titles; queries without an expression are left out.
    """
    queries = gold.queries.filter(pl.col("expression").is_not_null())
    named = Gold(gold.judgements.with_columns(node=corpus.references(gold.judgements["node"])), queries)
    known = run.join(queries, on="query", how="semi", maintain_order="left").rename({"node": "title"})
    known = known.with_columns(node=corpus.references(known["title"]))
    failed = unmet(kb.session, known, named)
    titled = failed.join(
        known.select("query", "node", "title"), on=["query", "node"], how="left", maintain_order="left"
    )
    return titled.with_columns(node="title").drop("title")


def fits(bench: Bench, part: Part) -> bool:
    """Whether the expressions of the queries are those of this KB, by the first one; True without any."""
    for expression in (example.expression for example in part.examples if example.expression):
        try:
            bench.kb.answers(expression).ids  # noqa: B018 - evaluates
        except KbError:
            return False
        return True
    return True


def remarks(bench: Bench, part: Part) -> list[str]:
    """Return remarks on the scores: about the KB and the dataset."""
    lines = []
    missing = bench.corpus.missing
    if missing:
        effect = "they cannot be found" if bench.index is None else "answers of parsed queries leave them out"
        lines.append(f"Documents that are not exactly one node of this KB: {missing:,}; {effect}")
    unknown = bench.searched.unknown(part.examples)
    if unknown:
        lines.append(f"Answers that are not documents: {len(unknown):,}, e.g. {unknown[0]!r}; they count as not found")
    made_from = bench.dataset.about.get("kb")
    if isinstance(made_from, str) and made_from != bench.kb.schema.name:
        lines.append(f"The dataset was generated from the KB {made_from!r}; this KB is {bench.kb.schema.name!r}")
    return [*lines, *(_about_texts(bench) if bench.index is None else ())]


def _about_texts(bench: Bench) -> list[str]:
    """Return remarks on how the texts of the KB differ from those that the dataset describes."""
    lines = []
    manifest = bench.kb.manifest
    if bench.dataset.without and bench.kb.has("vectors"):
        names = ", ".join(bench.dataset.without)
        lines.append(f"Documents leave out {names}; full text too, but the vectors of this KB include it")
    report = bench.dataset.about.get("report")
    with_facts = report.get("documents", {}).get("with facts") if isinstance(report, dict) else None
    indexed = bench.kb.has("text") and manifest.store("text").settings.get("relations")
    if with_facts and not indexed:
        lines.append(
            "Documents have attributes and relations as sentences; full text and vectors of this KB lack them unless"
            " they are built with relations"
        )
    joined = [
        store
        for store in ("text", "vectors")
        if bench.kb.has(store) and manifest.store(store).settings.get("relations")
    ]
    if joined:
        lines.append(f"{' and '.join(joined)} of this KB include relations; the retrievers of the paper see texts only")
    return lines
