"""The pools of labelled queries: the nodes that people grade, what a query was read as, and its answers among them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kbkit.errors import KbError
from kbkit.questions.understood import in_words
from kbkit.search.settings import RETRIEVERS, missing_stores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kbkit.answers.answer_set import AnswerSet
    from kbkit.kb import KnowledgeBase
    from kbkit.stores.node_directory import NodeRow

POOLED = (*RETRIEVERS, "relational")
"""The modes whose hits are pooled."""
_READ = 500
"""Readings whose answers are kept."""
MOST_ANSWERS = 100
"""Maximum number of answers of a question or an expression that join a pool at once."""
MOST_TIMES = 2
"""Maximum number of answers of a reading that join a pool, in numbers of hits of a retriever."""
_TEXTS = """
SELECT id, left(string_agg(text, ' ' ORDER BY field, position), 600) AS text
FROM texts WHERE id IN (SELECT unnest($ids)) GROUP BY id"""


@dataclass(frozen=True)
class LabelledQuery:
    """A query: the ``annotator`` who wrote it, when, for which node (``type#key``; "" for none), and its ``pool``.

    The pool is a list of ``type#key`` in the order in which they are shown, which tells nothing about the retrievers.
    ``type`` is the type of the answers ("": any), and ``reading`` the expression that the text was read as with
    certainty ("": it was not).
    """

    id: str
    text: str
    annotator: str
    pool: list[str]
    node: str = ""
    note: str = ""
    written: str = ""
    type: str = ""
    reading: str = ""
    deleted: bool = False


class PoolNode(NamedTuple):
    """A node of a pool, with the beginning of its texts."""

    reference: str
    id: int
    type: str
    key: str
    name: str
    text: str


class LabelReading(NamedTuple):
    """What a query was read as, in words, the first of its answers that the pool lacks, and two numbers of answers.

    There are ``total`` answers; ``joined`` of them are in the pool.
    """

    phrase: str
    missing: list[str]
    joined: int
    total: int


class LabelPools:
    """Draws up the pools of queries over a KB."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._read = lru_cache(_READ)(self._reading_of)  # the KB does not change while it is open

    def draw(self, seed: int, type: str = "") -> str:  # noqa: A002 - as in search
        """Return a random node (``type#key``), for which a query can be written.

        It is of the given type ("": any), and has a text if some node of this type has one.
        """
        nodes = self._kb.stores.nodes
        with_texts = self._kb.tables.lookup("SELECT DISTINCT id FROM texts")["id"].to_numpy()
        ids = nodes.members(type or None)
        if len(readable := np.intersect1d(ids, with_texts)) or not type:
            ids = readable
        if not len(ids):
            raise KbError(f"The KB has no node of the type {type}" if type else "No node of the KB has a text")
        row = nodes.row(int(ids[np.random.default_rng(seed).integers(len(ids))]))
        return f"{row.type}#{row.key}"

    def answers(self, expression: str) -> tuple[list[str], int]:
        """Return the first answers of an expression (``type#key``), and how many there are. Raises :class:`KbError`."""
        return self._first(self._kb.answers(expression), "")

    def _first(self, answers: AnswerSet, type: str) -> tuple[list[str], int]:  # noqa: A002
        """Return the first answers (of a type; "": of any) as ``type#key``, and how many there are."""
        ids = self._of_type(answers, type)
        return self._references(ids[:MOST_ANSWERS]), len(ids)

    def _of_type(self, answers: AnswerSet, type: str) -> NDArray[np.int32]:  # noqa: A002
        """Return the answers of a type ("": of any)."""
        ids = answers.ids
        return ids[(self._kb.stores.nodes.frame(ids, ("type",))["type"] == type).to_numpy()] if type else ids

    def _references(self, ids: NDArray[np.int32]) -> list[str]:
        frame = self._kb.stores.nodes.frame(ids, ("type", "key"))
        return [f"{kind}#{key}" for kind, key in frame.iter_rows()]

    def _pool(self, text: str, k: int, type: str, nodes: Sequence[str] = ()) -> tuple[list[str], str]:  # noqa: A002
        """Return given nodes, the answers to a question and the hits, in an order that does not tell which is which.

        Also return the expression that the text was read as with certainty ("": it was not).
        """
        modes = [mode for mode in POOLED if not missing_stores(self._kb.stores, mode)]
        if not modes:
            raise KbError("The KB has neither full text nor vectors", "Run kbkit build KB text")
        reading = self._sure_reading(text)
        answers, count = self._first(self._kb.answers(reading), type) if reading else ([], 0)
        names = {*nodes, *(answers if count <= MOST_TIMES * k else ())}
        for mode in modes:
            hits = self._kb.search(text, k, mode, type=type or None, include_weak=True)
            names |= {f"{kind}#{key}" for kind, key in hits.select("type", "key").iter_rows()}
        pool = sorted(names)
        order = np.random.default_rng(zlib.crc32(text.encode())).permutation(len(pool))
        return [pool[at] for at in order.tolist()], reading

    def _sure_reading(self, text: str) -> str:
        """Return the expression of a question for nodes that is read with certainty; "" for another text."""
        if not self._kb.has("adjacency"):
            return ""
        read = self._kb.ask(text)
        return "" if read.answers is None or not read.is_sure or read.value is not None else read.expression

    def reading(self, query: LabelledQuery) -> LabelReading | None:
        """Return what a query was read as with certainty; None if it was not, or if the KB has changed since."""
        if not query.reading:
            return None
        try:
            phrase, ids = self._read(query.reading, query.type)
        except KbError:
            return None
        others = ids[~np.isin(ids, [node.id for node in self._nodes(query.pool).values()])]
        return LabelReading(phrase, self._references(others[:MOST_ANSWERS]), len(ids) - len(others), len(ids))

    def asked(self, query: LabelledQuery) -> str:
        """Return the text of a query with its reading in words: what its hits should tell, such as *color*."""
        reading = self.reading(query)
        return f"{query.text} {reading.phrase}" if reading else query.text

    def read_answers(self, query: LabelledQuery) -> set[str]:
        """Return the answers in the pool of what a query was read as with certainty; none as :meth:`reading`."""
        if not self.reading(query):
            return set()
        ids = set(self._read(query.reading, query.type)[1].tolist())
        return {reference for reference, node in self._nodes(query.pool).items() if node.id in ids}

    def _reading_of(self, expression: str, type: str) -> tuple[str, NDArray[np.int32]]:  # noqa: A002
        """Return an expression in words, and its answers of a type."""
        answers = self._kb.answers(expression)
        return in_words(answers, self._kb.stores) or expression, self._of_type(answers, type)

    def pool_node(self, reference: str) -> PoolNode:
        """Return a node with the beginning of its texts. Raises :class:`KbError` for an unknown one."""
        row = self._kb.stores.nodes.row(self._kb.find(reference))
        [text] = self._kb.tables.lookup(_TEXTS, {"ids": [row.id]})["text"].to_list() or [""]
        return PoolNode(f"{row.type}#{row.key}", row.id, row.type, row.key, row.name, text or "")

    def candidates(self, query: LabelledQuery) -> list[PoolNode]:
        """Return the nodes of a query's pool that the KB still has."""
        nodes = self._nodes(query.pool)
        known = [(reference, nodes[reference]) for reference in query.pool if reference in nodes]
        ids = [node.id for _, node in known]
        texts = dict(self._kb.tables.lookup(_TEXTS, {"ids": ids}).iter_rows())
        return [
            PoolNode(name, node.id, node.type, node.key, node.name, texts.get(node.id) or "") for name, node in known
        ]

    def _nodes(self, references: Iterable[str]) -> dict[str, NodeRow]:
        """Return the nodes that the KB has, by reference."""
        keys: dict[str, list[str]] = {}
        for reference in references:
            kind, _, key = reference.partition("#")
            keys.setdefault(kind, []).append(key)
        names = {node_type.name for node_type in self._kb.schema.node_types}
        return {
            f"{node.type}#{node.key}": node
            for kind, own_keys in keys.items()
            if kind in names
            for same_key in self._kb.stores.nodes.by_key(kind, own_keys)
            for node in same_key
        }
