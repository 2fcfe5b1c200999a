"""The part of a KB around some nodes, as triples, values of attributes and texts: the noise of an instance.

Nodes with very many edges give a part of them, and large rings a part of their nodes, so that the neighbourhood of one
node does not crowd out those of the others; which part depends on the generator alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from kbkit.answers.sql_parts import identifier
from kbkit.benchmarks.predicates import technical
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, NodeType, Relation, literal
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import distinct, expand_ranges, is_in

TRIPLES = {"head": pl.Int32, "relation": pl.String, "tail": pl.Int32}
VALUES = {"node": pl.Int32, "attribute": pl.String, "value": pl.String}
_PER_NODE = (40, 8, 4, 4)
"""Edges of a node in each relation and direction, by the distance from the start."""
_RING = 400
"""Nodes of a ring from which edges are followed."""
_MAX_ATTRIBUTES = 40


class Subgraphs:
    """Neighbourhoods in a KB, with what they need to know of it."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._firsts = np.array([t.first for t in kb.schema.node_types if t.count], np.int64)
        self._types: list[NodeType] = [t for t in kb.schema.node_types if t.count]
        self._known = pl.DataFrame(schema=VALUES)
        self._is_read = np.zeros(kb.schema.nodes, bool)
        self.two_way = two_way(kb)
        self._relations = [relation for relation in kb.schema.relations if not technical(relation)]

    def once(self, triples: pl.DataFrame) -> pl.DataFrame:
        """Return triples without duplicates; those of two-way relations have the lower id first."""
        swap = pl.col("relation").is_in(list(self.two_way)) & (pl.col("head") > pl.col("tail"))
        head = pl.when(swap).then("tail").otherwise("head")
        tail = pl.when(swap).then("head").otherwise("tail")
        return triples.select(head.alias("head"), "relation", tail.alias("tail")).unique(maintain_order=True)

    def around(self, nodes: Ids, hops: int, limit: int, rng: np.random.Generator) -> pl.DataFrame:
        """Return about ``limit`` triples of the subgraph of up to ``hops`` steps from ``nodes``, nearest first."""
        triples = [pl.DataFrame(schema=TRIPLES)]
        frontier = seen = distinct(nodes)
        count = 0
        for distance in range(hops):
            ring = self._ring(frontier, _PER_NODE[min(distance, len(_PER_NODE) - 1)], rng)
            triples.append(ring[rng.permutation(ring.height)])
            count += ring.height
            ends = distinct(np.concatenate((ring["head"].to_numpy(), ring["tail"].to_numpy())))
            frontier = ends[~is_in(ends, seen)]
            if count >= limit or not len(frontier):
                break
            seen = distinct(np.concatenate((seen, frontier)))
            if len(frontier) > _RING:
                frontier = np.sort(rng.choice(frontier, _RING, replace=False))
        return self.once(pl.concat(triples))

    def _ring(self, nodes: Ids, most: int, rng: np.random.Generator) -> pl.DataFrame:
        """Return the triples of nodes, at most ``most`` per node, relation and direction."""
        present = {self._types[at].name for at in self._type_numbers(nodes)}
        triples = [pl.DataFrame(schema=TRIPLES)]
        for relation in self._relations:
            for forward in (True, False):
                if (not forward and relation.name in self.two_way) or present.isdisjoint(
                    s.head if forward else s.tail for s in relation.signatures
                ):
                    continue
                near, far = _some(self._kb.session.move(relation.name, forward), nodes, most, rng)
                head, tail = (near, far) if forward else (far, near)
                frame = pl.DataFrame({"head": head, "tail": tail}, {"head": pl.Int32, "tail": pl.Int32})
                triples.append(frame.select("head", pl.lit(relation.name).alias("relation"), "tail"))
        return pl.concat(triples)

    def _type_numbers(self, nodes: Ids) -> list[int]:
        """Return the positions of the primary types of nodes."""
        numbers = np.searchsorted(self._firsts, nodes, side="right") - 1
        return [int(number) for number in np.unique(numbers)]

    def with_attributes(self, triples: pl.DataFrame) -> pl.DataFrame:
        """Return triples with a column ``attributes``: ``{since: 1945}``, or "" for an edge without attributes.

        Parallel edges that differ in their attributes give a row each. Identifiers and lists are left
        out.
        """
        parts = []
        triples = triples.with_row_index("place")
        for (name,), group in triples.group_by("relation", maintain_order=True):
            relation = self._kb.schema.relation(str(name))
            shown = [
                attribute
                for attribute in relation.attributes
                if not technical(attribute) and not attribute.type.endswith("[]")
            ]
            parts.append(
                self._attributes(relation, shown, group) if shown else group.with_columns(attributes=pl.lit(""))
            )
        if not parts:
            return triples.with_columns(attributes=pl.lit("")).drop("place")
        return pl.concat(parts).sort("place", maintain_order=True).drop("place")

    def _attributes(self, relation: Relation, shown: Sequence[Attribute], triples: pl.DataFrame) -> pl.DataFrame:
        fields = ", ".join(
            f"{literal(_words(attribute) + ': ')} || {_plain(as_text(identifier(attribute.name), attribute.type))}"
            for attribute in shown
        )
        sql = f"""
            SELECT DISTINCT head, tail,
                   array_to_string(list_filter([{fields}], lambda x: x IS NOT NULL), ', ') AS attributes
            FROM {identifier(relation.table)} SEMI JOIN kbkit_wanted USING (head, tail) ORDER BY ALL"""
        attributes = self._kb.tables.lookup(sql, frames={"kbkit_wanted": triples.select("head", "tail")})
        attributes = attributes.cast({"head": pl.Int32, "tail": pl.Int32})
        joined = triples.join(attributes, on=["head", "tail"], how="left", maintain_order="left_right")
        text = pl.col("attributes").fill_null("")
        shown_text = pl.concat_str(pl.lit(" {"), text, pl.lit("}"))
        return joined.with_columns(attributes=pl.when(text == "").then(text).otherwise(shown_text))

    # -- values and texts ---------------------------------------------------------------------------------------------

    def values(self, nodes: Ids) -> pl.DataFrame:
        """Return the values of the attributes of nodes as texts, in the order of ``nodes``; a row for each element."""
        unknown = np.sort(nodes[~self._is_read[nodes]])
        if len(unknown):  # nodes are shared by many instances, so they are read once
            self._is_read[unknown] = True
            self._known = pl.concat([self._known, *self._read(unknown)])
        places = pl.DataFrame({"node": nodes}, {"node": pl.Int32}).with_row_index("place")
        placed = self._known.join(places, on="node")
        return placed.sort("place", "attribute", "value").select(*VALUES)

    def _read(self, nodes: Ids) -> list[pl.DataFrame]:
        """Read the values of sorted nodes, by type."""
        numbers = np.searchsorted(self._firsts, nodes, side="right") - 1
        kinds = [(self._types[at], nodes[numbers == at]) for at in np.unique(numbers).tolist()]
        return [self._read_type(kind, members) for kind, members in kinds if kind.attributes]

    def _read_type(self, kind: NodeType, nodes: Ids) -> pl.DataFrame:
        shown = [a for a in kind.attributes if not technical(a)][:_MAX_ATTRIBUTES]
        if not shown:
            return pl.DataFrame(schema=VALUES)
        parts = " UNION ALL ".join(
            f"SELECT id, {literal(a.name)} AS attribute, {_text(a)} AS value FROM kbkit_rows" for a in shown
        )
        sql = f"""
            WITH kbkit_rows AS (SELECT * FROM {identifier(kind.table)} WHERE id IN (SELECT node FROM kbkit_wanted))
            SELECT DISTINCT id AS node, attribute, value FROM ({parts}) WHERE trim(value) <> '' ORDER BY ALL"""
        rows = self._kb.tables.lookup(sql, frames={"kbkit_wanted": pl.DataFrame({"node": nodes})})
        return rows.cast(VALUES)  # type: ignore[arg-type]


def two_way(kb: KnowledgeBase) -> frozenset[str]:
    """Return the relations that hold in both directions wherever they do; each pair of theirs is one triple."""

    def is_two_way(relation: str) -> bool:
        forward, backward = (kb.session.move(relation, way) for way in (True, False))
        same = len(forward.offsets) == len(backward.offsets) and np.array_equal(forward.targets, backward.targets)
        return same and np.array_equal(forward.offsets, backward.offsets) and forward.first == backward.first

    return frozenset(r.name for r in kb.schema.relations if r.symmetric or is_two_way(r.name))


def as_text(value: str, sql_type: str) -> str:
    """Return the SQL of a value as units show it: numbers without a fraction of 0."""
    text = f"({value})::VARCHAR"
    return f"regexp_replace({text}, '\\.0$', '')" if sql_type in ("DOUBLE", "FLOAT") else text


def _words(attribute: Attribute) -> str:
    """Return the name of an attribute of edges as triples show it: with spaces, and its unit as in the name."""
    return (attribute.label or attribute.name).replace("_", " ")


def _plain(value: str) -> str:
    """Return the SQL of a text within braces: as JSON if it has marks that would end it."""
    return f"CASE WHEN regexp_matches({value}, '[,:{{}}\"]') THEN to_json({value})::VARCHAR ELSE {value} END"


def _text(attribute: Attribute) -> str:
    column, kind = identifier(attribute.name), attribute.type.removesuffix("[]")
    return as_text(f"unnest({column})" if kind != attribute.type else column, kind)


def _some(csr: Csr, nodes: Ids, most: int, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """Return (nodes, neighbours), at most ``most`` neighbours per node, sampled evenly."""
    start, count = csr.ranges(nodes)
    taken = np.minimum(count, most)
    first = (rng.random(len(nodes)) * count).astype(np.int64)
    near, first, count, parts = (np.repeat(values, taken) for values in (nodes, first, count, taken))
    number = expand_ranges(np.zeros(len(nodes), np.int64), taken)
    spread = (first + number * count // np.maximum(parts, 1)) % np.maximum(count, 1)
    return near, csr.targets[np.repeat(start, taken) + spread]
