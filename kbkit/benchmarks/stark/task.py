"""The task of a dataset: its questions, the searched nodes, and how runs and answers name nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from kbkit.benchmarks.stark.dataset import KEY, NUMBER, REFERENCE, are_references
from kbkit.benchmarks.stark.numbers import Numbers, ids
from kbkit.errors import KbError, Option
from kbkit.measures.frames import RUN, Gold

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

Ids = np.ndarray[tuple[int], np.dtype[np.int32]]


@dataclass(frozen=True)
class StarkTask:
    """Questions with their answers, and the nodes that are searched.

    ``names``: how answers are named: by ``number``, ``key`` or ``reference`` (``type#key``). ``within``: ids of the
    searched nodes, the candidates, all of the ``types``. ``answers``: number of answers of all questions; ``unknown``:
    how many of them are not searched. ``guessed``: the types were derived from the answers. ``numbers`` are those of a
    dataset that was made from a KB with other numbers.
    """

    gold: Gold
    types: tuple[str, ...]
    within: Ids
    answers: int
    unknown: int
    guessed: bool = False
    names: str = KEY
    numbers: Numbers | None = None

    @property
    def texts(self) -> list[str]:
        """The texts of the questions, in order."""
        return self.gold.queries["text"].to_list()

    def remarks(self) -> list[str]:
        """Return remarks on the scores."""
        kinds = " or ".join(self.types)
        one = len(self.types) == 1
        searched = f"type {kinds}, the type" if one else f"the types {', '.join(self.types)}, those"
        missing = f"{self.unknown:,} of {self.answers:,} answers are not a {kinds} of the KB and are left out"
        changed = (
            "The KB numbers its nodes differently than the one that the dataset was made from: answers are found by"
            " type and key, and runs name other nodes type#key"
        )
        return [
            *([f"Searched {len(self.within):,} nodes of {searched} of the answers"] if self.guessed else []),
            *([missing] if self.unknown else []),
            *([changed] if self.numbers is not None else []),
        ]

    def run(self, hits: pl.DataFrame) -> pl.DataFrame:
        """Return hits (query, id, key, type, score) as a run that names nodes as the answers are named.

        Raises :class:`KbError` if a key stands for two hits of a question.
        """
        if self.names == KEY:
            _check_keys(hits)
        named = hits.with_columns(self.named(hits).alias("node"))
        return named.select(*RUN).cast(RUN)

    def named(self, nodes: pl.DataFrame) -> pl.Series:
        """Return the names of nodes with the columns id, key and type."""
        if self.names == NUMBER and self.numbers is None:
            return nodes["id"].cast(pl.String)
        if self.names == KEY:
            return nodes["key"]
        reference = pl.format("{}#{}", "type", "key").alias("reference")
        if self.numbers is None:
            return nodes.select(reference).to_series()
        known = nodes.select("type", "key", reference).join(
            self.numbers.known, on=["type", "key"], how="left", maintain_order="left"
        )
        return known.select(pl.coalesce("node", "reference")).to_series()

    def candidates(self, kb: KnowledgeBase) -> pl.Series:
        """Return the names of the searched nodes."""
        wanted = pl.DataFrame({"id": self.within}, schema={"id": pl.Int32})
        sql = "SELECT n.id, n.key, n.type::VARCHAR AS type FROM nodes n SEMI JOIN kbkit_within w USING (id)"
        return self.named(kb.tables.lookup(sql, frames={"kbkit_within": wanted}))


def _check_keys(hits: pl.DataFrame) -> None:
    duplicates = hits.filter(pl.struct("query", "key").is_duplicated()).select("query", "key", "type")
    for query, key, _ in duplicates.head(1).iter_rows():
        kinds = " and ".join(duplicates.filter((pl.col("query") == query) & (pl.col("key") == key))["type"])
        raise KbError(
            f"Nodes of the types {kinds} have the same key {key!r}", "Use ", Option("type"), " to search one of them"
        )


def task(kb: KnowledgeBase, gold: Gold, types: Sequence[str] = (), numbers: Numbers | None = None) -> StarkTask:
    """Return the task of finding nodes of ``types`` in ``kb``; ``numbers`` are those of the dataset.

    The default types are the answer types of the source's own questions, or else those of the answers. Raises
    :class:`KbError` if no answer is such a node, or if a number cannot be resolved.
    """
    relevant = gold.relevant
    answers = relevant["node"].unique()
    if numbers is not None:
        numbers.check(kb, answers)
        names, numbers = NUMBER, None if numbers.fit(kb) else numbers
    else:
        names = REFERENCE if are_references(kb, answers) else KEY
    known = _known(kb, answers, names, numbers)
    chosen = tuple(kb.schema.type(name).name for name in types or kb.schema.candidate_types) or _types(known)
    members = [kb.session.members(name) for name in chosen]
    within = np.unique(np.concatenate(members)) if members else np.empty(0, np.int32)
    candidates = known.filter(pl.Series(np.isin(known["id"].to_numpy(), within)))
    unknown = relevant.join(candidates, left_on="node", right_on="key", how="anti").height
    if relevant.height and unknown == relevant.height:
        kinds = f" {' or '.join(chosen)}" if chosen else " node"
        message = f"None of the {relevant.height:,} answers is the {'number' if names == NUMBER else 'key'} of a{kinds}"
        raise KbError(f"{message} in {kb.directory.path}", "Use the KB that the dataset belongs to")
    guessed = not (types or kb.schema.candidate_types)
    return StarkTask(gold, chosen, within, relevant.height, unknown, guessed, names, numbers)


def nodes_of(kb: KnowledgeBase, task: StarkTask, names: pl.Series) -> dict[str, int]:
    """Return the ids of the searched nodes with these names, as answers and runs name nodes."""
    known = _known(kb, names, task.names, task.numbers).filter(pl.col("id").is_in(task.within.tolist()))
    return dict(known.select("key", "id").iter_rows())


def answer_nodes(kb: KnowledgeBase, task: StarkTask) -> pl.DataFrame:
    """Return query, node (the name of the answer), id of all answers; the id is null for one that is not searched."""
    relevant = task.gold.relevant.select("query", "node")
    known = _known(kb, relevant["node"].unique(), task.names, task.numbers).select("id", node="key")
    searched = known.filter(pl.col("id").is_in(task.within.tolist())).unique("node", keep="first", maintain_order=True)
    return relevant.join(searched, on="node", how="left", maintain_order="left")


def _known(kb: KnowledgeBase, answers: pl.Series, names: str, numbers: Numbers | None) -> pl.DataFrame:
    """Return the answers that are nodes: id, key (the name of the answer) and type."""
    if numbers is not None:
        frame = ids(kb, numbers.known.filter(pl.col("node").is_in(answers.implode())))
        return frame.select("id", "type", key="node")
    name = {NUMBER: "id::VARCHAR", REFERENCE: "type || '#' || key"}.get(names, "key")
    sql = f"SELECT id, {name} AS key, type::VARCHAR AS type FROM nodes WHERE {name} IN (SELECT unnest($names))"
    return kb.tables.lookup(sql, {"names": answers.to_list()})


def _types(known: pl.DataFrame) -> tuple[str, ...]:
    """Return few types that cover all keys, those with most keys first: nodes of two types may have the same key."""
    chosen = []
    while known.height:
        best = known.group_by("type").agg(pl.col("key").n_unique()).sort("key", "type", descending=[True, False])
        chosen.append(best["type"][0])
        known = known.join(known.filter(pl.col("type") == chosen[-1]), on="key", how="anti")
    return tuple(chosen)
