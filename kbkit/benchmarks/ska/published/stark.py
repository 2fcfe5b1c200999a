"""Instances of the form kg+text from STaRK's published questions (section 3.2.1 of the paper).

The knowledge is the subgraph of two steps around the answers, with the texts of its nodes. Without people or a model,
the positive units are those that the question shows: the triples on the shortest paths, of one or two steps, from the
nodes that it names to the answers, and for each answer the text with most of the question's other words. Questions for
which one of them is missing are left out: rule 5 wants both sources.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from kbkit.benchmarks.evidence import Matcher, leaks
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.graphs.decoys import WORD
from kbkit.benchmarks.ska.graphs.subgraphs import TRIPLES
from kbkit.benchmarks.ska.graphs.units import Drafts
from kbkit.benchmarks.ska.instances import TRIPLE, Instance, Provenance, numbered
from kbkit.benchmarks.ska.published.files import PublishedQuestion
from kbkit.benchmarks.ska.published.rules import LEAK
from kbkit.english.words import is_common
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.stores.adjacency import Ids

STAGE = "published questions"
"""What is shown while questions are read."""
UNKNOWN = "the KB does not have an answer"
NO_TOPIC = "the question names no node that is at most two steps from every answer"
NO_TEXT = "the text of an answer does not show the question's other words"
TOO_MANY = "more than {} positive units"
SMALL = "the subgraph has fewer than {} triples"
_MIN_TRIPLES, _MOST = 200, 40
"""Least number of triples (section 3.2.1), and greatest number of positive units."""
_NAME_WORDS, _MIN_NAME = 8, 3
"""Words of a name, and its least number of letters."""
_SHOWN_WORDS = 2
"""Words of the question, other than names, that the text of an answer has."""
_HUB = 3_000
"""Edges of a node in one relation and direction that are followed."""


@dataclass(frozen=True)
class _Found:
    """A question with its answers, the nodes that it names, and its positive triples and passages."""

    question: PublishedQuestion
    answers: Ids
    topics: list[int]
    triples: pl.DataFrame
    passages: pl.DataFrame


def make(
    kb: KnowledgeBase, questions: Sequence[PublishedQuestion], gathering: Gathering, noise_units: int
) -> list[Instance]:
    """Return instances of questions in random order.

    The answers are keys of nodes, as in the KBs that ``ingest stark`` makes. Raises :class:`KbError` if the KB has no
    texts or no answer of any question.
    """
    if not any(field.texts for field in kb.schema.text_fields):
        raise KbError(f"{kb.directory.path} has no texts, which STaRK's questions need", "Use the KB of the questions")
    maker = _StarkMaker(kb, gathering.seed, max(noise_units, 2 * _MIN_TRIPLES))
    order = np.random.default_rng((gathering.seed, 5)).permutation(len(questions)).tolist()
    instances = gathering.gather(STAGE, [questions[at] for at in order], maker.instance)
    if not instances and gathering.left_out[UNKNOWN] == len(questions):
        raise KbError(f"{kb.directory.path} has the answers of no question", "Use the KB that the questions are about")
    return instances


class _StarkMaker:
    """Makes instances of questions over one KB."""

    def __init__(self, kb: KnowledgeBase, seed: int, noise_units: int) -> None:
        self._kb, self._seed, self._noise = kb, seed, noise_units
        self._drafts = Drafts(kb, text=True)
        self._matcher = Matcher(kb)

    def instance(self, question: PublishedQuestion) -> Instance | str:
        """Return the instance of a question, or why there is none."""
        evidence = self._evidence(question)
        if isinstance(evidence, str):
            return evidence
        rng = np.random.default_rng((self._seed, zlib.crc32(question.id.encode())))
        nodes = np.unique(np.concatenate((evidence.answers, np.array(evidence.topics, np.int32))))
        positive, noise, names = self._drafts.around(
            evidence.answers, nodes, evidence.triples, evidence.passages, self._noise, rng
        )
        if sum(unit.kind == TRIPLE for unit in (*positive, *noise)) < _MIN_TRIPLES:
            return SMALL.format(_MIN_TRIPLES)
        shown = names.filter(pl.col("id").is_in(evidence.topics))["reference"].to_list()
        answers = names.filter(pl.col("id").is_in(evidence.answers))
        aliases = {
            unique: [name] for unique, name in answers.select("shown", "name").iter_rows() if unique != name
        }  # the key is part of a name that several nodes have
        order = rng.permutation(len(positive)).tolist()
        return Instance(
            f"{question.dataset}-{question.id}", "kg+text", question.text, answers["shown"].to_list(),
            numbered([positive[at] for at in order], "p"), numbered(noise, "n"),
            Provenance(
                question.dataset, question.id, self._kb.schema.name, evidence="paths", topics=shown, aliases=aliases
            ),
        )  # fmt: skip

    def _evidence(self, question: PublishedQuestion) -> _Found | str:
        """Return a question with its positive units, or why they are not known."""
        rows = self._kb.stores.nodes.by_key(None, question.answers)
        if not all(len(same_key) == 1 for same_key in rows):
            return UNKNOWN
        nodes = [same_key[0] for same_key in rows]
        if leaks(question.text, [row.name or row.key for row in nodes]):
            return LEAK
        answers = np.array(sorted({row.id for row in nodes}), np.int32)
        named = self._named(question.text, set(answers.tolist()))
        edges = self._edges(answers)
        paths = [self._paths(answer, edges, named) for answer in answers.tolist()]
        if not all(part.height for part in paths):
            return NO_TOPIC
        triples = pl.concat(paths).unique(maintain_order=True)
        ends = {*triples["head"].to_list(), *triples["tail"].to_list()}
        topics = [node for node in named if node in ends]
        passages = self._texts(question.text, answers, [named[node] for node in topics])
        if passages.height < len(answers):
            return NO_TEXT
        if triples.height + passages.height > _MOST:
            return TOO_MANY.format(_MOST)
        return _Found(question, answers, topics, triples, passages)

    def _named(self, text: str, answers: set[int]) -> dict[int, str]:
        """Return the nodes that a question names, each by the longest name; common words of their own name none."""
        words = [(m.start(), m.end()) for m in WORD.finditer(text)]
        named: dict[int, str] = {}
        taken = np.zeros(len(words), bool)
        for size in range(min(_NAME_WORDS, len(words)), 0, -1):
            for at in range(len(words) - size + 1):
                name = text[words[at][0] : words[at + size - 1][1]]
                is_word = size == 1 and (name.islower() or at == 0) and is_common(name.lower())
                if taken[at : at + size].any() or is_word or len(name) < _MIN_NAME:
                    continue
                nodes = [int(node) for node in self._kb.stores.nodes.named(name) if int(node) not in answers]
                if nodes:
                    taken[at : at + size] = True
                    named |= dict.fromkeys(nodes, name)
        return named

    def _edges(self, nodes: Ids) -> pl.DataFrame:
        """Return the triples of nodes."""
        parts = [pl.DataFrame(schema=TRIPLES)]
        for relation in self._kb.schema.relations:
            for forward in (True, False):
                csr = self._kb.session.move(relation.name, forward)
                for node in nodes.tolist():
                    others = csr.neighbors(node)[:_HUB]
                    near = np.full(len(others), node, np.int32)
                    head, tail = (near, others) if forward else (others, near)
                    frame = pl.DataFrame({"head": head, "tail": tail}, {"head": pl.Int32, "tail": pl.Int32})
                    parts.append(frame.select("head", pl.lit(relation.name).alias("relation"), "tail"))
        return self._drafts.once(pl.concat(parts))

    def _paths(self, answer: int, edges: pl.DataFrame, named: dict[int, str]) -> pl.DataFrame:
        """Return the triples from the named nodes to an answer: of one step if there are any, else of two.

        Names without a capital or a digit, such as *cell surface*, are too general to be two steps away.
        """
        topics = list(named)
        own = edges.filter((pl.col("head") == answer) | (pl.col("tail") == answer))
        direct = own.filter(pl.col("head").is_in(topics) | pl.col("tail").is_in(topics))
        if direct.height or not topics:
            return direct
        topics = [node for node, name in named.items() if any(c.isupper() or c.isdigit() for c in name)]
        first = {*own["head"].to_list(), *own["tail"].to_list()} - {answer}
        second = self._edges(np.array(topics, np.int32))
        joins = second.filter(pl.col("head").is_in(sorted(first)) | pl.col("tail").is_in(sorted(first)))
        middle = sorted(({*joins["head"].to_list(), *joins["tail"].to_list()} - set(topics)) & first)
        steps = own.filter(pl.col("head").is_in(middle) | pl.col("tail").is_in(middle))
        return pl.concat([steps, joins])

    def _texts(self, text: str, answers: Ids, names: Sequence[str]) -> pl.DataFrame:
        """Return for each answer the passage with most of the question's other words; none if it has too few."""
        asked = set(self._matcher.words(text)) - {word for name in names for word in self._matcher.words(name)}
        passages = self._drafts.passages(answers)
        shared = [len(asked.intersection(self._matcher.words(one))) for one in passages["text"]]
        ranked = passages.with_columns(shared=pl.Series(shared, dtype=pl.Int64)).filter(
            pl.col("shared") >= _SHOWN_WORDS
        )
        best = ranked.sort("shared", descending=True, maintain_order=True).unique(
            "node", keep="first", maintain_order=True
        )
        return best.drop("shared")
