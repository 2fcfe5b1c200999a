"""All derivations of the answers of an expression: every triple and attribute value that occurs in any of them.

A proof (:mod:`kbkit.answers.why`) shows one shortest way to one answer. The derivations of a set of nodes are computed
for all of them at once: from the last step backward, each operator passes the nodes that it needs to its inputs. For a
closure they are all edges on any walk from the source to the wanted nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import (
    AttributeMeasure,
    Condition,
    CountFilter,
    Difference,
    Filter,
    Hop,
    Intersection,
    Lookup,
    Move,
    Operator,
    Plan,
    SavedSet,
    Superlative,
    Union,
    operators,
)
from kbkit.answers.bind import Bindings
from kbkit.answers.evaluate import SMALL, SingleEvaluator
from kbkit.answers.pairs import closure, ids_of, pack
from kbkit.answers.session import Session
from kbkit.answers.to_sql import condition_sql, constant_sql, identifier, measure_sql
from kbkit.answers.why import Why, describe
from kbkit.errors import KbError
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask, distinct, is_in

if TYPE_CHECKING:
    import polars as pl

Edges = tuple[Ids, Ids]
"""Nodes before and after a step, of the same length."""


@dataclass(frozen=True)
class Derivations:
    """The union of all derivations of ``nodes``.

    ``triples`` (head, relation, tail) are distinct, those of the first step first. ``facts`` (node, attribute, value,
    text) are attribute values that meet a condition, or counts; ``value`` is a text, NULL if it is missing, and an
    element of a list is a row of its own. ``absent`` (node, text) are expressions of sets that a node is not in.
    """

    nodes: Ids
    triples: pl.DataFrame
    facts: pl.DataFrame
    absent: pl.DataFrame


def derivations(plan: Plan, session: Session, bound: Bindings, nodes: Ids) -> Derivations:
    """Return all derivations of ``nodes``, sorted ids; raise :class:`KbError` if one is not an answer of the plan."""
    collector = _Collector(session, bound, SingleEvaluator(session, bound))
    is_answer = collector.evaluator.contains(plan.root, nodes)
    for node in nodes[~is_answer][:1].tolist():
        row = session.stores.nodes.rows([node])[node]
        raise KbError(f"{row.name} ({row.reference}) is not an answer of {' '.join(plan.text.split())}")
    collector.collect(plan.root, nodes)
    return collector.found(nodes)


def exclusions(plan: Plan, session: Session, bound: Bindings) -> Derivations:
    """Return why each excluded candidate is a candidate, and why it is excluded, for every difference of a plan.

    Together with the derivations of the answers these triples and facts decide the answers: further ones of the KB
    change nothing, because every node that another derivation could add is excluded. Nodes that a difference excludes
    by name need no derivation and are left out.
    """
    collector = _Collector(session, bound, SingleEvaluator(session, bound))
    excluded: list[Ids] = [np.empty(0, np.int32)]
    for operator in dict.fromkeys(operators(plan.root)):
        if isinstance(operator, Difference) and not _is_named(operator.right):
            candidates = collector.evaluator.members(operator.left)
            both = candidates[collector.contains(operator.right, candidates)]
            collector.collect(operator.left, both)
            collector.collect(operator.right, both)
            excluded.append(both)
    return collector.found(distinct(np.concatenate(excluded)))


def _is_named(operator: Operator) -> bool:
    """Return whether membership in a set depends on names alone."""
    return all(isinstance(part, (Lookup, SavedSet, Union)) for part in operators(operator))


def why_all(plan: Plan, session: Session, bound: Bindings, node: int) -> Why:
    """Return the union of all proofs of a node; see :meth:`kbkit.answers.answer_set.AnswerSet.why`."""
    import polars as pl

    found = derivations(plan, session, bound, np.array([node], np.int32))
    ids = pl.concat([found.triples["head"], found.triples["tail"], found.facts["node"], found.absent["node"]])
    nodes = session.stores.nodes
    known = {n: row.name for n, row in nodes.rows(sorted({node, *ids.to_list()})).items()}
    names = pl.DataFrame({"id": list(known), "name": list(known.values())}, {"id": pl.Int32, "name": pl.String})
    triples = (
        found.triples.join(names.rename({"id": "head", "name": "head_name"}), on="head", maintain_order="left")
        .join(names.rename({"id": "tail", "name": "tail_name"}), on="tail", maintain_order="left")
        .select("head", "head_name", "relation", "tail", "tail_name")
    )
    facts = [text if n == node else f"{known[n]}: {text}" for n, text in found.facts.select("node", "text").iter_rows()]
    absent = [text if n == node else f"{text}: {known[n]}" for n, text in found.absent.iter_rows()]
    return Why(node, known[node], triples, tuple(facts), tuple(absent))


@dataclass
class _Collector:
    """Collects triples, facts and absences, in the order of the steps."""

    session: Session
    bound: Bindings
    evaluator: SingleEvaluator
    triples: list[pl.DataFrame] = field(default_factory=list)
    facts: list[pl.DataFrame] = field(default_factory=list)
    absent: list[pl.DataFrame] = field(default_factory=list)

    def found(self, nodes: Ids) -> Derivations:
        """Return what was collected, without duplicates."""
        import polars as pl

        triple = {"head": pl.Int32, "relation": pl.String, "tail": pl.Int32}
        fact = {"node": pl.Int32, "attribute": pl.String, "value": pl.String, "text": pl.String}
        tables = (
            pl.concat([pl.DataFrame(schema=schema), *frames]).unique(maintain_order=True)
            for frames, schema in (
                (self.triples, triple),
                (self.facts, fact),
                (self.absent, {"node": pl.Int32, "text": pl.String}),
            )
        )
        return Derivations(nodes, *tables)

    def contains(self, operator: Operator, ids: Ids) -> Mask:
        """Return a mask of the ids, in any order, that are in the operator's set."""
        members, position = np.unique(ids, return_inverse=True)
        mask: Mask = self.evaluator.contains(operator, members)[position]
        return mask

    def collect(self, operator: Operator, wanted: Ids) -> None:
        """Collect the derivations of ``wanted``, sorted members of the operator's set."""
        if not len(wanted):
            return
        match operator:
            case Hop():
                self._hop(operator, wanted)
            case Intersection():
                for part in operator.parts:
                    self.collect(part, wanted)
            case Union():
                for part in operator.parts:
                    self.collect(part, wanted[self.contains(part, wanted)])
            case Difference():
                self.collect(operator.left, wanted)
                self._note(self.absent, wanted, text=describe(operator.right, self.bound))
            case Filter():
                self.collect(operator.source, wanted)
                for condition in operator.conditions:
                    self.facts.append(self._values(operator, condition, wanted))
            case CountFilter():
                self.collect(operator.source, wanted)
                self._counted(operator.count.text, self.evaluator.count(operator.count, wanted), wanted)
            case Superlative():
                self.collect(operator.source, wanted)
                self._best(operator, wanted)
            case SavedSet():
                self._note(self.facts, wanted, attribute=None, value=None, text=f"in @{operator.name}")

    # -- steps --------------------------------------------------------------------------------------------------------

    def _hop(self, hop: Hop, wanted: Ids) -> None:
        steps: list[tuple[Move, Edges]] = []
        starts: list[Ids] = []
        for move in hop.moves:
            edges, sources = (self._walks if move.closure else self._edges)(hop, move, wanted)
            steps.append((move, edges))
            starts.append(sources)
        self.collect(hop.source, distinct(np.concatenate(starts)))
        for move, (before, after) in steps:
            self._add(move, before, after)

    def _add(self, move: Move, before: Ids, after: Ids) -> None:
        import polars as pl

        head, tail = (before, after) if move.forward else (after, before)
        frame = pl.DataFrame({"head": head, "tail": tail})
        self.triples.append(frame.select("head", pl.lit(move.relation).alias("relation"), "tail"))

    def _edges(self, hop: Hop, move: Move, wanted: Ids) -> tuple[Edges, Ids]:
        """Return the edges of a move from the source to the wanted nodes, and their starts.

        The edges are those of the wanted nodes, or of the source if it has fewer.
        """
        back = self.session.move(move.relation, not move.forward)
        start, count = back.ranges(wanted)
        many = int(count.sum())
        if many > SMALL and self.evaluator.cost(hop) < many:
            source = self.evaluator.members(hop.source)
            before, after = _expanded(self.session.move(move.relation, move.forward), source)
            keep = is_in(after, wanted)
        else:
            before, after = back.expand(start, count), np.repeat(wanted, count)
            keep = self.contains(hop.source, before)
        before, after = before[keep], after[keep]
        return (before, after), distinct(before)

    def _walks(self, hop: Hop, move: Move, wanted: Ids) -> tuple[Edges, Ids]:
        """Return the edges on all walks of a repeated move from the source to the wanted nodes, and their starts."""
        back = self.session.move(move.relation, not move.forward)
        reaching = np.sort(ids_of(closure(back, pack(np.zeros(len(wanted), np.int64), wanted), zero=True)))
        after, before = _expanded(back, reaching)
        sources = distinct(before)
        sources = sources[self.evaluator.contains(hop.source, sources)]
        reached = np.zeros(self.session.schema.nodes, bool)
        reached[sources] = True
        count = 0
        while count != (count := int(reached.sum())):  # one round per step of the longest walk
            reached[after[reached[before]]] = True
        keep = reached[before]
        if move.closure == "*":
            sources = distinct(np.concatenate((sources, wanted[self.evaluator.contains(hop.source, wanted)])))
        return (before[keep], after[keep]), sources

    # -- values -------------------------------------------------------------------------------------------------------

    def _note(self, notes: list[pl.DataFrame], nodes: Ids, **columns: str | None) -> None:
        """Add a row with the same values for each node."""
        import polars as pl

        values = [pl.lit(value, pl.String).alias(name) for name, value in columns.items()]
        notes.append(pl.DataFrame({"node": nodes}).select("node", *values))

    def _counted(self, name: str, counts: NDArray[np.int64], wanted: Ids) -> None:
        import polars as pl

        frame = pl.DataFrame({"node": wanted, "value": counts}).with_columns(pl.col("value").cast(pl.String))
        self.facts.append(_fact(frame, name))

    def _best(self, operator: Superlative, wanted: Ids) -> None:
        measure = operator.measure
        if isinstance(measure, AttributeMeasure):
            value, _ = measure_sql(measure, "max" if operator.greatest else "min")
            self.facts.append(_fact(self._lookup(operator.type, value, wanted), measure.name))
        else:
            self._counted(measure.text, self.evaluator.count(measure, wanted), wanted)

    def _values(self, operator: Filter, condition: Condition, wanted: Ids) -> pl.DataFrame:
        """Return the values that meet a condition: of a list, the elements that do."""
        constants = [constant_sql(self.bound[name], condition.sql_type) for name in condition.parameters]
        column = identifier(condition.attribute)
        if condition.sql_type.endswith("[]"):
            element = replace(condition, attribute="item", sql_type=condition.sql_type.removesuffix("[]"), negated=True)
            met = f"list_filter({column}, lambda item: {condition_sql(element, constants)})"
            column = f"unnest(CASE WHEN len({met}) > 0 THEN {met} ELSE [NULL] END)"
        return _fact(self._lookup(operator.type, column, wanted), condition.attribute)

    def _lookup(self, node_type: str | None, value: str, wanted: Ids) -> pl.DataFrame:
        """Return the rows (node, value) of an SQL expression, by node."""
        import polars as pl

        sql = (
            f"SELECT id AS node, {value} AS value FROM {self.session.table(node_type)}"
            " WHERE id IN (SELECT member FROM kbkit_batch)"
        )
        text = f"SELECT node::INTEGER AS node, value::VARCHAR AS value FROM ({sql}) ORDER BY ALL"
        return self.session.stores.tables.lookup(text, frames={"kbkit_batch": pl.DataFrame({"member": wanted})})


def _fact(values: pl.DataFrame, attribute: str) -> pl.DataFrame:
    """Return values (node, value) as facts of an attribute."""
    import polars as pl

    value = pl.col("value")
    text = pl.when(value.is_null()).then(pl.lit(f"{attribute} is missing")).otherwise(pl.lit(f"{attribute} = ") + value)
    return values.select(
        pl.col("node").cast(pl.Int32), pl.lit(attribute).alias("attribute"), "value", text.alias("text")
    )


def _expanded(csr: Csr, nodes: Ids) -> Edges:
    """Return the nodes, repeated, with each of their neighbours."""
    start, count = csr.ranges(nodes)
    return np.repeat(nodes, count), csr.expand(start, count)
