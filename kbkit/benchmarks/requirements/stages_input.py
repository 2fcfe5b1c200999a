"""What the stages of a dataset work with: templates in words, roles, documents, and nodes that are left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kbkit.answers import syntax
from kbkit.answers.templates import Template
from kbkit.benchmarks.documents import Document, TextPassage, read_documents, types_with_text
from kbkit.benchmarks.doubted_facts import doubted_of, odd_nodes
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.fit_nodes import head_nouns, merged_nodes
from kbkit.benchmarks.incomplete import fragments
from kbkit.benchmarks.left_out import LeftOutWords, left_out_words
from kbkit.benchmarks.pipeline import Item
from kbkit.benchmarks.recorded import models, origin
from kbkit.benchmarks.requirements import relational
from kbkit.benchmarks.requirements.answer_counts import Target
from kbkit.benchmarks.requirements.plausible import asks_for_own_parts
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.settings import NAME_TEXT, RequirementSettings
from kbkit.benchmarks.requirements.suggested import SUGGEST
from kbkit.benchmarks.requirements.work_years import WorkYears
from kbkit.english.noun_phrases import NounPhrase
from kbkit.english.types import text_noun
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls
from kbkit.schema import Role

PROMPTS = ("stark_properties", "stark_fuse", "stark_rephrase", "stark_verify")
PRODUCT_PROMPTS = ("stark_product_properties", "stark_product_fuse", "stark_product_category")


@dataclass(frozen=True)
class StagesInput:
    """The inputs of all stages; the settings are complete.

    ``says_acronyms``: queries name things by their acronyms (:func:`short_names`), which only a KB explains.
    """

    kb: KnowledgeBase
    settings: RequirementSettings
    calls: Calls | None
    matcher: Matcher
    templates: dict[str, Template]
    says_acronyms: bool = True

    @cached_property
    def phrases(self) -> dict[str, NounPhrase | None]:
        """The answers of each template in words."""
        return {name: relational.phrase(self.kb, template) for name, template in self.templates.items()}

    @cached_property
    def roles(self) -> dict[str, Role]:
        """The roles by name."""
        return {role.name: role for role in self.settings.roles or self.kb.schema.roles}

    @property
    def asks_for_products(self) -> bool:
        """Whether a role asks for products."""
        return any(role.products for role in self.roles.values())

    @cached_property
    def types_with_text(self) -> set[str]:
        """The types whose nodes have texts."""
        return types_with_text(self.kb)

    @cached_property
    def words(self) -> LeftOutWords:
        """The words that no query contains."""
        return left_out_words(self.settings.leave_out)

    @cached_property
    def of_parts(self) -> frozenset[str]:
        """The suggested templates that leave out the parts of parts."""
        suggested = [one for one in self.templates.values() if one.id.startswith(SUGGEST)]
        return frozenset(one.id for one in suggested if asks_for_own_parts(self.kb, one.expression))

    @cached_property
    def years(self) -> WorkYears:
        """The years of works, whose titles several share."""
        return WorkYears(self.kb)

    @cached_property
    def merged(self) -> frozenset[int]:
        """The nodes that are several things in one, which answer no question."""
        return merged_nodes(self.kb)

    @cached_property
    def fragments(self) -> frozenset[int]:
        """The nodes that are of another kind than their type says."""
        return fragments(self.kb)

    def odd(self, query: Item) -> frozenset[int]:
        """Return the nodes with an odd value of a relation that a query names."""
        names = relational.relations_of(self.templates[query[Grounding].template])
        return frozenset().union(*(odd_nodes(self.kb).get(name, frozenset()) for name in names))

    def is_doubted(self, query: Item, answers: Iterable[int]) -> bool:
        """Return whether a fact that the KB qualifies decides about an answer, or about what a chain passes."""
        template = self.templates[query[Grounding].template]
        names = relational.relations_of(template)
        nodes = [self.kb.find(f"{one.type}#{one.key}") for one in query[Grounding].slots.values()]
        found = frozenset().union(*(doubted_of(self.kb, names, node) for node in nodes))
        parts = syntax.subtrees(template.tree())
        denies = "[!" in template.expression or any(getattr(part, "op", "") == "-" for part in parts)
        is_direct = relational.steps_of(template) < 2 and not denies
        return not found.isdisjoint(answers) if is_direct else bool(found)

    @property
    def target(self) -> Target:
        """The numbers of answers to aim at."""
        assert self.settings.target is not None
        return self.settings.target

    @property
    def max_answers(self) -> int:
        """The maximum number of answers of a query."""
        assert self.settings.max_answers is not None
        return self.settings.max_answers

    @property
    def max_candidates(self) -> int:
        """The maximum number of nodes that satisfy the relations."""
        assert self.settings.max_candidates is not None
        return self.settings.max_candidates

    @cached_property
    def _text_fields(self) -> dict[str, list[str]]:
        """The fields of the texts of each type."""
        rows = self.kb.tables.rows(
            "SELECT n.type::VARCHAR, list(DISTINCT t.field::VARCHAR) FROM texts t JOIN nodes n USING (id) GROUP BY 1"
        )
        return {kind: sorted(fields) for kind, fields in rows}

    def text_noun(self, node_type: str, noun: str = "") -> str:
        """Return what to call the texts of a type: description, title or abstract.

        ``noun`` is what nodes of a type that says nothing are.
        """
        fields = [self.settings.text] if self.settings.text else self._text_fields.get(node_type)
        return text_noun(noun or node_type, fields) if fields else "text"

    def noun(self, query: Item) -> str:
        """Return what the answers of a query are if nodes have no types, or ""."""
        phrase = self.phrases[query[Grounding].template]
        return phrase.noun if phrase and head_nouns(self.kb) else ""

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Return the documents of nodes; with the name as the text if the settings say so."""
        documents = read_documents(self.kb, ids)
        if not self.settings.text:
            return documents
        return {n: dataclasses.replace(d, passages=(TextPassage(NAME_TEXT, d.name),)) for n, d in documents.items()}

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
            "answers": self.max_answers,
            "weight": settings.weight,
            "target": asdict(self.target),
            "relations_only": settings.relations_only,
            "text": settings.text,
            "leave_out": self.words.about,
            **models(self.calls, (*PROMPTS, *(PRODUCT_PROMPTS if self.asks_for_products else ()))),
        }
