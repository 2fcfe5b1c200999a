"""Generate a QUEST dataset: stages of queries, wordings and labels, each with its own table, then the files."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks import document_files
from kbkit.benchmarks.dataset import SPLITS, json_lines
from kbkit.benchmarks.document_files import DOCUMENTS
from kbkit.benchmarks.documents import Document, TextPassage, read_documents
from kbkit.benchmarks.duplicates import DistinctQueries, Spread
from kbkit.benchmarks.evidence import NAMED_AFTER, are_named_after, leaks
from kbkit.benchmarks.fit_nodes import check_named
from kbkit.benchmarks.pipeline import Item, Output, Pipeline, Progress, Stage, listed
from kbkit.benchmarks.quest import augment, fact_sentences, label, paraphrase, records
from kbkit.benchmarks.quest.categories import NoCategoriesError
from kbkit.benchmarks.quest.draft import (
    CATEGORIES,
    FAMILIES,
    QUERIES,
    SHAPES,
    CategoryRow,
    DraftQuery,
    FamilyRow,
    QueryDrafts,
    ShapeRow,
    with_domains,
)
from kbkit.benchmarks.quest.grammar import grammar
from kbkit.benchmarks.quest.label import (
    LABELS,
    VALIDATED,
    LabelledAnswer,
    Labelling,
    QueryLabels,
    RelevanceLabel,
    Votes,
)
from kbkit.benchmarks.quest.paraphrase import PARAPHRASES, Paraphrase, Parser
from kbkit.benchmarks.quest.settings import EVIDENCE, QuestSettings
from kbkit.benchmarks.quest.shown import CategoryCondition, Reader
from kbkit.benchmarks.recorded import generation, models, origin
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls
from kbkit.measures.formats import DETAILS
from kbkit.measures.records import content

Group = tuple[str, str]
"""A domain and the template of a shape."""
_GENERAL = 15
"""Number of categories of a family below which they recur: there are seven continents."""
FRACTIONS = [0.4, 0.1, 0.5]
"""Half for testing, four fifths of the rest for training (section 3.2 of the paper)."""
_PUBLISHED = ("query", "docs", "original_query", "scores", "metadata")
"""The keys of QUEST's records; its own reader accepts no others."""
PROMPTS = (paraphrase.PROMPT, label.VALIDATE, label.LABEL)


def make(
    kb: KnowledgeBase,
    out: Path,
    settings: QuestSettings,
    calls: Calls | None = None,
    progress: Progress = lambda *_: None,
    *,
    replace: bool = False,
) -> Output:
    """Generate a dataset in the folder ``out``, with the models of ``calls`` or without.

    Equal settings give equal bytes. An interrupted run continues; with ``replace`` it starts over. Raises
    :class:`KbError` for a domain without texts, if too few queries meet the constraints, if no query is left, or if
    another program generated the dataset in the folder; :class:`LockedError` during another run.
    """
    settings = with_domains(kb, settings)
    check_named(kb, settings.domains)
    document_files.check_types(kb, settings.domains, settings.without, texts=settings.texts)
    run = _Run(kb, settings, calls)
    pipeline = Pipeline(out, run.about(), progress)
    owned = (*(f"{split}.jsonl" for split in SPLITS), DOCUMENTS, augment.FILE)
    with pipeline.started(owned, replace=replace, check=lambda: run.draft.samples):
        drawn = run.drawn(pipeline)
        complete, seen = run.complete(pipeline, drawn)
        if not complete:
            raise pipeline.none_left(len(seen), listed(records.reasons(seen)))
        made = records.records(complete, settings.domains)
        report = records.report(drawn.families, drawn.shapes, made, seen)
        frame, silent = _write_documents(kb, run.draft.settings, [run.draft.facts], out / DOCUMENTS)
        report["documents"] = {
            "count": frame.height,
            "without text": silent,
            "with facts": list(run.draft.with_facts),
        }
        report |= {"wanted": settings.count, "alike": run.spread.about()}
        augmented = run.augmented(made, frame)
        report["augmented"] = len(augmented)
        about = {
            **origin(kb),
            **settings.about(),
            "templates": [shape.template for shape in grammar().shapes],
            "models": list(calls.models) if calls else [],
            "split": FRACTIONS,
        }
        output = pipeline.finish(_files(made, augmented), about, report, made)
        if not augmented:
            (out / augment.FILE).unlink(missing_ok=True)
        return output


@dataclass(frozen=True)
class _Drawn:
    """The rows of stages 1 and 2."""

    categories: list[CategoryRow]
    families: list[FamilyRow]
    shapes: list[ShapeRow]
    queries: list[DraftQuery]


@dataclass(frozen=True)
class _Run:
    """The inputs of all stages."""

    kb: KnowledgeBase
    settings: QuestSettings
    calls: Calls | None

    def about(self) -> dict[str, Any]:
        """Return everything that the rows depend on."""
        return {
            **origin(self.kb),
            **generation(self.kb),
            **self.settings.about(),
            "file_digests": [hashlib.sha256(content(path)).hexdigest()[:12] for path in self.settings.files],
            **(models(self.calls, PROMPTS) if self.calls else {}),
        }

    @cached_property
    def draft(self) -> QueryDrafts:
        return QueryDrafts(self.kb, self.settings)

    @cached_property
    def spread(self) -> Spread:
        """What the queries have in common."""
        return Spread(self.settings.count, self.settings.alike)

    @cached_property
    def reader(self) -> Reader:
        return Reader(self.kb.text)

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Return the documents of nodes, with their facts."""
        documents_by_id = read_documents(self.kb, ids, set(self.settings.without))
        own = self.draft.facts.filter(pl.col("id").is_in(list(documents_by_id)))
        for node, sentences in own.iter_rows():
            passages = (
                *documents_by_id[node].passages,
                *(TextPassage(fact_sentences.FIELD, text) for text in sentences),
            )
            documents_by_id[node] = replace(documents_by_id[node], passages=passages)
        return documents_by_id

    def drawn(self, pipeline: Pipeline) -> _Drawn:
        """Draw the queries, with a reserve."""
        if not pipeline.table(QUERIES).path.exists():
            _ = self.draft.samples  # raises before anything is written, as the next run will have other settings
        return _Drawn(
            pipeline.rows(CATEGORIES, self.draft.categories),
            pipeline.rows(FAMILIES, self.draft.families),
            pipeline.rows(SHAPES, self.draft.shapes),
            pipeline.rows(QUERIES, self.draft.queries),
        )

    def complete(self, pipeline: Pipeline, drawn: _Drawn) -> tuple[dict[Group, list[Item]], list[Item]]:
        """Return the queries of each domain and shape that pass all stages, and all queries that were tried.

        A dropped query is replaced from the reserve, that of other shapes if its own is used up.
        """
        phrases: dict[str, dict[str, str]] = defaultdict(dict)
        for category in drawn.categories:
            phrases[category.domain][category.phrase] = category.expression
        parsers = {domain: Parser(known) for domain, known in phrases.items()}
        reserve: dict[Group, list[Item]] = defaultdict(list)
        for query in drawn.queries:
            reserve[query.domain, query.template].append(Item(query))
        wanted = {(row.domain, row.template): row.asked for row in drawn.shapes}
        complete: dict[Group, list[Item]] = {group: [] for group in wanted}
        seen: list[Item] = []
        asked = _Worded(drawn.categories, self.spread)
        stages: tuple[tuple[Stage[Any], Callable[[Sequence[Item]], list[Any]]], ...] = (
            (PARAPHRASES, lambda batch: self.paraphrased(batch, parsers)),
            (VALIDATED, self.validated),
            (LABELS, self.labelled),
        )
        while True:
            batch: list[Item] = []
            for group, items in reserve.items():
                missing = wanted[group] - len(complete[group])
                taken, others = _distinct_first(items, missing, asked)
                batch += taken
                reserve[group] = others
            if not batch:
                if not _shared_out(wanted, complete, reserve):
                    return {group: items for group, items in complete.items() if items}, seen
                continue
            for stage, work in stages:
                pipeline.advance(stage, batch, work)
            seen += batch
            for item in batch:
                if not item.dropped:
                    complete[item[DraftQuery].domain, item[DraftQuery].template].append(item)

    def augmented(self, made: Sequence[Mapping[str, Any]], frame: pl.DataFrame) -> list[dict[str, Any]]:
        """Return the additional queries for training, none of which is part of a query ``made``."""
        s = self.settings
        if not s.augmented:
            return []
        rows = frame.select("id", "title", "name").rows()
        return augment.records(
            self.draft.by_domain,
            {node: title for node, title, _ in rows},
            {node: name for node, _, name in rows},
            used={part["phrase"] for record in made for part in record["categories"]},
            count=s.augmented,
            bounds=(s.min_answers, s.max_answers),
            seed=s.seed,
        )

    # -- stage 3 ------------------------------------------------------------------------------------------------------

    def paraphrased(self, items: Sequence[Item], parsers: Mapping[str, Parser]) -> list[Paraphrase]:
        """Word each query; drop those that name an answer."""
        queries = [item[DraftQuery] for item in items]
        if self.calls:
            wordings = paraphrase.by_model(self.calls, queries)
        else:
            wordings = [(self._worded(query, parsers[query.domain]), "") for query in queries]
        rows = []
        for query, (words, problem) in zip(queries, wordings, strict=True):
            dropped = ""
            if not words:
                invalid = f"the model's paraphrase is invalid: {problem}"
                dropped = invalid if problem else "every wording is ambiguous"
            elif leaks(words, [answer.name for answer in query.answers]):
                dropped = "the query names its answer"
            elif are_named_after(_named(query), [answer.name for answer in query.answers]):
                dropped = NAMED_AFTER
            rows.append(Paraphrase(query.id, words, dropped=dropped))
        return rows

    def _worded(self, query: DraftQuery, parser: Parser) -> str:
        rng = random.Random(f"{self.settings.seed} {query.id}")  # noqa: S311
        return paraphrase.by_grammar(grammar().shape(query.template), query.phrases, parser, rng)

    # -- stage 4 ------------------------------------------------------------------------------------------------------

    def validated(self, items: Sequence[Item]) -> list[Votes]:
        """Collect the votes on each query; none without a model."""
        if not self.calls:
            return [Votes(item.id, [], [], []) for item in items]
        inputs = [
            {
                "original": item[DraftQuery].original,
                "phrases": item[DraftQuery].phrases,
                "query": item[Paraphrase].query,
            }
            for item in items
        ]
        rows = []
        for item, votes in zip(items, label.votes(self.calls, inputs), strict=True):
            question = label.voted_down(votes)
            rows.append(Votes(item.id, **votes, dropped=f"it was voted down for {question}" if question else ""))
        return rows

    # -- stage 5 ------------------------------------------------------------------------------------------------------

    def labelled(self, items: Sequence[Item]) -> list[QueryLabels]:
        """Label the answers of each query, and separate the removed ones."""
        if not self.settings.texts:
            return [
                QueryLabels(item.id, [LabelledAnswer(**vars(a)) for a in item[DraftQuery].answers]) for item in items
            ]
        ids = {answer.id for item in items for answer in item[DraftQuery].answers}
        texts = self.documents(ids)
        inputs = [
            _labelling(item, position, texts) for item in items for position in range(len(item[DraftQuery].answers))
        ]
        strict = self.settings.require == EVIDENCE[-1]
        labels = iter(
            label.by_model(self.calls, inputs) if self.calls else label.by_matching(self.reader, inputs, strict=strict)
        )
        rows = []
        for item in items:
            labelled: list[LabelledAnswer] = []
            removed: list[LabelledAnswer] = []
            for answer in item[DraftQuery].answers:
                one = next(labels)
                reason = _removal_reason(one, self.settings.require)
                full = LabelledAnswer(**vars(answer), **one._asdict(), why=reason)
                (removed if reason else labelled).append(full)
            dropped = len(labelled) < self.settings.min_answers
            rows.append(
                QueryLabels(item.id, labelled, removed, dropped="too few of its answers are relevant" * dropped)
            )
        return rows


class _Worded:
    """The queries taken so far: no near duplicates, and not too many of one mould or with one category."""

    def __init__(self, categories: Sequence[CategoryRow], spread: Spread) -> None:
        self._families = {(one.domain, one.phrase): one.family for one in categories}
        sizes = Counter((one.domain, one.family) for one in categories)
        self._general = {phrase for phrase, family in self._families.items() if sizes[phrase[0], family] < _GENERAL}
        self._distinct, self._spread = DistinctQueries(), spread

    def add(self, query: DraftQuery) -> bool:
        """Add a query; return False if it is too like others. Continents and the like may recur."""
        known = [(query.domain, phrase) for phrase in query.phrases]
        mould = (query.domain, query.template, *sorted(self._families.get(one, "") for one in known))
        names = [one for one in known if one not in self._general]
        is_lookup = len(query.phrases) == 1
        if not self._spread.fits(mould, names, is_lookup=is_lookup):
            return False
        if not self._distinct.add(query.phrases, [one.name for one in query.answers]):
            return False
        return self._spread.add(mould, names, is_lookup=is_lookup)


def _distinct_first(items: Sequence[Item], count: int, asked: _Worded) -> tuple[list[Item], list[Item]]:
    """Return up to ``count`` queries that are not too like those ``asked``, and the ones after them."""
    taken: list[Item] = []
    for position, item in enumerate(items):
        if len(taken) == count:
            return taken, list(items[position:])
        if asked.add(item[DraftQuery]):
            taken.append(item)
    return taken, []


def _shared_out(
    wanted: dict[Group, int], complete: Mapping[Group, Sequence[Item]], reserve: Mapping[Group, Sequence[Item]]
) -> bool:
    """Share the missing queries of groups without a reserve among the others; return whether there are any."""
    spare = [group for group, items in reserve.items() if items]
    missing = sum(max(0, count - len(complete[group])) for group, count in wanted.items())
    for group in wanted:
        wanted[group] = len(complete[group])
    for number in range(missing if spare else 0):
        wanted[spare[number % len(spare)]] += 1
    return bool(spare and missing)


def _labelling(item: Item, position: int, texts: Mapping[int, Document]) -> Labelling:
    """Return the labelling of an answer: the phrases that apply to it, and the phrase that the query excludes."""
    query = item[DraftQuery]
    answer = query.answers[position]
    conditions = map(CategoryCondition, query.phrases, query.names, query.cues)
    named = list(zip("ABC", conditions, strict=False))
    last = named[-1][0] if "not" in query.template.split() else ""
    positive = tuple(condition for letter, condition in named if letter in answer.holds)
    negative = tuple(condition for letter, condition in named if letter == last)
    return Labelling(item[Paraphrase].query, texts[answer.id], positive, negative)


def _named(query: DraftQuery) -> list[str]:
    """Return the names in a query, without that of what it denies."""
    return query.names[:-1] if "not" in query.template.split() else query.names


def _removal_reason(one: RelevanceLabel, require: str) -> str:
    """Return why an answer is removed, or ""."""
    if one.problem:
        return "the model's label is invalid"
    if one.rating < label.RELEVANT:
        return f"rated {one.rating}"
    return "" if EVIDENCE.index(one.evidence) >= EVIDENCE.index(require) else f"evidence: {one.evidence}"


# -- files ------------------------------------------------------------------------------------------------------------


def write_documents(kb: KnowledgeBase, settings: QuestSettings, path: Path) -> tuple[pl.DataFrame, int]:
    """Write the documents of a dataset with these settings; return their titles and the number without text."""
    settings = with_domains(kb, settings)
    document_files.check_types(kb, settings.domains, settings.without, texts=settings.texts)
    facts = []
    for domain in settings.domains:
        with contextlib.suppress(NoCategoriesError):  # then there is nothing that texts should show
            facts.append(QueryDrafts(kb, replace(settings, domains=(domain,))).facts)
    return _write_documents(kb, settings, facts, path)


def _write_documents(
    kb: KnowledgeBase, settings: QuestSettings, facts: Sequence[pl.DataFrame], path: Path
) -> tuple[pl.DataFrame, int]:
    frame = document_files.titles(kb, settings.domains)
    further = None
    if any(facts_of.height for facts_of in facts):
        known = pl.concat(facts).unique("id", keep="first", maintain_order=True)
        further = known.select("id", further=pl.col("facts").list.join("\n"))
    return frame, document_files.write_documents(kb, frame, path, settings.without, further)


def _files(rows: Sequence[Mapping[str, Any]], augmented: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the texts of the splits, of the additional queries if there are any, and of ``queries.jsonl``."""
    texts = {
        f"{split}.jsonl": json_lines({k: row[k] for k in _PUBLISHED} for row in rows if row["split"] == split)
        for split in SPLITS
    }
    if augmented:
        texts[augment.FILE] = json_lines(augmented)
    return {**texts, DETAILS: json_lines(rows)}
