"""The four stages of a generated STaRK dataset (section 2.4 of the paper), each with its own table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from kbkit.answers.parse import parse
from kbkit.answers.wording import slot_nouns
from kbkit.benchmarks.documents import Document, read_documents
from kbkit.benchmarks.doubted_facts import DOUBTED, ODD
from kbkit.benchmarks.evidence import NAMED_AFTER, are_named_after, leaks
from kbkit.benchmarks.fit_nodes import MERGED, head_nouns
from kbkit.benchmarks.incomplete import FRAGMENT
from kbkit.benchmarks.left_out import REASON
from kbkit.benchmarks.pipeline import Item, Pipeline
from kbkit.benchmarks.requirements import fuse, relational, selection, sentences, textual, verify
from kbkit.benchmarks.requirements import products as goods
from kbkit.benchmarks.requirements.choose import OPEN, Chooser, fits
from kbkit.benchmarks.requirements.fuse import FUSED, FusedQuery, count_words
from kbkit.benchmarks.requirements.relational import RELATIONAL, Grounding, NamedEntity
from kbkit.benchmarks.requirements.stages_input import StagesInput
from kbkit.benchmarks.requirements.suggested import SUGGEST
from kbkit.benchmarks.requirements.textual import READER, TEXTUAL, Requirement, TextProperty
from kbkit.benchmarks.requirements.unfit_bindings import with_starts
from kbkit.benchmarks.requirements.verify import VERIFIED, Check, SpanJudgement, Verified, VerifiedAnswer
from kbkit.benchmarks.short_names import short_names
from kbkit.english.names import article_of, written_name
from kbkit.llm.calls import Calls
from kbkit.schema import Role

_BATCH, _BATCH_WITH_MODEL = 200, 25
"""Rows per batch: fewer with models, because each candidate's document is a call."""
_MOST = 3
"""Maximum number of steps of relations and requirements of a query without a model, if it has a requirement."""
_FEW = 8
"""Candidates of a query up to which relations alone are enough if the KB offers no other requirement."""
_RELATIONS = 0.2
"""Fraction of such queries without a requirement if only texts offer one, so that not all queries ask for texts."""
_SPARE, _SPARE_BARE, _SPARE_OWN, _SPARE_WITH_MODEL = 3.0, 4.0, 5.0, 1.2
"""Groundings per query: some are dropped, and a selection comes closer to the wanted numbers of answers. More are drawn
if the answers have no attributes, as then many have no requirement, and for numbers of answers that are no paper's."""


class StagesRun(StagesInput):
    """The stages of a dataset."""

    def stages(self, pipeline: Pipeline) -> list[Item]:
        """Run all stages."""
        kb, settings = self.kb, self.settings
        are_bare = any(one.answer and not kb.schema.type(one.answer).attributes for one in self.templates.values())
        without_model = _SPARE_BARE if are_bare else _SPARE if self.target.is_published else _SPARE_OWN
        spare = _SPARE_WITH_MODEL if self.calls else without_model
        count = int(settings.count * spare) + 5
        least, fewest = settings.least_candidates
        bounds = (least, self.max_candidates)
        batch = _BATCH_WITH_MODEL if self.calls else _BATCH
        wanted = self.target.counts(count, self.max_answers)
        drawn = pipeline.rows(
            RELATIONAL,
            lambda: relational.draw(
                kb, list(self.templates.values()), wanted, settings.seed, bounds, settings.weight, fewest
            ),
        )
        queries = [Item(row) for row in drawn if row.template not in self.of_parts]
        pipeline.advance(TEXTUAL, queries, self.textual, batch)
        pipeline.advance(FUSED, queries, self.fused, batch)
        pipeline.advance(VERIFIED, queries, self.verified, batch)
        return queries

    def selected(self, complete: Sequence[Item]) -> list[Item]:
        """Return the queries of the dataset; without a model those whose numbers of answers fit the target best."""
        if self.calls:
            return list(complete[: self.settings.count])
        s = self.settings
        return selection.selected(complete, self.templates, s.count, self.target, self.max_answers, s.alike)

    # -- stage 2 ------------------------------------------------------------------------------------------------------

    def textual(self, queries: Sequence[Item]) -> list[Requirement]:
        """Choose the gold answer, the role and the properties of each query."""
        documents = self.documents(node for query in queries for node in query[Grounding].candidates)
        chooser = Chooser(self.kb, self.matcher, documents, read=self.documents)
        rows: list[Requirement] = []
        waiting: list[tuple[int, Document, Role, int]] = []
        for position, query in enumerate(queries):
            rng = self.rng(2, query)
            nodes = query[Grounding].candidates
            with_text = [node for node in nodes if documents[node].passages]
            node_type = documents[nodes[0]].type
            role = textual.role_for(list(self.roles.values()), node_type, rng)
            gold = (with_text or nodes)[int(rng.integers(len(with_text or nodes)))]
            properties: list[TextProperty] = []
            dropped = ""
            if rng.random() < (self.settings.relations_only or 0):
                dropped = "more candidates than answers" if len(nodes) > self.max_answers else ""
            elif self.calls and with_text:
                count = 1 + int(rng.integers(self.settings.max_properties))
                waiting.append((position, documents[gold], role, count))
            elif not self.calls:
                hidden = [] if self.settings.text else [name for node in nodes for name in documents[node].names]
                hidden += [slot.name for slot in query[Grounding].slots.values()]
                # Three conditions in all: more read as a list.
                template = self.templates[query[Grounding].template]
                limit = max(1, min(self.settings.max_properties, _MOST - relational.steps_of(template)))
                wanted, alone = query[Grounding].wanted, self.settings.relations_only is None
                stated = relational.relations_of(template)
                without = relational.unasked(self.kb, template)
                gold, properties = chooser.choose(
                    nodes, hidden, role, wanted, limit, rng,
                    alone=alone, relations=stated, noun=self.noun(query), without=without,
                )  # fmt: skip
                # Types without texts and attributes are asked for by relations alone, as phenotypes in the paper.
                has_any = node_type in self.types_with_text or bool(self.settings.text)
                has_phrases_alone = chooser.has_phrases_alone(node_type)
                may_stand = alone and (fits(len(nodes), wanted) or len(nodes) <= _FEW)
                if may_stand and rng.random() < _RELATIONS and has_phrases_alone:
                    properties = []
                is_pair = len(query[Grounding].slots) > 1
                may_stand |= alone and (has_phrases_alone or is_pair) and len(nodes) <= self.max_answers
                if not properties and self._is_bare(query):
                    dropped = "it asks for all of a kind"
                elif not properties and has_any and (not may_stand or OPEN in without):
                    dropped = "no telling phrase or condition"
            elif node_type in self.types_with_text:
                dropped = "no candidate has a text"
            answers = 0 if self.calls else chooser.count(nodes, properties)
            rows.append(Requirement(query.id, gold, role.name, properties, answers, dropped=dropped))
        if self.calls and waiting:
            self._ask(self.calls, waiting, rows)
        return rows

    def _is_bare(self, query: Item) -> bool:
        """Return whether a suggested query is a noun alone: *composers*, of whom a reader knows more."""
        name = query[Grounding].template
        phrase = self.phrases[name]
        return name.startswith(SUGGEST) and phrase is not None and not phrase.clauses

    def _ask(self, calls: Calls, waiting: Sequence[tuple[int, Document, Role, int]], rows: list[Requirement]) -> None:
        """Set the rows that wait for properties, each with its position, gold answer, role and number of properties."""
        of_products = [one for one in waiting if one[2].products]
        others = [one for one in waiting if not one[2].products]
        if of_products:
            positions, golds, roles, _ = zip(*of_products, strict=True)
            requirements = goods.requirements(calls, self.matcher, golds, roles, [rows[at].id for at in positions])
            for position, row in zip(positions, requirements, strict=True):
                rows[position] = row
        if others:
            positions, golds, roles, counts = zip(*others, strict=True)
            answers = textual.from_model(calls, self.matcher, golds, roles, counts)
            for position, (properties, reason) in zip(positions, answers, strict=True):
                rows[position] = dataclasses.replace(rows[position], properties=properties, dropped=reason)

    # -- stage 3 ------------------------------------------------------------------------------------------------------

    def fused(self, queries: Sequence[Item]) -> list[FusedQuery]:
        """Word each query; drop those that name the gold answer or contain a word that is left out."""
        golds = read_documents(self.kb, (query[Requirement].gold for query in queries))
        if self.calls:
            wordings = self._fused(self.calls, queries, [golds[query[Requirement].gold].type for query in queries])
        else:
            started = self._meeting_starts(queries)
            wordings = [self._worded(query, is_other=query.id in started) for query in queries]

        def problem(query: Item, row: FusedQuery) -> str:
            if row.query and leaks(row.query, golds[query[Requirement].gold].names):
                return "the query names its answer"
            return REASON if self.words.any((row.fused, row.query)) else row.dropped

        return [
            dataclasses.replace(row, dropped=problem(query, row)) for query, row in zip(queries, wordings, strict=True)
        ]

    def _fused(self, calls: Calls, queries: Sequence[Item], types: Sequence[str]) -> list[FusedQuery]:
        """Word queries with the first model and paraphrase them with the second; ``types`` are those of the answers."""
        roles = [self.roles.get(query[Requirement].role, READER) for query in queries]
        of_products = [bool(query[Requirement].category) for query in queries]
        wordings: dict[int, FusedQuery] = {}
        for products in (True, False):
            at = [position for position, is_product in enumerate(of_products) if is_product == products]
            part, asking = [queries[i] for i in at], [roles[i] for i in at]
            fused_queries = (
                goods.fused(calls, part, asking)
                if products
                else fuse.fused(calls, part, [types[i] for i in at], asking)
            )
            wordings |= dict(zip(at, fused_queries, strict=True))
        ordered = [wordings[position] for position in range(len(queries))]
        return fuse.rephrased(calls, queries, ordered, types, roles)

    def _worded(self, query: Item, *, is_other: bool) -> FusedQuery:
        """Word a query without a model: in a frame, or after the question of a template that cannot be worded.

        ``is_other``: a node that the query names would be an answer too.
        """
        rng, grounding, required = self.rng(3, query), query[Grounding], query[Requirement]
        phrase = self.phrases[grounding.template]
        gold_type = self.kb.schema.type_of(required.gold).name
        noun = self.text_noun(gold_type, self.noun(query))
        words = sentences.requirements(required.properties, noun, rng)
        if phrase is None:
            condition = f" Name only those that {words.several}." if words.several else ""
            plain = varied = f"{grounding.question}{condition}"
            relations = grounding.question
        else:
            phrase = dataclasses.replace(phrase, is_other=phrase.is_other and is_other)
            template = self.templates[grounding.template]
            phrase = relational.with_middles(self.kb, template, phrase, grounding.slots)
            articles = {kind.name: article_of(kind) for kind in self.kb.schema.node_types}
            plan = self.kb.session.resolved(template.tree(), template.expression)
            roles = slot_nouns(plan, self.kb.schema, head_nouns(self.kb) or {})
            names = {
                slot: self._short_name(entity)
                or written_name(entity.name, roles.get(slot, entity.type), articles.get(entity.type, ""))
                + self.years.after(entity, roles.get(slot, entity.type))
                for slot, entity in grounding.slots.items()
            }
            named = phrase.filled(names)
            plain, varied, relations = sentences.sentences(
                named, words, required.role, rng, is_one=required.answers == 1
            )
        required_words = count_words(f"{words.noun} {words.several}")
        return FusedQuery(query.id, plain, varied, count_words(relations), required_words)

    def _short_name(self, entity: NamedEntity) -> str:
        """Return the acronym that a query names an entity by, or ""."""
        if not self.says_acronyms:
            return ""
        [node] = self.kb.stores.nodes.unique_ids(entity.type, [entity.key]).tolist()
        return short_names(self.kb, [node]).get(node, "")

    def _meeting_starts(self, queries: Sequence[Item]) -> set[str]:
        """Return the ids of the queries that need *other*: the relations lead back to a node that the query names, and
        it meets the requirements. *Other lakes at least 400 m deep in the same country as X* would say that X is deep.
        """
        starts: dict[str, list[int]] = {}
        for query in queries:
            grounding = query[Grounding]
            expression = self.templates[grounding.template].expression
            keys: dict[str, Any] = {slot: f"#{entity.key}" for slot, entity in grounding.slots.items()}
            answers = self.kb.answers(expression, **keys)
            named = [f"{one.type}#{one.key}" for one in grounding.slots.values()]
            starts[query.id] = [self.kb.find(name) for name in named if name in answers]
        documents = self.documents({node for nodes in starts.values() for node in nodes})
        chooser = Chooser(self.kb, self.matcher, documents)
        return {query.id for query in queries if chooser.count(starts[query.id], query[Requirement].properties)}

    # -- stage 4 ------------------------------------------------------------------------------------------------------

    def verified(self, queries: Sequence[Item]) -> list[Verified]:
        """Verify the candidates of each query, with proofs of their relations and spans of their texts."""
        documents = self.documents(node for query in queries for node in query[Grounding].candidates)
        chooser = Chooser(self.kb, self.matcher, documents, read=self.documents)
        if not self.calls:
            return [self._by_rule(query, chooser, documents) for query in queries]
        texts = {query.id: [p.text for p in fuse.used_properties(query)] for query in queries}
        left_out = self._of_other_categories(self.calls, queries, documents)
        asked = [
            (query.id, node)
            for query in queries
            for node in query[Grounding].candidates
            if texts[query.id] and (query.id, node) not in left_out
        ]
        judgements = verify.by_models(self.calls, [(texts[name], documents[node]) for name, node in asked])
        judged = dict(zip(asked, judgements, strict=True))
        return [
            self._verified(
                query,
                [
                    (documents[n], left_out.get((query.id, n)) or judged.get((query.id, n), []))
                    for n in query[Grounding].candidates
                ],
            )
            for query in queries
        ]

    def _of_other_categories(
        self, calls: Calls, queries: Sequence[Item], documents: Mapping[int, Document]
    ) -> dict[tuple[str, int], list[SpanJudgement]]:
        """Return the candidates of products that are of another general category, with this judgement."""
        asked = [
            (query, node) for query in queries if query[Requirement].category for node in query[Grounding].candidates
        ]
        pairs = [(query[Requirement].category, documents[node]) for query, node in asked]
        belongs = goods.in_category(calls, pairs) if pairs else []
        counts = {query.id: len(fuse.used_properties(query)) for query, _ in asked}
        return {
            (query.id, node): [verify.of_other_category(counts[query.id])]
            for (query, node), one in zip(asked, belongs, strict=True)
            if not one
        }

    def _by_rule(self, query: Item, chooser: Chooser, documents: Mapping[int, Document]) -> Verified:
        nodes, properties = query[Grounding].candidates, query[Requirement].properties
        masks = chooser.masks(nodes, properties)
        judgements = verify.by_rule(masks, len(nodes)) if properties else [[] for _ in nodes]
        spans = [
            [one._replace(spans=chooser.spans(node, properties)) for one in judged]
            if all(mask[row] for mask in masks)
            else judged
            for row, (node, judged) in enumerate(zip(nodes, judgements, strict=True))
        ]
        return self._verified(query, [(documents[node], judged) for node, judged in zip(nodes, spans, strict=True)])

    def _verified(self, query: Item, judged: Sequence[tuple[Document, list[SpanJudgement]]]) -> Verified:
        accepted = [
            (document, judgements)
            for document, judgements in judged
            if all(judgement.verdict.accepts for judgement in judgements)
        ]
        gold = next(document for document, _ in judged if document.id == query[Requirement].gold)
        passes = any(document.id == gold.id for document, _ in accepted)
        checks = [
            Check(*_node(document), [judgement.verdict for judgement in judgements])
            for document, judgements in judged
            if judgements
        ]
        dropped = ""
        if not passes:
            dropped = "the gold answer does not pass"
        elif leaks(query[FusedQuery].query, (name for document, _ in accepted for name in document.names)):
            dropped = "the query names an answer"
        elif are_named_after(
            (one.name for one in query[Grounding].slots.values()), [document.name for document, _ in accepted]
        ):
            dropped = NAMED_AFTER
        elif any(document.id in self.merged for document, _ in accepted):
            dropped = MERGED
        elif any(document.id in self.fragments for document, _ in accepted):
            dropped = FRAGMENT
        elif any(document.id in self.odd(query) for document, _ in accepted):
            dropped = ODD
        elif self.is_doubted(query, [document.id for document, _ in accepted]):
            dropped = DOUBTED
        elif len(accepted) > self.max_answers:
            dropped = f"more than {self.max_answers} answers"
        if dropped:
            return Verified(query.id, passes, NamedEntity(*_node(gold)), checks, dropped=dropped)
        # That an answer is not the node that the query names is no evidence.
        stated = str(with_starts(parse(query[Grounding].expression)))
        proofs = self.kb.answers(stated).proofs([document.id for document, _ in accepted])
        used = fuse.used_properties(query)
        answers = [
            VerifiedAnswer(*_node(document), proof.lines(), verify.evidence(self.matcher, used, judgements, document))
            for (document, judgements), proof in zip(accepted, proofs, strict=True)
        ]
        return Verified(query.id, passes, NamedEntity(*_node(gold)), checks, answers)


def _node(document: Document) -> tuple[str, str, str]:
    return document.type, document.key, document.name
