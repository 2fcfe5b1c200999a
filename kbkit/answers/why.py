"""A shortest proof of an answer, worded: triples, attribute values, and the sets that the node is not in."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers.algebra import (
    AllNodes,
    AttributeCondition,
    AttributeFilter,
    AttributeMeasure,
    DateMeasure,
    Difference,
    Extreme,
    GroupKey,
    Hop,
    Intersection,
    Lookup,
    Measure,
    MeasureFilter,
    Move,
    Operator,
    PathMeasure,
    Plan,
    ReachedAttribute,
    SavedNodes,
    Union,
    ValueOf,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.date_functions import NUMBER_FUNCTIONS
from kbkit.answers.edge_facts import EdgeFact, edge_facts
from kbkit.answers.evaluate import SingleEvaluator
from kbkit.answers.prover import Evidence, Note, Prover
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import column_sql, measure_sql
from kbkit.answers.syntax import Edge, identifier, quoted
from kbkit.answers.value_rows import values_of
from kbkit.schema import quote
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import distinct

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Why:
    """A proof. ``triples`` has head, head_name, relation, tail, tail_name, as stored in the KB; ``facts`` are attribute
    values that met a filter; ``absent`` are the expressions of sets without the node.
    """

    node: int
    name: str
    triples: pl.DataFrame
    facts: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the proof as lines of text, one per step."""
        rows = self.triples.select("head_name", "relation", "tail_name").iter_rows()
        steps = [f"{head} -> [{relation}] -> {tail}" for head, relation, tail in rows]
        return [*steps, *self.facts, *(f"not in {text}" for text in self.absent)]

    def __str__(self) -> str:
        return "\n".join([self.name, *("  " + line for line in self.lines())])


def explain(plan: Plan, session: Session, bound: Bindings, nodes: Sequence[int]) -> list[Why]:
    """Return a proof for each of ``nodes`` that it is an answer of the plan; raise :class:`KbError` if one is not."""
    prover = Prover(session, bound, shortest=True)
    prover.check(plan, np.array(nodes, np.int32))
    proofs = [prover.derive(plan.root, np.array([node], np.int32)) for node in nodes]
    facts = _Facts(session, bound, prover.evaluator)
    facts.read([note for proof in proofs for note in proof.notes])
    involved = {n for proof in proofs for n in _nodes(proof)} | set(nodes)
    names = {node: row.name for node, row in session.stores.nodes.rows(sorted(involved)).items()}
    triples = _triples([row for proof in proofs for row in proof.rows], names)  # one frame: slices of it cost less
    of_edges = edge_facts(session, bound, [proof.triples for proof in proofs], plan.total)
    starts = [0, *itertools.accumulate(len(proof.rows) for proof in proofs)]
    return [
        Why(node, names[node], triples.slice(start, len(proof.rows)), *_worded(node, proof, names, facts, met))
        for node, proof, start, met in zip(nodes, proofs, starts, of_edges, strict=False)
    ]


def _triples(rows: Sequence[tuple[int, str, int]], names: Mapping[int, str]) -> pl.DataFrame:
    """Return triples with the names of their nodes."""
    import polars as pl

    named = [(head, names[head], relation, tail, names[tail]) for head, relation, tail in rows]
    schema = {"head": pl.Int32, "head_name": pl.String, "relation": pl.String, "tail": pl.Int32, "tail_name": pl.String}
    return pl.DataFrame(named, schema=schema, orient="row")


def _nodes(proof: Evidence) -> set[int]:
    """Return the nodes of a proof."""
    ends = {n for head, _, tail in proof.rows for n in (head, tail)}
    return ends.union(*(note.nodes.tolist() for note in proof.notes))


def _worded(
    node: int, proof: Evidence, names: Mapping[int, str], facts: _Facts, of_edges: Sequence[EdgeFact]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the facts of a proof and the sets without a node; nodes other than ``node`` are named."""
    noted = [(n, note) for note in proof.notes for n in note.nodes.tolist()]
    said = dict.fromkeys((n, note.absent, text) for n, note in noted for text in facts.of(note, n))
    values = [*((f.head, f.text(names)) for f in of_edges), *((n, text) for n, absent, text in said if not absent)]
    present = tuple(text if n == node else f"{names[n]}: {text}" for n, text in values)
    missing = tuple(text if n == node else f"{text}: {names[n]}" for n, absent, text in said if absent)
    return present, missing


@dataclass
class _Facts:
    """Words the notes of proofs; values and counts are read once for each operator."""

    session: Session
    bound: Bindings
    evaluator: SingleEvaluator
    texts: dict[tuple[int, int], list[str]] = field(default_factory=dict)

    def of(self, note: Note, node: int) -> list[str]:
        """Return the facts that a note has about a node, after :meth:`read`."""
        return [describe(note.operator, self.bound)] if note.absent else self.texts[id(note.operator), node]

    def read(self, notes: Sequence[Note]) -> None:
        """Read the values and counts of the notes."""
        noted: dict[int, list[Note]] = {}
        for note in notes:
            if not note.absent:
                noted.setdefault(id(note.operator), []).append(note)
        for same in noted.values():
            nodes, operator = distinct(np.concatenate([note.nodes for note in same])), same[0].operator
            for node, texts in zip(nodes.tolist(), self._texts(operator, nodes), strict=True):
                self.texts[id(operator), node] = texts

    def _texts(self, operator: Operator, nodes: Ids) -> list[list[str]]:
        """Return the facts about each of some nodes, sorted by id."""
        match operator:
            case AttributeFilter():
                return self._values(operator, nodes)
            case MeasureFilter():
                return self._compared(operator, nodes)
            case Extreme():
                return self._ranked(operator, nodes)
            case SavedNodes():
                return [[f"in @{operator.name}"]] * len(nodes)
        raise AssertionError(operator)

    def _values(self, operator: AttributeFilter, nodes: Ids) -> list[list[str]]:
        names = list(dict.fromkeys(name for test in operator.conditions for name in test.attributes))
        columns, table = ", ".join(map(quote, names)), self.session.table(operator.type)
        sql = f"SELECT {columns} FROM {table} WHERE id IN (SELECT unnest($ids)) ORDER BY id"
        rows = self.session.stores.tables.rows(sql, {"ids": nodes.tolist()})
        texts = [
            {n: f"{n} is missing" if v is None else f"{n} = {_cell(v)}" for n, v in zip(names, row, strict=True)}
            for row in rows
        ]
        return [
            [f" {test.op} ".join(text[name] for name in test.attributes) for test in operator.conditions]
            for text in texts
        ]

    def _measured(self, node_type: str | None, measure: Measure, nodes: Ids, op: str = "") -> list[str]:
        """Return ``measure = value`` for each of some nodes; with ``op``, max or min, one element of a list."""
        each = self._each(node_type, measure, nodes, op)
        return [f"{measure.text} = {value}{origin}" for value, origin in each]

    def _each(self, node_type: str | None, measure: Measure, nodes: Ids, op: str = "") -> list[tuple[str, str]]:
        """Return the value of a measure for each of some nodes, and what it is of ("" for an attribute)."""
        if isinstance(measure, PathMeasure):
            return self._along_path(measure, nodes)
        columns = [measure_sql(measure, op)[0] if op else column_sql(measure)]
        between = " and " if isinstance(measure, DateMeasure) and measure.op in NUMBER_FUNCTIONS else " to "
        if isinstance(measure, DateMeasure):
            columns += [f"{column_sql(date)}::VARCHAR" for date in measure.dates]
        table = self.session.table(node_type)
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE id IN (SELECT unnest($ids)) ORDER BY id"
        rows = self.session.stores.tables.rows(sql, {"ids": nodes.tolist()})
        return [
            (_cell(value), f" from {between.join(dates)}" if all(dates) and dates else "") for value, *dates in rows
        ]

    def _along_path(self, measure: PathMeasure, nodes: Ids) -> list[tuple[str, str]]:
        """Return the value of a measure for each of some nodes, and of how many nodes it is ("" for their number)."""
        found = values_of(self.session, None, measure, self.evaluator.measured(measure, nodes))
        is_date = measure.sql_type.startswith(("DATE", "TIMESTAMP"))
        values = [_cell(value) for value in found["text" if is_date else "value"]]  # Python has no dates before Christ
        if measure.is_number_of_nodes:
            return [(value, "") for value in values]
        things = "edge" if measure.of_edges else "node"
        return [(value, f" from {_nodes_text(n, things)}") for value, n in zip(values, found["nodes"], strict=True)]

    def _ranked(self, operator: Extreme, nodes: Ids) -> list[list[str]]:
        """Return the values of nodes that are the first of all, or of a group, or among them."""
        op, which = ("max", "greatest") if operator.greatest else ("min", "least")
        if operator.number is None:
            which = f"the {which}"
        else:
            constant = self.bound[operator.number]
            assert isinstance(constant, Constant)
            which = f"among the {constant.text} {which}"
        if operator.per is None:
            members = self.evaluator.members(operator.source)
            measured = self.evaluator.measured(operator.measure, members)
            number = values_of(self.session, operator.type, operator.measure, measured)["position"].n_unique()
            which = f"{which} of {_nodes_text(number)}"
        else:
            which = f"{which} per {group_text(operator.per)}"
        return [[f"{text}, {which}"] for text in self._measured(operator.type, operator.measure, nodes, op)]

    def _compared(self, operator: MeasureFilter, nodes: Ids) -> list[list[str]]:
        """Return the values of nodes with the value that they compare with."""
        from kbkit.answers.totals import value_frame, value_of

        value, mine = operator.other, self._measured(operator.type, operator.measure, nodes)
        if isinstance(value, str):
            return [[text] for text in mine]
        if isinstance(value, (AttributeMeasure, PathMeasure)):
            theirs = [f"{other} = {value.text}{origin}" for other, origin in self._each(operator.type, value, nodes)]
            return [[f"{text} {operator.op} {other}"] for text, other in zip(mine, theirs, strict=True)]
        assert isinstance(value, ValueOf)
        if value.total.op == "values":
            other = f", one of {value.text}" if operator.op == "=" else f", not the only one of {value.text}"
        else:
            plan = Plan(value.root, (), value.text, value.total)
            frame = value_frame(plan, self.session, self.bound, self.evaluator.members(value.root))
            other = f" {operator.op} {_cell(value_of(value.total, frame))} = {value.text}"
        return [[text + other] for text in mine]


def _nodes_text(number: int, thing: str = "node") -> str:
    return f"{number:,} {thing}{'s' if number != 1 else ''}"


def _cell(value: object) -> str:
    from kbkit.display.render import cell

    return cell(value)


def describe(operator: Operator, bound: Bindings) -> str:
    """Return an operator as an expression, with names in place of parameters."""
    match operator:
        case AllNodes():
            return _type(operator.type)
        case Lookup():
            nodes = bound[operator.parameter]
            assert not isinstance(nodes, Constant)
            name = quoted(nodes[0].name)
            return f"{_type(operator.type)}:{name if len(nodes) == 1 else f'all({name})'}"
        case SavedNodes():
            return f"@{identifier(operator.name)}"
        case AttributeFilter():
            conditions = ", ".join(_describe_condition(test, bound) for test in operator.conditions)
            return f"{_nested(operator.source, bound)}{{{conditions}}}"
        case Extreme():
            word = "max" if operator.greatest else "min"
            if operator.number is not None:
                number = bound[operator.number]
                assert isinstance(number, Constant)
                word = f"{'top' if operator.greatest else 'bottom'} {number.text}"
            per = "" if operator.per is None else f" per {group_text(operator.per)}"
            return f"{_nested(operator.source, bound)}{{{word} {_measure(operator.measure)}{per}}}"
        case MeasureFilter():
            other = bound[operator.other] if isinstance(operator.other, str) else operator.other
            assert not isinstance(other, tuple)
            test = f"{_measure(operator.measure)} {operator.op} {other.text}"
            return f"{_nested(operator.source, bound)}{{{test}}}"
        case Hop():
            edges = "|".join(_describe_move(move, bound) for move in operator.moves)
            return f"{_nested(operator.source, bound)} -> [{edges}] -> {_type(operator.type)}"
        case Difference():
            return f"{_nested(operator.left, bound)} - {_nested(operator.right, bound)}"
        case Intersection() | Union():
            sign = " & " if isinstance(operator, Intersection) else " | "
            return sign.join(_nested(part, bound) for part in operator.parts)


_UNNESTED = (AllNodes, Lookup, SavedNodes, AttributeFilter, MeasureFilter, Extreme)
"""Operators that need no parentheses."""


def _type(node_type: str | None) -> str:
    return "*" if node_type is None else identifier(node_type)


def _nested(operator: Operator, bound: Bindings) -> str:
    text = describe(operator, bound)
    return text if isinstance(operator, _UNNESTED) else f"({text})"


def _measure(measure: Measure) -> str:
    return measure.written if isinstance(measure, AttributeMeasure) else measure.text


def group_text(group: GroupKey) -> str:
    """Return what nodes are grouped by, as it is written in expressions."""
    if isinstance(group, AttributeMeasure):
        return group.written
    return group.text if isinstance(group, ReachedAttribute) else group.text.removeprefix("count(").removesuffix(")")


def _describe_move(move: Move, bound: Bindings) -> str:
    tests = ", ".join(_describe_condition(test, bound) for test in move.conditions)
    return f"{Edge(move.relation, not move.forward, move.closure)}{f'{{{tests}}}' if tests else ''}"


def _describe_condition(test: AttributeCondition, bound: Bindings) -> str:
    if test.other is not None:
        return f"{identifier(test.attribute)} {test.op} {identifier(test.other.name)}"
    values = [value.text for name in test.parameters if isinstance(value := bound[name], Constant)]
    if test.op == "missing":
        return f"{'not ' if test.negated else ''}missing({identifier(test.attribute)})"
    text = f"[{', '.join(values)}]" if test.op == "in" else values[0]
    return f"{identifier(test.attribute)} {'not ' * test.negated}{test.op} {text}"
