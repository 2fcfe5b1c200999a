"""Stages 1 and 2: categories, and queries drawn from them, with a reserve for queries that later stages drop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from kbkit.answers.sample_sets import SampleRequest
from kbkit.benchmarks.document_files import titles
from kbkit.benchmarks.documents import types_with_text
from kbkit.benchmarks.duplicates import Spread
from kbkit.benchmarks.fit_nodes import mixed_types, nameless_types
from kbkit.benchmarks.incomplete import subject_type
from kbkit.benchmarks.left_out import left_out_words
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.benchmarks.predicates import unfit_relation, unfit_type
from kbkit.benchmarks.quest import categories, fact_sentences, sample, shown
from kbkit.benchmarks.quest.categories import Categories
from kbkit.benchmarks.quest.category_files import FILE_HINT
from kbkit.benchmarks.quest.families import answer_type, families, family_of
from kbkit.benchmarks.quest.grammar import Shape, grammar
from kbkit.benchmarks.quest.label import QueryAnswer
from kbkit.benchmarks.quest.settings import QuestSettings
from kbkit.english.relations import REMEDY, unworded
from kbkit.errors import BadInputError, KbError, Option, UnknownNameError
from kbkit.kb import KnowledgeBase

_MIN_MEMBERS, _LARGE = 100, 2_000
"""Minimum number of nodes of a default domain, and the number from which it surely has categories."""
_SHOWN = 0.9
"""Fraction of memberships that the texts of a domain must show to be enough without facts."""
_LISTED = 5
"""Reasons that an error lists."""
_RESERVE = 4
"""Number of queries drawn per requested query."""


@dataclass(frozen=True)
class CategoryRow(Row):
    """A category of a domain."""

    domain: str
    phrase: str
    expression: str
    family: str
    name: str
    size: int
    cues: str


@dataclass(frozen=True)
class FamilyRow(Row):
    """The number of categories of a family; families called ``left out: ...`` count groups that are not categories."""

    domain: str
    family: str
    categories: int


@dataclass(frozen=True)
class ShapeRow(Row):
    """The requested and the possible number of queries of a shape (with ``more``: at least), and the constraints."""

    domain: str
    template: str
    asked: int
    possible: int
    more: bool
    constraints: dict[str, float]


@dataclass(frozen=True)
class DraftQuery(Row):
    """A query: phrases, names, cues and expressions (``parts``) of its categories, and its answers."""

    domain: str
    template: str
    original: str
    marked: str
    phrases: list[str]
    names: list[str]
    cues: list[str]
    parts: list[str]
    expression: str
    answers: list[QueryAnswer]


CATEGORIES = Stage("1_categories", CategoryRow)
FAMILIES = Stage("1_families", FamilyRow)
SHAPES = Stage("2_shapes", ShapeRow)
QUERIES = Stage("2_queries", DraftQuery)


@dataclass
class QueryDrafts:
    """Draws the queries of all domains; evaluated lazily."""

    kb: KnowledgeBase
    settings: QuestSettings

    @cached_property
    def by_domain(self) -> dict[str, Categories]:
        """The categories of each domain."""
        s = self.settings
        known = {domain: families(self.kb, domain, self._own(domain), s.patterns) for domain in s.domains}
        ids = [family.id for of_domain in known.values() for family in of_domain]
        for family in s.patterns:
            if family not in ids:
                raise UnknownNameError("category family", family, ids)
        files = list({path.resolve(): path for path in s.files}.values())
        words = left_out_words(s.leave_out)
        categories_of = {d: categories.build(self.kb, d, known[d], files, words) for d in s.domains}
        for path in files:
            if not any(of.in_files[family_of(path)] for of in categories_of.values()):
                message = f"{path} has no category with two nodes of type {' or '.join(s.domains)}"
                raise BadInputError(message, FILE_HINT)
        return categories_of

    def _own(self, domain: str) -> list[str]:
        """Return the user's expressions for nodes of a domain; raise :class:`KbError` for one of no domain."""
        types = {text: answer_type(self.kb, text) for text in self.settings.categories}
        for text, kind in types.items():
            if kind not in self.settings.domains:
                hint = ("Add ", Option("type", kind))
                raise KbError(f"Category {text!r} has nodes of type {kind}, which is not a domain", *hint)
        return [text for text, kind in types.items() if kind == domain]

    @cached_property
    def with_facts(self) -> tuple[str, ...]:
        """The domains whose documents have facts."""
        s = self.settings
        if s.facts == "never" or not s.texts:
            return ()
        if s.facts == "always":
            return s.domains
        reader = shown.Reader(self.kb.text)
        return tuple(d for d in s.domains if shown.share(reader, self.kb, self.by_domain[d], s.without) < _SHOWN)

    @cached_property
    def facts(self) -> pl.DataFrame:
        """The facts of the nodes of these domains: id, facts."""
        parts = [fact_sentences.sentences(self.kb, self.by_domain[domain]) for domain in self.with_facts]
        empty = pl.DataFrame(schema={"id": pl.Int64, "facts": pl.List(pl.String)})
        return pl.concat([empty, *parts]).unique("id", keep="first", maintain_order=True)

    def categories(self) -> list[CategoryRow]:
        """Return a row for each category."""
        return [
            CategoryRow(f"{domain}/{number}", domain, **vars(item))
            for domain, drafts in self.by_domain.items()
            for number, item in enumerate(drafts.items)
        ]

    def families(self) -> list[FamilyRow]:
        """Return a row for each family, and one for each reason why groups are not categories."""
        return [
            FamilyRow(f"{domain}/{name}", domain, name, count)
            for domain, drafts in self.by_domain.items()
            for name, count in (
                *drafts.by_family().items(),
                *((f"left out: {reason}", count) for reason, count in drafts.left_out.items() if count),
            )
        ]

    @cached_property
    def samples(self) -> list[tuple[str, int, sample.ShapeSample]]:
        """(domain, number wanted, sample) for each domain and shape.

        Raises :class:`KbError` if a shape has too few queries, with the number possible and the constraint that binds.
        """
        s = self.settings
        uses: dict[str, Counter[int]] = {domain: Counter() for domain in s.domains}
        samples, short = [], []
        for number, (domain, shape, wanted) in enumerate(self._wanted()):
            seed = int(np.random.SeedSequence([s.seed, number]).generate_state(1)[0])
            request = SampleRequest(_RESERVE * wanted + 20, seed, s.min_answers, s.max_answers, constraints=s.bounds())
            of_mould = Spread(s.count, s.alike).of_mould
            drawn = sample.draw(self.by_domain[domain], shape, request, wanted, uses[domain], of_mould, scale=s.scale)
            samples.append((domain, wanted, drawn))
            if len(drawn.queries) < wanted:
                reason = sample.binding(self.by_domain[domain], shape, request)
                short.append(f"{domain}, {shape.template!r}: {len(drawn.queries)} of {wanted} possible, {reason}")
        if short and not any(drawn.possible for _, _, drawn in samples):
            raise self._none_whole()
        if short and (not s.scale or not any(drawn.queries for _, _, drawn in samples)):
            hint = ("Use ", Option("scale_constraints"), " to halve the bounds, or set one with ", Option("constraint"))
            raise KbError("Too few queries meet the constraints: " + "; ".join(short), *hint)
        return _balanced(samples)

    def _none_whole(self) -> KbError:
        """Return the error for a KB that surely holds all answers of no query, with what was left out."""
        reasons = [
            reason
            for drafts in self.by_domain.values()
            for reason in (
                *(one for one, count in drafts.left_out.items() if count and one.startswith("of relation")),
                *(f"of relation {name}, which many nodes lack" for name in drafts.gapped_relations),
            )
        ]
        more = f" and {len(reasons) - _LISTED:,} more" if len(reasons) > _LISTED else ""
        left_out = f". Left out: categories {'; '.join(reasons[:_LISTED])}{more}" if reasons else ""
        hint: tuple[Any, ...] = ("Add ", Option("category_file", "FILE"), ", or use other types")
        if unworded(self.kb.schema):
            hint = (f"{REMEDY}, or add ", Option("category_file", "FILE"))
        return KbError(f"No query has answers of which the KB is sure to hold all{left_out}", *hint)

    def _wanted(self) -> Iterator[tuple[str, Shape, int]]:
        """Yield (domain, shape, number of queries), evenly distributed."""
        shapes = grammar().shapes
        slots = [(domain, shape) for domain in self.settings.domains for shape in shapes]
        counts = sample.shares(self.settings.count, len(slots))
        yield from ((domain, shape, count) for (domain, shape), count in zip(slots, counts, strict=True) if count)

    def shapes(self) -> list[ShapeRow]:
        """Return a row for each domain and shape."""
        return [
            ShapeRow(
                f"{domain}/{drawn.shape.template}",
                domain,
                drawn.shape.template,
                wanted,
                drawn.possible,
                drawn.more,
                asdict(drawn.constraints),
            )
            for domain, wanted, drawn in self.samples
        ]

    def queries(self) -> list[DraftQuery]:
        """Return a row for each query, those of a shape best first."""
        nodes = {row["id"]: row for row in titles(self.kb, self.settings.domains).iter_rows(named=True)}
        rows: list[DraftQuery] = []
        for domain, _, drawn in self.samples:
            drafted = self.by_domain[domain]
            for combination in drawn.queries:
                items = [drafted.items[number] for number in combination.categories]
                phrases = [item.phrase for item in items]
                parts = [item.expression for item in items]
                members = [_contains(drafted, number, combination.answers) for number in combination.categories]
                answers = [
                    QueryAnswer(**nodes[node], holds="".join(x for x, has in zip("ABC", inside, strict=False) if has))
                    for node, *inside in zip(combination.answers, *members, strict=True)
                ]
                rows.append(
                    DraftQuery(
                        str(len(rows)),
                        domain,
                        drawn.shape.template,
                        drawn.shape.plain(phrases),
                        drawn.shape.marked(phrases),
                        phrases,
                        [item.name for item in items],
                        [item.cues for item in items],
                        parts,
                        drawn.shape.expression(parts),
                        answers,
                    )
                )
        return rows


def with_domains(kb: KnowledgeBase, settings: QuestSettings) -> QuestSettings:
    """Return settings that name their domains."""
    return settings if settings.domains else replace(settings, domains=default_domains(kb))


def default_domains(kb: KnowledgeBase) -> tuple[str, ...]:
    """Return the types that have texts, relations, and enough nodes for sets of some size; the largest if none has."""
    have = types_with_text(kb)
    unfit = mixed_types(kb) | nameless_types(kb)
    types = [t for t in kb.schema.node_types if not unfit_type(t) and t.name not in unfit]
    subject = subject_type(kb)  # of other types the KB has only some nodes
    types = [t for t in types if t.name == subject and t.name in have] or types or list(kb.schema.node_types)
    with_text = [t for t in types if t.name in have]
    asked = [relation for relation in kb.schema.relations if not unfit_relation(relation)]
    related = {name for relation in asked for s in relation.signatures for name in (s.head, s.tail)}
    usable = [t for t in with_text if t.name in related] or with_text or types
    usable = [t for t in usable if t.members > 1 and _has_categories(kb, t.name)] or usable
    largest = max(t.members for t in usable)
    return tuple(t.name for t in usable if t.members >= min(_MIN_MEMBERS, largest))


def _has_categories(kb: KnowledgeBase, domain: str) -> bool:
    """Return whether a type has categories; a large one always has."""
    if kb.schema.type(domain).members > _LARGE:
        return True
    try:
        categories.build(kb, domain)
    except categories.NoCategoriesError:
        return False
    return True


def _balanced(samples: list[tuple[str, int, sample.ShapeSample]]) -> list[tuple[str, int, sample.ShapeSample]]:
    """Move queries that a domain cannot have to domains with spare queries of the same shape, then of any shape.

    Half of the spare queries remain as a reserve. If there are not enough, each domain and shape gets what it can.
    """
    asked = [count for _, count, _ in samples]
    wanted = [min(count, len(drawn.queries)) for _, count, drawn in samples]
    limits = [count + (len(drawn.queries) - count) // 2 for _, count, drawn in samples]
    everything = list(range(len(samples)))
    shapes = [[i for i in everything if samples[i][2].shape is shape] for shape in grammar().shapes]
    for group in (*shapes, everything):
        missing = sum(asked[i] for i in group) - sum(wanted[i] for i in group)
        while missing > 0 and (open_ := [i for i in group if asked[i] <= wanted[i] < limits[i]]):
            for i in open_[:missing]:
                wanted[i] += 1
            missing -= len(open_[:missing])
    return [(domain, count, drawn) for (domain, _, drawn), count in zip(samples, wanted, strict=True)]


def _contains(of_domain: Categories, number: int, answers: tuple[int, ...]) -> list[bool]:
    """Return whether each answer is in a category."""
    matrix: Any = of_domain.sets.matrix
    members = matrix.indices[matrix.indptr[number] : matrix.indptr[number + 1]]
    return [bool(inside) for inside in np.isin(answers, members)]
