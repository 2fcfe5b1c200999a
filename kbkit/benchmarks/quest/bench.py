"""A QUEST dataset on a KB: its documents, the queries of its splits, and what retrievers find for them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from kbkit.benchmarks.document_index import DocumentIndex
from kbkit.benchmarks.quest import classify
from kbkit.benchmarks.quest.corpus import Corpus
from kbkit.benchmarks.quest.dataset import Example, QuestDataset
from kbkit.benchmarks.retrieval import KnownHits, SearchedTexts
from kbkit.english.words import plural, singular
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.measures.false_positives import unmet
from kbkit.measures.frames import Gold
from kbkit.search.learn import RankedPair
from kbkit.search.settings import SearchOptions, SearchSettings


@dataclass(frozen=True)
class Bench:
    """A dataset on a KB: its documents, and the number ``k`` of candidates.

    ``corpus``: the documents as nodes of the KB, in which expressions are evaluated. ``searched``: the documents that
    systems see, with the ids of the KB of their ``texts``.
    """

    kb: KnowledgeBase
    dataset: QuestDataset
    corpus: Corpus
    searched: Corpus
    texts: SearchedTexts
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
        return Bench(kb, dataset, corpus, searched, SearchedTexts(kb, index), k)

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
        return list(dict.fromkeys([*(mode for mode, store in stores.items() if self.texts.base.has(store)), retriever]))

    def options(self, mode: str) -> SearchOptions:
        """Return search options: full text leaves out the fields that the dataset's documents leave out."""
        without = self.dataset.without
        if self.texts.are_documents(mode) or not without or mode not in ("bm25", "hybrid", "relational"):
            return {}
        return {"fields": [name for name in self.kb.text.fields if name not in without]}

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


def without_domain(text: str, domain: str) -> str:
    """Return a query without the words for its domain: each document that is searched is one of the *movies from 1984*.

    Full text would look for the few documents that say the word.
    """
    words = "|".join(re.escape(word) for word in (domain, plural(domain), singular(domain)))
    rest = re.sub(rf"\b(?:{words})\b", " ", text, flags=re.IGNORECASE)
    return rest if re.search(r"\w", rest) else text


@dataclass(frozen=True)
class Part:
    """The queries of one split and their rankings."""

    bench: Bench
    examples: Sequence[Example]
    _found: KnownHits = field(default_factory=KnownHits)

    def only(self, examples: Sequence[Example]) -> Part:
        """Return some of the queries; what is found for one of the parts is known to both."""
        return Part(self.bench, examples, self._found)

    def ranking(self, mode: str) -> pl.DataFrame:
        """Return the best ``k`` documents of each query's domain: query, id, score, rank. Computed once."""
        domains: dict[str | None, dict[str, str]] = {}
        for one in self.examples:
            domains.setdefault(one.domain, {})[one.id] = one.text
        return pl.concat(
            self._found.of(mode, texts, functools.partial(self._search, mode, domain))
            for domain, texts in domains.items()
        )

    def _search(self, mode: str, domain: str | None, texts: dict[str, str]) -> pl.DataFrame:
        bench = self.bench
        columns = ("query", "id", "score", "rank")
        if bench.texts.are_documents(mode):
            if domain and bench.searched.is_type(domain):
                texts = {name: without_domain(text, domain) for name, text in texts.items()}
            return bench.texts.of(mode).search_many(texts, bench.k, mode, bench.searched.within(domain)).select(columns)
        hits = bench.kb.search_many(texts, bench.k, mode, bench.corpus.within(domain), **bench.options(mode))
        if bench.texts.index is None:
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
        effect = "they cannot be found" if bench.texts.index is None else "answers of parsed queries leave them out"
        lines.append(f"Documents that are not exactly one node of this KB: {missing:,}; {effect}")
    unknown = bench.searched.unknown(part.examples)
    if unknown:
        lines.append(f"Answers that are not documents: {len(unknown):,}, e.g. {unknown[0]!r}; they count as not found")
    made_from = bench.dataset.about.get("kb")
    if isinstance(made_from, str) and made_from != bench.kb.schema.name:
        lines.append(f"The dataset was generated from the KB {made_from!r}; this KB is {bench.kb.schema.name!r}")
    return [*lines, *(_about_texts(bench) if bench.texts.index is None else ())]


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
