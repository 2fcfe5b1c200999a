"""All derivations of the answers of an expression: every triple and attribute value that occurs in any of them.

A proof (:mod:`kbkit.answers.why`) shows one shortest way to one answer; both come from :mod:`kbkit.answers.prover`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers.algebra import (
    AttributeCondition,
    AttributeFilter,
    AttributeMeasure,
    Difference,
    Extreme,
    Lookup,
    Measure,
    MeasureFilter,
    Operator,
    PathMeasure,
    Plan,
    SavedNodes,
    Union,
)
from kbkit.answers.bind import Bindings
from kbkit.answers.edge_facts import edge_facts
from kbkit.answers.operator_tree import operators
from kbkit.answers.prover import Evidence, Prover
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import column_sql, condition_sql, constant_sql, free_name, identifier, measure_sql
from kbkit.answers.value_rows import values_of
from kbkit.answers.why import Why, describe
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import distinct

if TYPE_CHECKING:
    import polars as pl


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
    prover = Prover(session, bound, shortest=False)
    prover.check(plan, nodes)
    return _Tables(prover).of(prover.derive(plan.root, nodes), nodes)


def exclusions(plan: Plan, session: Session, bound: Bindings) -> Derivations:
    """Return why each excluded candidate is a candidate, and why it is excluded, for every difference of a plan.

    Together with the derivations of the answers these triples and facts decide the answers: further ones of the KB
    change nothing, because every node that another derivation could add is excluded. Nodes that a difference excludes
    by name need no derivation and are left out.
    """
    prover = Prover(session, bound, shortest=False)
    excluded: list[Ids] = [np.empty(0, np.int32)]
    evidence = Evidence()
    for operator in dict.fromkeys(operators(plan.root)):
        if isinstance(operator, Difference) and not _is_named(operator.right):
            candidates = prover.evaluator.members(operator.left)
            both = candidates[prover.contains(operator.right, candidates)]
            evidence += prover.derive(operator.left, both) + prover.derive(operator.right, both)
            excluded.append(both)
    return _Tables(prover).of(evidence, distinct(np.concatenate(excluded)))


def _is_named(operator: Operator) -> bool:
    """Return whether membership in a set depends on names alone."""
    return all(isinstance(part, (Lookup, SavedNodes, Union)) for part in operators(operator))


def why_all(plan: Plan, session: Session, bound: Bindings, node: int) -> Why:
    """Return the union of all proofs of a node; see :meth:`kbkit.answers.answer_set.AnswerSet.why`."""
    import polars as pl

    proofs = derivations(plan, session, bound, np.array([node], np.int32))
    ids = pl.concat([proofs.triples["head"], proofs.triples["tail"], proofs.facts["node"], proofs.absent["node"]])
    nodes = session.stores.nodes
    known = {n: row.name for n, row in nodes.rows(sorted({node, *ids.to_list()})).items()}
    names = pl.DataFrame({"id": list(known), "name": list(known.values())}, {"id": pl.Int32, "name": pl.String})
    triples = (
        proofs.triples.join(names.rename({"id": "head", "name": "head_name"}), on="head", maintain_order="left")
        .join(names.rename({"id": "tail", "name": "tail_name"}), on="tail", maintain_order="left")
        .select("head", "head_name", "relation", "tail", "tail_name")
    )
    facts = [
        text if n == node else f"{known[n]}: {text}" for n, text in proofs.facts.select("node", "text").iter_rows()
    ]
    absent = [text if n == node else f"{text}: {known[n]}" for n, text in proofs.absent.iter_rows()]
    return Why(node, known[node], triples, tuple(facts), tuple(absent))


class _Tables:
    """Turns evidence into tables; values and counts are read from the KB."""

    def __init__(self, prover: Prover) -> None:
        self.session, self.bound, self.evaluator = prover.session, prover.bound, prover.evaluator

    def of(self, evidence: Evidence, nodes: Ids) -> Derivations:
        """Return the derivations of ``nodes`` without duplicates."""
        import polars as pl

        triples = [
            pl.DataFrame({"head": heads, "tail": tails}).select("head", pl.lit(relation).alias("relation"), "tail")
            for relation, heads, tails, _ in evidence.triples
        ]
        facts = [self._of_edges(evidence)]
        absent: list[pl.DataFrame] = []
        for operator, noted, is_absent in evidence.notes:
            if is_absent:
                absent.append(_noted(noted, text=describe(operator, self.bound)))
            else:
                facts += self._facts(operator, noted)
        triple = {"head": pl.Int32, "relation": pl.String, "tail": pl.Int32}
        tables = (
            pl.concat([pl.DataFrame(schema=schema), *frames]).unique(maintain_order=True)
            for frames, schema in (
                (triples, triple),
                (facts, _fact_schema()),
                (absent, {"node": pl.Int32, "text": pl.String}),
            )
        )
        return Derivations(nodes, *tables)

    def _of_edges(self, evidence: Evidence) -> pl.DataFrame:
        """Return the values of edges that a step requires, as facts of their heads."""
        import polars as pl

        [facts] = edge_facts(self.session, self.bound, [evidence.triples])
        names = {n: row.name for n, row in self.session.stores.nodes.rows(sorted({f.tail for f in facts})).items()}
        rows = [(fact.head, fact.attribute, fact.value, fact.text(names)) for fact in facts]
        return pl.DataFrame(rows, schema=_fact_schema(), orient="row")

    def _facts(self, operator: Operator, nodes: Ids) -> list[pl.DataFrame]:
        """Return the values of nodes that an operator requires."""
        match operator:
            case AttributeFilter():
                conditions = [
                    side for test in operator.conditions for side in (test, *([test.swapped] if test.other else []))
                ]
                return [self._values(operator, condition, nodes) for condition in conditions]
            case MeasureFilter():
                measures = [
                    m for m in (operator.measure, operator.other) if isinstance(m, (AttributeMeasure, PathMeasure))
                ]
                return [self._measured(operator.type, measure, nodes) for measure in measures]
            case Extreme():
                op = "max" if operator.greatest else "min"
                return [self._measured(operator.type, operator.measure, nodes, op)]
            case SavedNodes():
                return [_noted(nodes, attribute=None, value=None, text=f"in @{operator.name}")]
        raise AssertionError(operator)

    def _measured(self, node_type: str | None, measure: Measure, wanted: Ids, op: str = "") -> pl.DataFrame:
        """Return the value of a measure of each node; with ``op``, max or min, one element of a list."""
        import polars as pl

        if isinstance(measure, AttributeMeasure):
            value = measure_sql(measure, op)[0] if op else column_sql(measure)
            return _fact(self._lookup(node_type, value, wanted), measure.name)
        found = values_of(self.session, node_type, measure, self.evaluator.measured(measure, wanted))
        return _fact(pl.DataFrame({"node": wanted, "value": found["text"]}), measure.text)

    def _values(self, operator: AttributeFilter, condition: AttributeCondition, wanted: Ids) -> pl.DataFrame:
        """Return the values that meet a condition: of a list, the elements that do."""
        constants = [constant_sql(self.bound[name], condition.sql_type) for name in condition.parameters]
        column = identifier(condition.attribute)
        if condition.sql_type.endswith("[]"):
            negated = condition.op == "missing" or condition.negated
            element_type = condition.sql_type.removesuffix("[]")
            item = "item" if condition.other is None else free_name("item", condition.other)
            element = replace(condition, attribute=item, sql_type=element_type, negated=negated)
            met = f"list_filter({column}, lambda {item}: {condition_sql(element, constants)})"
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


def _fact_schema() -> dict[str, type[pl.DataType]]:
    import polars as pl

    return {"node": pl.Int32, "attribute": pl.String, "value": pl.String, "text": pl.String}


def _noted(nodes: Ids, **columns: str | None) -> pl.DataFrame:
    """Return a row with the same values for each node."""
    import polars as pl

    values = [pl.lit(value, pl.String).alias(name) for name, value in columns.items()]
    return pl.DataFrame({"node": nodes}).select("node", *values)


def _fact(values: pl.DataFrame, attribute: str) -> pl.DataFrame:
    """Return values (node, value) as facts of an attribute."""
    import polars as pl

    value = pl.col("value")
    text = pl.when(value.is_null()).then(pl.lit(f"{attribute} is missing")).otherwise(pl.lit(f"{attribute} = ") + value)
    return values.select(
        pl.col("node").cast(pl.Int32), pl.lit(attribute).alias("attribute"), "value", text.alias("text")
    )
