"""Bind the parameters of a plan to nodes and constants: names are looked up once, before a plan runs or is compiled."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kbkit.answers.algebra import Parameter, Plan
from kbkit.answers.errors import ExpressionError
from kbkit.answers.session import Session
from kbkit.answers.syntax import Key, Name, Slot, Value, quoted, selector_of
from kbkit.errors import KbError, Option, Part, UnknownNameError
from kbkit.stores.adjacency import Ids
from kbkit.stores.node_directory import NodeRow
from kbkit.stores.nodes import SEARCH_HINT

if TYPE_CHECKING:
    import polars as pl

    from kbkit.stores.tables import Tables


@dataclass(frozen=True)
class Constant:
    """A value cast to ``sql_type``, as DuckDB writes it."""

    text: str
    sql_type: str


Bindings: TypeAlias = Mapping[str, tuple[NodeRow, ...] | Constant]
"""The value of each parameter of a plan."""


def bind(plan: Plan, session: Session, slots: Mapping[str, Value]) -> dict[str, tuple[NodeRow, ...] | Constant]:
    """Look up every parameter of ``plan``, with the values of its slots.

    Raises :class:`ExpressionError` for unknown and ambiguous names, values of the wrong type, and slots without a
    value; :class:`UnknownNameError` for a value of a slot that does not exist.
    """
    check_slots(plan, slots)
    bound: dict[str, tuple[NodeRow, ...] | Constant] = {}
    for parameter in plan.parameters:
        value = slots[parameter.source.name] if isinstance(parameter.source, Slot) else parameter.source
        if parameter.is_value:
            bound[parameter.name] = _constant(plan, parameter, session.stores.tables, value)
            continue
        selector = value if isinstance(value, (Name, Key)) else _selector(plan, parameter, value)
        nodes = session.lookup(parameter.type, selector)
        if len(nodes) != 1 and not (nodes and isinstance(selector, Name) and selector.all):
            raise _not_one(selector, nodes, parameter, session, plan.text)
        bound[parameter.name] = nodes
    return bound


def bind_constants(plan: Plan, session: Session) -> Bindings:
    """Bind the parameters that are not slots."""
    constants = tuple(p for p in plan.parameters if not isinstance(p.source, Slot))
    return bind(Plan(plan.root, constants, plan.text), session, {})


def bind_column(plan: Plan, parameter: Parameter, session: Session, values: pl.Series) -> Ids | list[Constant]:
    """Return a slot's value for each row of a column: node ids, or constants.

    Names and ``#keys`` are texts; integers are ids. Each distinct value is looked up once.
    """
    import polars as pl

    if values.null_count():
        row = int(values.is_null().arg_true()[0])
        raise KbError(f"Missing value for slot <{values.name}> in row {row}", "Every row needs a value")
    distinct = values.unique(maintain_order=True)
    numbered = pl.DataFrame({"value": distinct}).with_row_index("position")
    rows = pl.DataFrame({"value": values}).join(numbered, on="value", how="left", maintain_order="left")
    positions = rows["position"]
    if parameter.is_value:
        tables = session.stores.tables
        constants = [_constant(plan, parameter, tables, value) for value in distinct.to_list()]
        return [constants[i] for i in positions.to_list()]
    if values.dtype.is_integer():
        ids = _valid_ids(session, parameter, distinct)
    else:
        ids = _ids_of_texts(session, plan, parameter, [str(value) for value in distinct.to_list()])
    column: Ids = ids[positions.to_numpy()]
    return column


def _valid_ids(session: Session, parameter: Parameter, ids: pl.Series) -> Ids:
    known = np.asarray(ids.to_numpy(), np.int64)
    invalid = known[(known < 0) | (known >= session.schema.nodes)]
    if not len(invalid):
        invalid = known[~session.has_type(known.astype(np.int32), parameter.type)]
    if len(invalid):
        kind = f"{parameter.type} node" if parameter.type else "node"
        raise KbError(f"No {kind} has the id {invalid[0]}", "Integers are ids; write names and #keys as texts")
    return known.astype(np.int32)


def _ids_of_texts(session: Session, plan: Plan, parameter: Parameter, texts: Sequence[str]) -> Ids:
    """Return the id of the one node with each name or ``#key``."""
    selectors = [_selector(plan, parameter, text) for text in texts]
    nodes, ids = session.stores.nodes, np.full(len(texts), -1, np.int32)
    for kind, lookup in ((Key, nodes.unique_ids), (Name, nodes.unique_ids_by_name)):
        positions = [i for i, selector in enumerate(selectors) if isinstance(selector, kind)]
        if positions:
            ids[positions] = lookup(parameter.type, [selectors[i].text for i in positions])
    for position in np.flatnonzero(ids < 0).tolist():
        selector = selectors[position]
        raise _not_one(selector, session.lookup(parameter.type, selector), parameter, session, plan.text)
    return ids


def check_slots(plan: Plan, slots: Mapping[str, Any] | Sequence[str]) -> None:
    """Raise an error for slots that the plan does not have, and for slots of the plan without a value."""
    for name in slots:
        if name not in plan.slots:
            raise UnknownNameError("slot", name, plan.slots, where=" ".join(plan.text.split()))
    for parameter in plan.parameters:
        if isinstance(parameter.source, Slot) and _is_missing(slots, parameter.source.name):
            name = parameter.source.name
            kind = "a value" if parameter.is_value else f"one of the {_nodes(parameter)}, by name or #key"
            raise ExpressionError(
                f"Missing value for slot <{name}>",
                *("Set it with ", Option("slots"), f" to {kind}"),
                text=plan.text,
                at=parameter.at,
            )


def _nodes(parameter: Parameter) -> str:
    return f"{parameter.type} nodes" if parameter.type else "nodes"


def _is_missing(slots: Mapping[str, Any] | Sequence[str], name: str) -> bool:
    return name not in slots or (isinstance(slots, Mapping) and slots[name] is None)


def _selector(plan: Plan, parameter: Parameter, value: object) -> Name | Key:
    """Return the name or key for a slot's value."""
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise ExpressionError(f"Invalid node {value!r}", "Use a name or '#key'", text=plan.text, at=parameter.at)
    selector = selector_of(value)
    assert not isinstance(selector, Slot)
    if any("\ud800" <= c <= "\udfff" for c in selector.text):
        message = f"Invalid Unicode (unpaired surrogate) in {selector.text!r}"
        raise ExpressionError(message, text=plan.text, at=parameter.at)
    return selector


def _not_one(
    selector: Name | Key, nodes: Sequence[NodeRow], parameter: Parameter, session: Session, text: str
) -> ExpressionError:
    """Return the error for a name or key that matches no node, or several."""
    kind = parameter.type or "node"
    hints: tuple[Part, ...] = SEARCH_HINT
    if nodes:
        choices = ", ".join(node.reference for node in nodes[:5]) + ", ..." * (len(nodes) > 5)
        every = f", or :all({quoted(selector.text)}) for all of them" if isinstance(selector, Name) else ""
        message, hints = f"Ambiguous {kind} {selector.text!r}", (f"Use one of {choices}{every}",)
    elif isinstance(selector, Key):
        message = f"Unknown {kind} key {selector.text!r}"
    else:
        message = f"Unknown {kind} {selector.text!r}"
        similar = session.stores.nodes.closest(selector.text, parameter.type)
        close = [f"{row.name!r} ({row.reference})" for row in similar]
        if close:
            hints = (f"Did you mean {' or '.join(close)}?",)
    return ExpressionError(message, *hints, text=text, at=parameter.at)


def _constant(plan: Plan, parameter: Parameter, tables: Tables, value: object) -> Constant:
    """Cast a value to the type of the attribute that it is compared with; raise an error if it does not fit exactly."""
    kind = parameter.type or "VARCHAR"
    if isinstance(value, datetime.date):
        value = str(value)
    if not isinstance(value, (str, int, float, bool)):
        message = f"Invalid value {value!r}"
        raise ExpressionError(message, "Use a text, a number, true or false", text=plan.text, at=parameter.at)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if kind == "VARCHAR" or (kind == "BIGINT" and type(value) is int and value.bit_length() < 64):
        return Constant(text, kind)
    from kbkit.stores.tables import Error, first_line

    cast = f"TRY_CAST($text AS {kind})"
    exact = f"TRY_CAST($text AS DOUBLE) = {cast}::DOUBLE" if kind in _INTEGERS else "true"  # 1.5 would become 2
    try:
        [(converted, fits)] = tables.rows(f"SELECT {cast}::VARCHAR, {exact}", {"text": text})
    except Error as error:
        raise KbError(f"Unsupported comparison with type {kind}: {first_line(error)}") from error
    mismatch = not isinstance(value, str) and isinstance(value, bool) != (kind == "BOOLEAN")
    if converted in (None, "nan") or not fits or mismatch:
        message = f"Invalid value {text!r}: expected {_TYPE_NAMES.get(kind, kind)}"
        raise ExpressionError(message, text=plan.text, at=parameter.at)
    return Constant(converted, kind)


_INTEGERS = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
_TYPE_NAMES = {
    **dict.fromkeys(_INTEGERS, "an integer"),
    "DOUBLE": "a number",
    "FLOAT": "a number",
    "BOOLEAN": "true or false",
    "DATE": "a date (2001-12-31)",
    "TIMESTAMP": "a time (2001-12-31 23:59:59)",
}
