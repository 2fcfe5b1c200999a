"""The attributes of edges in proofs: the values by which the edges of a step meet its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kbkit.answers.algebra import AttributeCondition, DateMeasure, Move, Total
from kbkit.answers.bind import Bindings
from kbkit.answers.edge_filters import edge_condition
from kbkit.answers.prover import Triples
from kbkit.answers.session import Session
from kbkit.schema import quote


class EdgeFact(NamedTuple):
    """A value (None: missing) of an edge's attribute, as a text."""

    head: int
    relation: str
    tail: int
    attribute: str
    value: str | None

    def text(self, names: Mapping[int, str]) -> str:
        """Return the fact about its head: *[order] -> Aspirin: quantity = 3*; ``names`` has the name of the tail."""
        value = "is missing" if self.value is None else f"= {self.value}"
        return f"[{self.relation}] -> {names[self.tail]}: {self.attribute} {value}"


def edge_facts(
    session: Session, bound: Bindings, proofs: Sequence[Iterable[Triples]], total: Total | None = None
) -> list[list[EdgeFact]]:
    """Return for each proof the distinct facts of its edges that meet conditions; one for each edge and attribute.

    The facts of the edges that ``total`` is a value of are its attributes too.
    """
    import polars as pl

    asked = asked_attributes(total)
    ends: dict[tuple[str, tuple[AttributeCondition, ...]], list[pl.DataFrame]] = {}
    for number, triples in enumerate(proofs):
        for relation, heads, tails, conditions in triples:
            if conditions or relation in asked:
                frame = pl.DataFrame({"kb proof": np.full(len(heads), number), "head": heads, "tail": tails})
                ends.setdefault((relation, conditions), []).append(frame)
    facts: list[dict[EdgeFact, None]] = [{} for _ in proofs]
    for (relation, conditions), frames in ends.items():
        tested = [name for condition in conditions for name in condition.attributes]
        names = list(dict.fromkeys([*tested, *asked.get(relation, ())]))
        columns = ", ".join(f"{quote(name)}::VARCHAR" for name in names)
        table = quote(session.schema.relation(relation).table)
        condition = edge_condition(Move(relation, True, "", conditions), bound) or "true"
        sql = (
            f'SELECT "kb proof", head, tail, {columns} FROM {table} JOIN kbkit_batch USING (head, tail)'
            f" WHERE {condition} ORDER BY ALL"
        )
        found = session.stores.tables.lookup(sql, frames={"kbkit_batch": pl.concat(frames).unique()})
        for number, head, tail, *values in found.iter_rows():
            facts[number] |= {EdgeFact(head, relation, tail, n, v): None for n, v in zip(names, values, strict=True)}
    return list(map(list, facts))


def asked_attributes(total: Total | None) -> dict[str, list[str]]:
    """Return the attributes of edges that a value is of, by relation."""
    if total is None or total.edges is None:
        return {}
    measured = [measure.attribute for measure in total.edge_measures]
    dates = (one.dates if isinstance(one, DateMeasure) else (one,) for one in measured)
    return {total.edges.moves[0].relation: [one.name for each in dates for one in each]}
