"""Answers of one expression for a whole table of bindings of its slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.answers.algebra import Plan
from kbkit.answers.batch import evaluate_batch
from kbkit.answers.bind import bind_column, bind_constants, check_slots
from kbkit.answers.session import Session
from kbkit.answers.syntax import Slot
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl


def answers_many(session: Session, plan: Plan, bindings: pl.DataFrame | Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """Return the answers of each row of ``bindings``, a table with a column per slot: binding, node; sorted.

    ``binding`` is the row number from 0, ``node`` an id. Values are names or ``#key``; integers in the column of a
    node's slot are ids. Raises the errors of :func:`kbkit.answers.bind.bind` for the first invalid row.
    """
    import polars as pl

    try:
        table = bindings if isinstance(bindings, pl.DataFrame) else pl.DataFrame(bindings, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        message = f"Invalid bindings: {str(error).splitlines()[0]}"
        raise KbError(message, "Pass a table with a column per slot") from None
    check_slots(plan, table.columns)
    if not plan.slots:
        raise KbError("The expression has no <slot>", "Use kb.answers for an expression without slots")
    shared = bind_constants(plan, session)
    slots = [(p, p.source.name) for p in plan.parameters if isinstance(p.source, Slot)]
    columns = {p.name: bind_column(plan, p, session, table[slot]) for p, slot in slots}
    batch = evaluate_batch(plan, session, shared, columns, table.height)
    return pl.DataFrame({"binding": batch.rows.astype(np.uint32), "node": batch.nodes})
