"""Positive units and noise of a question, as units: triples, values of attributes, and texts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from kbkit.answers.algebra import AllNodes, Hop, Lookup, Operator, Plan
from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.bind import Bindings, Constant, bind
from kbkit.answers.derivations import derivations
from kbkit.answers.evaluate import evaluate
from kbkit.answers.operator_tree import inputs, operators
from kbkit.benchmarks.evidence import NAMED_AFTER, are_named_after, leaks
from kbkit.benchmarks.fit_nodes import unnamed
from kbkit.benchmarks.ska.graphs.decoys import BY_TEXT, PASSAGES, WORD, Passages, decoys, mentions, told
from kbkit.benchmarks.ska.graphs.questions import GraphQuestion
from kbkit.benchmarks.ska.graphs.subgraphs import TRIPLES, VALUES, Subgraphs
from kbkit.benchmarks.ska.graphs.triples_sql import triples_sql, unsupported
from kbkit.benchmarks.ska.instances import PASSAGE, TRIPLE, KnowledgeUnit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.stores.adjacency import Ids

_NEAR = 15
"""Near misses of each part of a question."""
_HOPS_OF_NAMED, _HOPS_OF_ANSWERS = 4, 2
"""Greatest distance of noise from the named nodes, and with texts from the answers (section 3.2.1 of the paper)."""
_VALUE_SHARE, _PASSAGE_SHARE = 0.25, 0.2
"""Shares of the noise that are values of attributes and, with texts, passages."""
_DECOY_TRIPLES = 80
_CODE = re.compile(r"[A-Z]\d+")
"""Names of relations without meaning (``P31``), for which the label is shown."""


@dataclass(frozen=True)
class GraphDraft:
    """A question with its query and its positive units: triples, values and passages by node ids."""

    question: GraphQuestion
    plan: Plan
    bound: Bindings
    answers: Ids
    sql: str
    triples: pl.DataFrame
    values: pl.DataFrame
    passages: pl.DataFrame
    named: tuple[int, ...]
    topics: list[str]
    decoys: Ids

    @property
    def size(self) -> int:
        """The number of positive units."""
        return self.triples.height + self.values.height + self.passages.height

    @property
    def meaning(self) -> Hashable:
        """What the question asks, whatever the order of its parts: *both A and B* is *both B and A*.

        With texts, the same phrases and answers are the same question to a reader, whatever else it names.
        """
        if self.question.phrases:
            return tuple(sorted(phrase.casefold() for phrase in self.question.phrases)), tuple(self.answers.tolist())
        parts = operators(self.plan.root)
        moves = sorted((m.relation, m.forward) for part in parts if isinstance(part, Hop) for m in part.moves)
        conditions = sorted({tuple(row) for row in self.values.select("attribute").iter_rows()})
        return tuple(sorted(self.named)), tuple(moves), tuple(conditions), tuple(self.answers.tolist())

    @property
    def nodes(self) -> list[int]:
        """The named nodes, the answers, and the other nodes of the positive units."""
        ends = [*self.triples["head"].to_list(), *self.triples["tail"].to_list(), *self.values["node"].to_list()]
        return list(dict.fromkeys((*self.named, *self.answers.tolist(), *ends)))


class Drafts:
    """Makes the positive units and the noise of questions on a KB; with ``text``, passages too."""

    def __init__(self, kb: KnowledgeBase, *, text: bool) -> None:
        self._kb, self._text = kb, text
        self._graph = Subgraphs(kb)
        self.passages = Passages(kb)
        self._labels = {r.name: _shown(r.name, r.label) for r in kb.schema.relations}
        for kind in kb.schema.node_types:
            self._labels |= {a.name: _shown(a.name, a.label) for a in kind.attributes if a.name not in self._labels}
        self._fractional = [
            a.name for t in kb.schema.node_types for a in t.attributes if a.type.startswith(("DOUBLE", "FLOAT"))
        ]

    # -- positive units -----------------------------------------------------------------------------------------------

    def draft(self, question: GraphQuestion, most: int) -> GraphDraft | str:
        """Return the draft of a question, or why there is none: more than ``most`` positive units, and so on."""
        try:
            answers = self._kb.answers(question.expression)
            ids = answers.ids
        except KbError:
            return "its expression does not fit the KB"
        problem = unsupported(answers.plan, self._kb.schema)
        if self._text != bool(question.phrases):
            problem = "it needs no text" if self._text else "it needs texts"
        passages = pl.DataFrame(schema=PASSAGES)
        phrases = [WORD.findall(phrase) for phrase in question.phrases]
        if phrases and not problem:
            candidates = len(ids)
            ids, passages = self._mentioning(ids, phrases)
            problem = "it needs no text" if len(ids) == candidates else ""
        if problem := problem or self._problem(question, ids, most):
            return problem
        triples, values = self._positive(answers, ids)
        bound = bind(answers.plan, self._kb.session, {})
        entries = [nodes for nodes in bound.values() if not isinstance(nodes, Constant)]
        named = {node.id: node.reference for nodes in entries for node in nodes}
        if unnamed(self._kb, [*named, *ids.tolist()]):
            return "a node has no name but a number"
        shown = self._kb.stores.nodes.rows([*named, *ids.tolist()])
        names = {node: row.name or row.key for node, row in shown.items()}
        if are_named_after((names[node] for node in named), [names[node] for node in ids.tolist()]):
            return NAMED_AFTER
        others = np.empty(0, np.int32)
        if self._text:
            others = decoys(self._kb, self.passages, question.phrases, answers.plan.root.type, ids.tolist())
            if not len(others) or self._tells(ids, others, list(named)):
                return BY_TEXT
        sql = triples_sql(answers.plan, bound, self._graph.two_way, phrases)
        topics = list(named.values())
        draft = GraphDraft(
            question, answers.plan, bound, ids, sql, triples, values, passages, tuple(named), topics, others
        )
        return draft if draft.size <= most else f"more than {most} positive units"

    def _tells(self, answers: Ids, others: Ids, named: Sequence[int]) -> bool:
        """Return whether the texts of answers, but of no decoy, name what the question names."""
        rows = self._kb.stores.nodes.rows(list(named)).values()
        passages = self.passages(np.concatenate((answers, others)))
        return told(passages, [row.name or row.key for row in rows], answers.tolist())

    def _problem(self, question: GraphQuestion, ids: Ids, most: int) -> str:
        """Return what is wrong with the answers of a question, or ""."""
        if not len(ids):
            return "no answers"
        if len(ids) > most:
            return f"more than {most} positive units"
        rows = self._kb.stores.nodes.rows(ids.tolist()).values()
        if question.answers and {row.reference for row in rows} != question.answers:
            return "its answers are not those of its expression"
        names = [row.name or row.key for row in rows]
        return "the question names its answer" if leaks(question.text, names) else ""

    def _positive(self, answers: AnswerSet, ids: Ids) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the triples and values of all derivations of the answers and of the excluded candidates."""
        parts = (answers.derivations(ids.tolist()), answers.exclusions())
        triples = self._graph.once(pl.concat([part.triples for part in parts]))
        facts = pl.concat([part.facts.select(*VALUES) for part in parts])
        whole = pl.col("value").str.replace(r"\.0$", "")
        shown = pl.when(pl.col("attribute").is_in(self._fractional)).then(whole).otherwise("value").alias("value")
        return triples, facts.filter(pl.col("value").is_not_null()).with_columns(shown).unique(maintain_order=True)

    def _mentioning(self, ids: Ids, phrases: Sequence[Sequence[str]]) -> tuple[Ids, pl.DataFrame]:
        """Return the nodes whose texts mention all phrases, and their passages that mention any."""
        passages = self.passages(ids)
        masks = [passages.select(mentions("text", words)).to_series() for words in phrases]
        nodes = set(ids.tolist()).intersection(*(passages.filter(mask)["node"].to_list() for mask in masks))
        shown = pl.Series(np.logical_or.reduce([mask.to_numpy() for mask in masks]))
        kept = passages.filter(shown & pl.Series(passages["node"].is_in(sorted(nodes))))
        return np.array(sorted(nodes), np.int32), kept

    # -- noise --------------------------------------------------------------------------------------------------------

    def units(
        self, draft: GraphDraft, noise_units: int, rng: np.random.Generator
    ) -> tuple[list[KnowledgeUnit], list[KnowledgeUnit], list[str]] | str:
        """Return the positive units, the noise in random order and the names of the answers, or why there are none."""
        near = self._near(draft, rng)
        parts = [near, *self._around(draft, near, noise_units, rng)]
        if len(draft.decoys):
            parts.insert(1, self._graph.around(draft.decoys, 1, _DECOY_TRIPLES, rng)[:_DECOY_TRIPLES])
        triples = pl.concat(parts).unique(maintain_order=True)
        triples = triples.join(draft.triples, on=list(TRIPLES), how="anti", maintain_order="left")
        # A triple between the same nodes in the other direction may have the same meaning: hypernym and hyponym.
        turned = draft.triples.select(head="tail", tail="head")
        triples = triples.join(turned, on=["head", "tail"], how="anti", maintain_order="left")
        near_nodes = (*draft.nodes, *draft.decoys.tolist(), *_ends(near))
        nodes = np.array(list(dict.fromkeys((*near_nodes, *_ends(triples[:noise_units])))), np.int32)
        values = self._graph.values(nodes).join(draft.values, on=list(VALUES), how="anti", maintain_order="left")
        passages = pl.DataFrame(schema=PASSAGES)
        if self._text:
            passages = self.passages(nodes).join(
                draft.passages, on=["node", "field", "position"], how="anti", maintain_order="left"
            )
            passages = passages[: int(_PASSAGE_SHARE * noise_units)]
        structured = noise_units - passages.height
        values = values[: max(int(_VALUE_SHARE * structured), structured - triples.height)]
        triples = triples[: structured - values.height]
        names = self._names([draft.triples, triples], [draft.values, values], [draft.passages, passages])
        problem = self._ambiguous(draft, names)
        if problem:
            return problem
        if self._text:
            triples, values = self._without_phrases(draft, triples, values, names)
        positive = self._units(draft.triples, draft.values, draft.passages, names)
        noise = self._units(triples, values, passages, names)
        order = rng.permutation(len(noise)).tolist()
        answers = names.filter(pl.col("id").is_in(draft.answers))["shown"].to_list()
        return positive, [noise[at] for at in order], answers

    def once(self, triples: pl.DataFrame) -> pl.DataFrame:
        """Return triples without duplicates; see :meth:`Subgraphs.once`."""
        return self._graph.once(triples)

    def around(
        self,
        answers: Ids,
        starts: Ids,
        triples: pl.DataFrame,
        passages: pl.DataFrame,
        noise_units: int,
        rng: np.random.Generator,
    ) -> tuple[list[KnowledgeUnit], list[KnowledgeUnit], pl.DataFrame]:
        """Return positive triples and passages as units, the noise around the answers, and the names of all nodes.

        The noise is the subgraph of two steps around the answers, and if that is small around ``starts``, with texts.
        """
        parts = [self._graph.around(answers, _HOPS_OF_ANSWERS, noise_units, rng)]
        if parts[0].height < noise_units:
            parts.append(self._graph.around(starts, _HOPS_OF_ANSWERS, noise_units - parts[0].height, rng))
        noise = pl.concat(parts).unique(maintain_order=True)
        noise = noise.join(triples, on=list(TRIPLES), how="anti", maintain_order="left")
        nodes = np.array(
            list(dict.fromkeys((*starts.tolist(), *_ends(triples), *_ends(noise[:noise_units])))), np.int32
        )
        texts = self.passages(nodes)
        texts = texts.join(passages, on=["node", "field", "position"], how="anti", maintain_order="left")
        texts = texts[: int(_PASSAGE_SHARE * noise_units)]
        noise = noise[: noise_units - texts.height]
        names, empty = self._names([triples, noise], [], [passages, texts]), pl.DataFrame(schema=VALUES)
        positive = self._units(triples, empty, passages, names)
        distractors = self._units(noise, empty, texts, names)
        return positive, [distractors[at] for at in rng.permutation(len(distractors)).tolist()], names

    def _around(
        self, draft: GraphDraft, near: pl.DataFrame, count: int, rng: np.random.Generator
    ) -> list[pl.DataFrame]:
        """Return the subgraph: with texts of the answers first, else of the named nodes, that near all others first."""
        if self._text:
            own = self._graph.around(draft.answers, _HOPS_OF_ANSWERS, count, rng)
            if own.height >= count:
                return [own]
            others = np.array(sorted({*draft.decoys.tolist(), *draft.named}), np.int32)
            return [own, self._graph.around(others, _HOPS_OF_ANSWERS, count - own.height, rng)]
        depth = _depth(draft.plan.root)
        start = np.array(sorted({*draft.nodes, *_ends(near)}), np.int32)
        first = self._graph.around(start, max(1, _HOPS_OF_NAMED - depth), count, rng)
        if first.height >= count:
            return [first]
        return [first, self._graph.around(np.array(sorted(draft.named), np.int32), _HOPS_OF_NAMED, count, rng)]

    def _near(self, draft: GraphDraft, rng: np.random.Generator) -> pl.DataFrame:
        """Return the derivations of near misses: of some nodes that meet a part of the question."""
        triples = [pl.DataFrame(schema=TRIPLES)]
        for operator in dict.fromkeys(operators(draft.plan.root)):
            if isinstance(operator, (AllNodes, Lookup)):
                continue
            part = replace(draft.plan, root=operator)
            members = np.setdiff1d(evaluate(part, self._kb.session, draft.bound), draft.answers)
            if len(members) > _NEAR:
                members = np.sort(rng.choice(members, _NEAR, replace=False))
            triples.append(derivations(part, self._kb.session, draft.bound, members).triples)
        return self._graph.once(pl.concat(triples))

    def _without_phrases(
        self, draft: GraphDraft, triples: pl.DataFrame, values: pl.DataFrame, names: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Leave out the noise that repeats the texts: triples with a phrase of the question."""
        phrases = [WORD.findall(phrase) for phrase in draft.question.phrases]
        mentioned = names.filter(pl.any_horizontal(mentions("name", words) for words in phrases))["id"].implode()
        kept = triples.filter(~(pl.col("head").is_in(mentioned) | pl.col("tail").is_in(mentioned)))
        return kept, values.filter(~pl.any_horizontal(mentions("value", words) for words in phrases))

    # -- names --------------------------------------------------------------------------------------------------------

    def _names(
        self, triples: Sequence[pl.DataFrame], values: Sequence[pl.DataFrame], passages: Sequence[pl.DataFrame]
    ) -> pl.DataFrame:
        """Return the nodes of units with their reference and the ``shown`` name, which no other node has."""
        columns = [frame[end] for frame in triples for end in ("head", "tail")]
        ids = pl.concat([*columns, *(frame["node"] for frame in (*values, *passages))]).unique().sort()
        frame = self._kb.stores.nodes.frame(ids.to_numpy(), ("id", "type", "key", "name"))
        frame = frame.with_columns(pl.col("id").cast(pl.Int32), pl.col("type").cast(pl.String))
        name = pl.when(pl.col("name").fill_null("").str.strip_chars() == "").then("key").otherwise("name")
        folded = pl.col("name").str.to_lowercase()
        frame = frame.with_columns(name.str.strip_chars().alias("name"))
        in_type = pl.struct(folded, "type").is_duplicated()
        frame = frame.with_columns(folded.is_duplicated().alias("is_shared"), in_type.alias("is_shared_in_type"))
        shown = (
            pl.when(pl.col("is_shared_in_type") & (pl.col("name") != pl.col("key")))
            .then(pl.format("{} ({})", "name", "key"))
            .when(pl.col("is_shared") & ~pl.col("is_shared_in_type"))
            .then(pl.format("{} ({})", "name", "type"))
            .otherwise("name")
        )
        return frame.with_columns(shown.alias("shown"), pl.format("{}#{}", "type", "key").alias("reference"))

    def _ambiguous(self, draft: GraphDraft, names: pl.DataFrame) -> str:
        """Return whether the name of a named node or of an answer is that of several nodes, as a phrase; "" if not."""
        shared = set(names.filter("is_shared")["id"].to_list())
        if shared.intersection(draft.named):
            return "the name of a named node is ambiguous"
        return "the name of an answer is ambiguous" if shared.intersection(draft.answers.tolist()) else ""

    def _units(
        self, triples: pl.DataFrame, values: pl.DataFrame, passages: pl.DataFrame, names: pl.DataFrame
    ) -> list[KnowledgeUnit]:
        nodes = names.select("id", "shown", "reference")
        tails = nodes.rename({"shown": "tail_shown", "reference": "tail_reference"})
        edges = triples.join(nodes, left_on="head", right_on="id", maintain_order="left").join(
            tails, left_on="tail", right_on="id", maintain_order="left"
        )
        edges = self._graph.with_attributes(edges)
        columns = ("shown", "relation", "attributes", "tail_shown", "reference", "tail_reference")
        units = [
            KnowledgeUnit("", TRIPLE, [head, self._labels[relation] + more, tail], [source, relation, target])
            for head, relation, more, tail, source, target in edges.select(columns).iter_rows()
        ]
        facts = values.join(nodes, left_on="node", right_on="id", maintain_order="left")
        units += [
            KnowledgeUnit("", TRIPLE, [head, self._labels[attribute], value], [source, attribute, ""])
            for head, attribute, value, source in facts.select("shown", "attribute", "value", "reference").iter_rows()
        ]
        texts = passages.join(nodes, left_on="node", right_on="id", maintain_order="left")
        text_columns = ("shown", "text", "reference", "field", "position")
        return units + [
            KnowledgeUnit("", PASSAGE, [title, text], [source, text_field, str(position)])
            for title, text, source, text_field, position in texts.select(text_columns).iter_rows()
        ]


def _depth(operator: Operator) -> int:
    """Return the number of steps on the longest path of an operator."""
    return isinstance(operator, Hop) + max(map(_depth, inputs(operator)), default=0)


def _ends(triples: pl.DataFrame) -> list[int]:
    """Return the nodes of triples in order of appearance."""
    return list(dict.fromkeys(np.column_stack((triples["head"], triples["tail"])).ravel().tolist()))


def _shown(name: str, label: str) -> str:
    """Return a relation or attribute as units show it: its name, or the label if the name is a code."""
    return label.replace(" ", "_") if label and _CODE.fullmatch(name) else name
