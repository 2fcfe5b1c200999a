"""Resolve the attributes of nodes and edges, and the functions of their dates."""

from __future__ import annotations

import functools
import re
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kbkit.answers import syntax
from kbkit.answers.algebra import AttributeMeasure, DateMeasure, Measure, PathMeasure
from kbkit.answers.date_functions import NUMBER_FUNCTIONS, USES
from kbkit.answers.errors import ExpressionError
from kbkit.errors import Part, suggest
from kbkit.schema import Relation, Schema

AttributeOf: TypeAlias = Callable[[str, int], tuple[str, str]]
"""Returns the name and DuckDB type of an attribute of nodes or edges, from what is written at a position."""

OWN_ATTRIBUTES = {"name": "VARCHAR", "key": "VARCHAR"}
"""Attributes of all node types."""
_MONTH = re.compile(r"-?\d{4,}-(?:0[1-9]|1[0-2])")
_NUMERIC = re.compile(r"(?:(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?)|DOUBLE|FLOAT|DECIMAL[^\[]*)$")


def is_number(sql_type: str) -> bool:
    """Return whether a DuckDB type is one of numbers, which have a sum and an average."""
    return bool(_NUMERIC.match(sql_type))


def is_comparable(sql_type: str, other: str, *, by_day: bool = False) -> bool:
    """Return whether values of two types compare; with ``by_day``, a date and a time too."""
    categories = {_category(sql_type), _category(other)}
    return len(categories) == 1 or (by_day and categories == {"DATE", "TIMESTAMP"})


@dataclass
class AttributeResolver(ABC):
    """The part of the resolver for attributes; tests and totals are in :mod:`kbkit.answers.resolve_conditions`."""

    schema: Schema
    text: str

    def error(self, message: str, at: int, *hints: Part) -> ExpressionError:
        """Return an error with its position."""
        return ExpressionError(message, *hints, text=self.text, at=at)

    def attribute(self, node_type: str | None, written: str, at: int) -> tuple[str, str]:
        """Return the name and DuckDB type of an attribute."""
        known = dict(OWN_ATTRIBUTES)
        if node_type is not None:
            known |= {a.name: a.type for a in self.schema.type(node_type).attributes}
        where = f" of {node_type} nodes" if node_type else " of nodes of any type"
        return self.known_attribute(known, written, at, where)

    def edge_attribute(self, relation: Relation, written: str, at: int) -> tuple[str, str]:
        """Return the name and DuckDB type of an attribute of a relation's edges."""
        if not relation.attributes:
            others = [f"[{other.name}]" for other in self.schema.relations if other.attributes]
            hint = f"Relations with attributes: {', '.join(others[:8])}" if others else "No relation of this KB has any"
            raise self.error(f"The edges of [{relation.name}] have no attributes", at, hint)
        known = {a.name: a.type for a in relation.attributes}
        return self.known_attribute(known, written, at, f" of the edges of [{relation.name}]")

    def known_attribute(self, known: Mapping[str, str], written: str, at: int, where: str) -> tuple[str, str]:
        """Return the name and DuckDB type of one of the ``known`` attributes, in any case."""
        folded = {name.casefold(): name for name in known}
        name = written if written in known else folded.get(written.casefold())
        if name is None:
            raise self.error(f"Unknown attribute {written!r}{where}", at, suggest(written, known))
        return name, known[name]

    def own_measure(self, measure: str | syntax.DateFunction, at: int, attribute: AttributeOf) -> AttributeMeasure:
        """Resolve an attribute, or a function of attributes with dates, which ``attribute`` resolves."""
        if isinstance(measure, str):
            return AttributeMeasure(*attribute(measure, at))
        dates = tuple(AttributeMeasure(*attribute(name, measure.at)) for name in measure.dates)
        if measure.op in NUMBER_FUNCTIONS:
            for number in dates:
                if not is_number(number.sql_type):
                    message = f"{measure.op} needs numbers, but {number.name} is {number.sql_type}"
                    raise self.error(message, measure.at, f"Write {USES[measure.op]} with attributes of numbers")
            return DateMeasure.of(measure.op, dates)
        for date in dates:
            element = date.sql_type.removesuffix("[]")
            if not element.startswith(("DATE", "TIMESTAMP")):
                message = f"{measure.op} needs a date, but {date.name} is {date.sql_type}"
                hint = f"Without a function: {date.written}" if is_number(element) and len(dates) == 1 else ""
                raise self.error(message, measure.at, hint or f"Write {USES[measure.op]} with attributes of dates")
            if date.sql_type != element and len(dates) > 1:
                message = f"{measure.op} needs one date each, but {date.name} has several"
                raise self.error(message, measure.at, f"Use year({date.written}) or month({date.written})")
        return DateMeasure.of(measure.op, dates)

    def check_month(self, measure: Measure, value: syntax.Value, at: int) -> None:
        """Raise an error for a month that is compared with something else than a month of a year."""
        own = measure.attribute if isinstance(measure, PathMeasure) and measure.op != "count" else measure
        is_month = isinstance(own, DateMeasure) and own.op == "month"
        if is_month and not isinstance(value, syntax.Slot) and not _MONTH.fullmatch(str(value)):
            given = syntax.quoted(value) if isinstance(value, str) else str(value)
            message = f"{measure.text} is a month of a year, but {given} is none"
            raise self.error(message, at, 'Write a month as "2022-03"')

    def check_comparable(
        self, test: syntax.Comparison, measure: Measure, sql_type: str, *, by_day: bool = False
    ) -> None:
        """Raise an error unless the value on the right has a type that the measure compares with.

        ``by_day``: a date compares with a time too.
        """
        other = test.value
        assert isinstance(other, (syntax.DateFunction, syntax.PathFunction, syntax.Aggregate, syntax.OtherAttribute))
        if not is_comparable(measure.sql_type, sql_type, by_day=by_day):
            shown = f"{other.op}(...)" if isinstance(other, (syntax.PathFunction, syntax.Aggregate)) else other
            message = f"{test.measure} is {measure.sql_type}, but {shown} is {sql_type}"
            raise self.error(message, other.at, "Compare numbers with numbers, texts with texts, dates with dates")

    def other_attribute(self, other: syntax.OtherAttribute, attribute: AttributeOf) -> tuple[str, str]:
        """Return the name and DuckDB type of an attribute on the right side, where a text without quotes is one."""
        try:
            return attribute(other.name, other.at)
        except ExpressionError as error:
            hint = f"Put a text in quotes: {syntax.quoted(other.name)}. "
            raise self.error(error.problem, other.at, hint, *error.hints) from None

    def has(self, node_type: str | None, measure: str | syntax.DateFunction) -> bool:
        """Return whether nodes of a type have an attribute, or any of those of a function."""
        own = [a.name for a in self.schema.type(node_type).attributes] if node_type is not None else []
        return bool({name.casefold() for name in (*OWN_ATTRIBUTES, *own)} & _names(measure))

    def has_edges(self, relation: str, measure: str | syntax.DateFunction) -> bool:
        """Return whether the edges of a relation have an attribute, or all of those of a function."""
        return _names(measure) <= {a.name.casefold() for a in self.schema.relation(relation).attributes}

    def measured_edges(self, path: PathMeasure, measure: str | syntax.DateFunction, at: int) -> AttributeMeasure | None:
        """Return a measure of the edges of the last step, if these have its attributes and the nodes at its end not."""
        [move, *others] = path.steps[-1].moves
        if move.closure or self.has(path.end, measure):
            return None
        relation = self.schema.relation(move.relation)
        found = self.has_edges(move.relation, measure)
        if others and found and {other.relation for other in others} == {move.relation}:
            message = f"{path.op}(...) needs edges of one period, but [{move.relation}] has conditions with several"
            raise self.error(message, at, "Use one date, or a range such as {attribute >= 2020, attribute < 2022}")
        if others or not found:
            return None
        return self.own_measure(measure, at, functools.partial(self.edge_attribute, relation))

    def check_numbers(self, op: str, measure: Measure, at: int) -> None:
        """Raise an error for a sum or average of values that are not numbers."""
        if op in ("sum", "avg") and not is_number(measure.sql_type):
            written = measure.written if isinstance(measure, AttributeMeasure) else measure.text
            hint = f"values(..., {written}) lists its values"
            message = f"{op} needs an attribute with numbers, but {measure.text} is {measure.sql_type}"
            raise self.error(message, at, hint)


def _names(measure: str | syntax.DateFunction) -> set[str]:
    return {name.casefold() for name in ((measure,) if isinstance(measure, str) else measure.dates)}


def _category(sql_type: str) -> str:
    """Return what values of a type can be compared with."""
    element = sql_type.removesuffix("[]")
    return "number" if is_number(element) else element
