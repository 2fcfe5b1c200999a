"""Answers for a table of bindings: names are looked up a column at a time, then all rows run at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.answers.algebra import Parameter, Plan
from kbkit.answers.bind import Bindings, Constant, bind, check_slots, constant, find, pick_of, unclear
from kbkit.answers.session import Session
from kbkit.answers.syntax import Slot
from kbkit.answers.walk_many import walk_many
from kbkit.errors import KbError
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import polars as pl


def answers_many(session: Session, plan: Plan, bindings: pl.DataFrame | Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """(binding, node): each answer of each row of ``bindings``, a table with a column per slot.

    ``binding`` is the row's number from 0, ``node`` an id; sorted by both. Values are names, or ``#key``; or, in an
    integer column for a slot of a node, ids. Raises as :func:`kbkit.answers.bind.bind` does, for the first row in
    error.
    """
    import polars as pl

    try:
        table = bindings if isinstance(bindings, pl.DataFrame) else pl.DataFrame(bindings, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise KbError(f"the bindings are no table: {str(error).splitlines()[0]}", "give a column per slot") from None
    check_slots(plan, table.columns)
    if not plan.slots:
        raise KbError("the expression has no <slot>", "kb.answers runs it")
    shared = share(session, plan)
    columns = {
        p.name: _column(session, plan, p, table[p.given.name]) for p in plan.parameters if isinstance(p.given, Slot)
    }
    found = walk_many(plan, session, shared, columns, table.height)
    return pl.DataFrame({"binding": found.rows.astype(np.uint32), "node": found.nodes})


def share(session: Session, plan: Plan) -> Bindings:
    """The parameters that no slot fills."""
    fixed = Plan(plan.root, tuple(p for p in plan.parameters if not isinstance(p.given, Slot)), plan.text)
    return bind(fixed, session, {})


def _column(session: Session, plan: Plan, parameter: Parameter, values: pl.Series) -> Ids | list[Constant]:
    """A slot's value in each row; each distinct value is looked up once."""
    import polars as pl

    if values.null_count():
        row = int(values.is_null().arg_true()[0])
        raise KbError(f"slot <{values.name}> has no value in row {row}", "give one in every row")
    tables = session.stores.tables
    distinct = values.unique(maintain_order=True)
    numbered = pl.DataFrame({"value": distinct}).with_row_index("place")
    places = pl.DataFrame({"value": values}).join(numbered, on="value", how="left", maintain_order="left")["place"]
    if parameter.value:
        constants = [constant(plan, parameter, tables, value) for value in distinct.to_list()]
        return [constants[i] for i in places.to_list()]
    if values.dtype.is_integer():
        ids = _checked_ids(session, parameter, distinct)
    else:
        ids = named_ids(session, plan, parameter, [str(value) for value in distinct.to_list()])
    column: Ids = ids[places.to_numpy()]
    return column


def _checked_ids(session: Session, parameter: Parameter, ids: pl.Series) -> Ids:
    known = np.asarray(ids.to_numpy(), np.int64)
    wrong = known[(known < 0) | (known >= session.schema.nodes)]
    if not len(wrong):
        wrong = known[~session.has_type(known.astype(np.int32), parameter.type)]
    if len(wrong):
        raise KbError(f"{wrong[0]} is no id of {parameter.type or 'a node'}", "names and #keys are texts")
    return known.astype(np.int32)


def named_ids(session: Session, plan: Plan, parameter: Parameter, texts: Sequence[str]) -> Ids:
    """The id of the one node that each text (a name, or ``#key``) means."""
    picks = [pick_of(plan, parameter, text) for text in texts]
    found = find(session.stores.tables, session.schema, parameter.type, picks)
    for pick, nodes in zip(picks, found, strict=True):
        if len(nodes) != 1:
            raise unclear(pick, nodes, parameter, session.stores.tables, plan.text)
    return np.array([nodes[0].id for nodes in found], np.int32)
