"""Generate a STaRK dataset (section 2.4 of the paper): four stages, each with its own table, then the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.answers.sample_sets import WEIGHTS
from kbkit.answers.templates import Template
from kbkit.benchmarks.dataset import QUERIES, check_at_least, check_fractions, check_seed
from kbkit.benchmarks.documents import Document, read, types_with_text
from kbkit.benchmarks.evidence import Matcher, leaks
from kbkit.benchmarks.pipeline import Item, Output, Pipeline, Progress, generation, models, origin
from kbkit.benchmarks.rows import to_json
from kbkit.benchmarks.stark import dataset, fuse, numbers, relational, textual, verify
from kbkit.benchmarks.stark.fuse import FUSED, Wording, count_words
from kbkit.benchmarks.stark.relational import RELATIONAL, Entity, Grounding
from kbkit.benchmarks.stark.textual import READER, TEXTUAL, Property, Requirement
from kbkit.benchmarks.stark.verify import VERIFIED, Answer, Check, Judgement, Proof, Verified
from kbkit.errors import Command, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls
from kbkit.schema import Role

PROMPTS = ("stark_properties", "stark_fuse", "stark_rephrase", "stark_verify")
_BATCH, _BATCH_WITH_MODEL = 200, 25
"""Rows per batch: fewer with models, because each candidate's document is a call."""
_MAX_PROPERTIES = 20
_SPARE, _SPARE_WITH_MODEL = 1.5, 1.2
"""Groundings per query: some are dropped because the query names its answer or the gold answer fails."""


@dataclass(frozen=True)
class StarkSettings:
    """Settings of a generated dataset.

    ``templates``: as in :func:`relational.templates`. ``roles``: replace those of the KB. ``max_properties``: each
    query has 1 to that many. ``max_candidates`` and ``min_candidates``: number of nodes that satisfy the relations
    alone. ``gold_fraction``: fraction of gold answers that each rule's threshold accepts. ``fractions``: of train, val
    and test (empty: the paper's).
    """

    count: int
    seed: int = 0
    templates: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    max_properties: int = 2
    max_candidates: int = 50
    min_candidates: int = 2
    max_answers: int = 20
    weight: str = "uniform"
    gold_fraction: float = 0.95
    fractions: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_at_least("number of queries", self.count)
        check_at_least("number of properties", self.max_properties)
        check_at_least("minimum number of candidates", self.min_candidates)
        check_at_least("maximum number of answers", self.max_answers)
        check_seed(self.seed)
        if self.max_properties > _MAX_PROPERTIES:
            raise KbError(f"Invalid number of properties: {self.max_properties}", f"The maximum is {_MAX_PROPERTIES}")
        if self.weight not in WEIGHTS:
            raise UnknownNameError("weight", self.weight, WEIGHTS)
        if self.max_candidates < self.min_candidates:
            message = f"Invalid number of candidates: {self.min_candidates} to {self.max_candidates}"
            raise KbError(message, "Use a maximum that is not below the minimum")
        if not 0 < self.gold_fraction <= 1:
            raise KbError(
                f"Invalid fraction of gold answers: {self.gold_fraction:g}", "Use a fraction above 0 and at most 1"
            )
        if self.fractions:
            check_fractions(self.fractions)


def make(
    kb: KnowledgeBase,
    out: Path,
    settings: StarkSettings,
    calls: Calls | None = None,
    progress: Progress = lambda *_: None,
    *,
    replace: bool = False,
) -> Output:
    """Generate a dataset in the folder ``out``, with the models of ``calls`` or without.

    Equal settings give equal bytes. An interrupted run continues; with ``replace`` it starts over. Raises
    :class:`KbError` if the KB has no texts, no template fits, or no query is left.
    """
    if not any(f.texts for f in kb.schema.text_fields):
        hint = ("Use ", Command("template sample"), " to draw queries from relations alone")
        raise KbError("This KB has no texts, so there are no textual properties", *hint)
    run = _Run(kb, settings, calls, Matcher(kb))
    chosen = relational.templates(kb, settings.templates, settings.seed)
    about = run.about(chosen)
    pipeline = Pipeline(out, {**about, **generation(kb)}, progress)
    with pipeline.started((dataset.TABLE, QUERIES), replace=replace):
        queries, thresholds = run.stages(pipeline, chosen)
        complete = [query for query in queries if not query.dropped][: settings.count]
        report = _report(queries, complete, thresholds, settings.count)
        if not complete:
            raise KbError(
                f"None of the {len(queries)} queries remains: {_reasons(queries, report)}", f"See {out / 'stages'}"
            )
        records = [_record(number, query) for number, query in enumerate(complete)]
        fractions = settings.fractions or dataset.fractions_of([t.id for t in chosen])
        about = {**about, **numbers.name_answers(kb, records), "split": list(fractions), "report": report}
        dataset.write(out, records, fractions, settings.seed, about)
        return Output(out, records, report)


@dataclass(frozen=True)
class _Run:
    """The inputs of all stages."""

    kb: KnowledgeBase
    settings: StarkSettings
    calls: Calls | None
    matcher: Matcher

    @cached_property
    def roles(self) -> dict[str, Role]:
        return {role.name: role for role in self.settings.roles or self.kb.schema.roles}

    @cached_property
    def types_with_text(self) -> set[str]:
        return types_with_text(self.kb)

    def rng(self, stage: int, query: Item) -> np.random.Generator:
        """Return a generator for one query in one stage, independent of all others."""
        return np.random.default_rng((self.settings.seed, stage, int(query.id)))

    def about(self, chosen: Sequence[Template]) -> dict[str, Any]:
        """Return everything that the rows depend on."""
        settings = self.settings
        return {
            **origin(self.kb),
            "queries": settings.count,
            "seed": settings.seed,
            "templates": [
                {"id": t.id, "expression": str(t.tree()), "question": t.question, "exclude_start": t.exclude_start}
                for t in chosen
            ],
            "roles": [asdict(role) for role in self.roles.values()],
            "properties": settings.max_properties,
            "candidates": [settings.min_candidates, settings.max_candidates],
            "answers": settings.max_answers,
            "weight": settings.weight,
            "gold_share": settings.gold_fraction,
            **models(self.calls, PROMPTS),
        }

    def stages(self, pipeline: Pipeline, chosen: Sequence[Template]) -> tuple[list[Item], dict[str, float]]:
        """Run all stages. Return the queries and the thresholds of the rules."""
        kb, settings = self.kb, self.settings
        count = int(settings.count * (_SPARE_WITH_MODEL if self.calls else _SPARE)) + 5
        bounds = (settings.min_candidates, settings.max_candidates)
        batch = _BATCH_WITH_MODEL if self.calls else _BATCH
        drawn = pipeline.rows(
            RELATIONAL, lambda: relational.draw(kb, chosen, count, settings.seed, bounds, settings.weight)
        )
        queries = [Item(row) for row in drawn]
        pipeline.advance(TEXTUAL, queries, self.textual, batch)
        pipeline.advance(FUSED, queries, self.fused, batch)
        thresholds = {} if self.calls else self.thresholds(queries)
        extra = {"thresholds": thresholds}
        pipeline.advance(VERIFIED, queries, lambda part: self.verified(part, thresholds), batch, extra)
        return queries, thresholds

    # -- stage 2 ------------------------------------------------------------------------------------------------------

    def textual(self, queries: Sequence[Item]) -> list[Requirement]:
        """Choose the gold answer, the role and the properties of each query."""
        documents = read(self.kb, (node for query in queries for node in query[Grounding].candidates))
        rows: list[Requirement] = []
        waiting: list[tuple[int, Document, Role, int]] = []
        for position, query in enumerate(queries):
            rng = self.rng(2, query)
            candidates = [documents[node] for node in query[Grounding].candidates]
            with_text = [d for d in candidates if d.passages]
            gold = (with_text or candidates)[int(rng.integers(len(with_text or candidates)))]
            role = textual.role_for(list(self.roles.values()), gold.type, rng)
            count = 1 + int(rng.integers(self.settings.max_properties))
            properties: list[Property] = []
            dropped = ""
            if not with_text:
                # Types without texts are asked for by relations alone, as phenotypes in the paper.
                dropped = "no candidate has a text" if gold.type in self.types_with_text else ""
            elif self.calls:
                waiting.append((position, gold, role, count))
            else:
                hidden = [name for d in candidates for name in d.names]
                hidden += [slot.name for slot in query[Grounding].slots.values()]
                properties = textual.key_phrases(gold, self.matcher, role, hidden, count, rng)
                dropped = "" if properties else "the gold answer's text has no key phrase"
            rows.append(Requirement(query.id, gold.id, role.name, properties, dropped=dropped))
        if self.calls and waiting:
            positions, golds, roles, counts = zip(*waiting, strict=True)
            answers = textual.from_model(self.calls, self.matcher, golds, roles, counts)
            for position, (properties, reason) in zip(positions, answers, strict=True):
                row = rows[position]
                rows[position] = Requirement(row.id, row.gold, row.role, properties, dropped=reason)
        return rows

    # -- stage 3 ------------------------------------------------------------------------------------------------------

    def fused(self, queries: Sequence[Item]) -> list[Wording]:
        """Word each query; drop those that name the gold answer."""
        golds = read(self.kb, (query[Requirement].gold for query in queries))
        if self.calls:
            roles = [self.roles.get(query[Requirement].role, READER) for query in queries]
            types = [golds[query[Requirement].gold].type for query in queries]
            wordings = fuse.by_models(self.calls, queries, types, roles)
        else:
            wordings = []
            for query in queries:
                required = query[Requirement]
                texts = [p.text for p in required.properties]
                pair = fuse.by_grammar(query[Grounding].question, texts, required.role, self.rng(3, query))
                wordings.append(Wording(query.id, *pair))
        return [
            Wording(row.id, row.fused, row.query, dropped="the query names its answer")
            if row.query and leaks(row.query, golds[query[Requirement].gold].names)
            else row
            for query, row in zip(queries, wordings, strict=True)
        ]

    # -- stage 4 ------------------------------------------------------------------------------------------------------

    def thresholds(self, queries: Sequence[Item]) -> dict[str, float]:
        """Return the thresholds of the rules, from the gold answers of all queries."""
        required = [query[Requirement] for query in queries if not query.dropped]
        golds = read(self.kb, (one.gold for one in required))
        pairs = [(p.text, golds[one.gold]) for one in required for p in one.properties]
        evidence = self.matcher.match([text for text, _ in pairs], [document for _, document in pairs])
        return verify.thresholds(evidence, self.settings.gold_fraction)

    def verified(self, queries: Sequence[Item], thresholds: Mapping[str, float]) -> list[Verified]:
        """Verify the candidates of each query, with proofs of their relations and spans of their texts."""
        documents = read(self.kb, (node for query in queries for node in query[Grounding].candidates))
        texts = {query.id: [p.text for p in query[Requirement].properties] for query in queries}
        pairs = [
            (texts[query.id], documents[node])
            for query in queries
            for node in query[Grounding].candidates
            if texts[query.id]
        ]
        judgements = iter(
            verify.by_models(self.calls, pairs) if self.calls else verify.by_rules(self.matcher, pairs, thresholds)
        )
        return [
            self._verified(
                query,
                [(documents[n], next(judgements) if texts[query.id] else []) for n in query[Grounding].candidates],
            )
            for query in queries
        ]

    def _verified(self, query: Item, judged: Sequence[tuple[Document, list[Judgement]]]) -> Verified:
        accepted = [
            (document, judgements) for document, judgements in judged if all(one.verdict.accepts for one in judgements)
        ]
        gold = next(document for document, _ in judged if document.id == query[Requirement].gold)
        passes = any(document.id == gold.id for document, _ in accepted)
        checks = [
            Check(*_node(document), [one.verdict for one in judgements])
            for document, judgements in judged
            if judgements
        ]
        dropped = ""
        if not passes:
            dropped = "the gold answer does not pass"
        elif leaks(query[Wording].query, (name for document, _ in accepted for name in document.names)):
            dropped = "the query names an answer"
        elif len(accepted) > self.settings.max_answers:
            dropped = f"more than {self.settings.max_answers} answers"
        if dropped:
            return Verified(query.id, passes, Entity(*_node(gold)), checks, dropped=dropped)
        proofs = self.kb.answers(query[Grounding].expression).proofs([document.id for document, _ in accepted])
        answers = [
            Answer(*_node(document), proof.lines(), self._evidence(query[Requirement].properties, judgements, document))
            for (document, judgements), proof in zip(accepted, proofs, strict=True)
        ]
        return Verified(query.id, passes, Entity(*_node(gold)), checks, answers)

    def _evidence(
        self, properties: Sequence[Property], judgements: Sequence[Judgement], document: Document
    ) -> list[Proof]:
        """Return the span that shows each property: a verifier's, or else the best match."""
        result = []
        for number, entry in enumerate(properties):
            span = next((one.spans[number] for one in judgements if one.spans[number] is not None), None)
            if span is None:
                span = self.matcher.match([entry.text], [document])[0].span
            result.append(Proof(number, span.field, span.start, span.end, span.text))
        return result


def _node(document: Document) -> tuple[str, str, str]:
    return document.type, document.key, document.name


# -- records and report -----------------------------------------------------------------------------------------------


def _record(number: int, query: Item) -> dict[str, Any]:
    """Return a record of ``queries.jsonl``."""
    grounding, required, worded, verified = (
        query[Grounding], query[Requirement], query[Wording], query[Verified],
    )  # fmt: skip
    return {
        "id": str(number),
        "query": worded.query,
        "split": "",
        "template": grounding.template,
        "expression": grounding.expression,
        "slots": to_json(grounding.slots),
        "question": grounding.question,
        "role": required.role,
        "fused": worded.fused,
        "properties": to_json(required.properties),
        "relational_words": count_words(grounding.question),
        "textual_words": sum(count_words(p.text) for p in required.properties),
        "gold": to_json(verified.gold_node),
        "candidates": len(grounding.candidates),
        "answers": to_json(verified.answers),
        "checks": to_json(verified.checks),
    }


def _report(
    queries: Sequence[Item], complete: Sequence[Item], thresholds: Mapping[str, float], wanted: int
) -> dict[str, Any]:
    """Return counts of drawn and dropped queries, and the fraction of gold answers that passed (section 2.4)."""
    verified = [(query, row) for query in queries if (row := query.get(Verified)) is not None]
    passed = [row.gold_passes for query, row in verified if query[Requirement].properties]
    candidates = [len(query[Grounding].candidates) for query in complete]
    answers = [len(query[Verified].answers) for query in complete]
    return {
        "wanted": wanted,
        "queries": len(complete),
        "drawn": len(queries),
        "dropped": dict(Counter(query.dropped for query in queries if query.dropped).most_common()),
        "unusable_judgements": sum(1 for _ in _problems(queries)),
        "thresholds": dict(thresholds),
        "golds_verified": round(sum(passed) / len(passed), 4) if passed else None,
        "candidates": round(float(np.mean(candidates)), 2) if complete else None,
        "answers": round(float(np.mean(answers)), 2) if complete else None,
    }


def _problems(queries: Sequence[Item]) -> Iterator[str]:
    """Yield the problems of the judgements that could not be used."""
    rows = (row for query in queries if (row := query.get(Verified)) is not None)
    yield from (v.problem for row in rows for check in row.checks for v in check.verdicts if v.problem)


def _reasons(queries: Sequence[Item], report: Mapping[str, Any]) -> str:
    reasons = [f"{reason} ({count})" for reason, count in report["dropped"].items()]
    if report["unusable_judgements"]:
        first = next(_problems(queries))
        reasons.append(f"{report['unusable_judgements']:,} judgements could not be used, e.g. {first}")
    return ", ".join(reasons) or "no grounding was drawn"
