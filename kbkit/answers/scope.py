"""Resolve a set of nodes that a caller names: an answer expression, an answer set, or ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.parse import parse
from kbkit.answers.session import Session
from kbkit.errors import KbError
from kbkit.stores.arrays import Within, compact, distinct, node_ids

Scope: TypeAlias = str | AnswerSet | Iterable[int] | None
"""An answer expression, an answer set, or ids in any order (None: all nodes)."""


def nodes_within(session: Session, within: Scope, name: str = "within") -> Within:
    """Return the nodes of a scope; ``name`` is that of the argument, for messages."""
    if within is None:
        return None
    if isinstance(within, str):
        within = AnswerSet(session, parse(within), {}, "walk", within, None)
    if isinstance(within, AnswerSet):
        if not within.belongs_to(session):
            raise KbError(f"Invalid value of {name}: an answer set of another KB or session", "Evaluate it on this KB")
        return compact(within.ids.astype(np.int64))
    return compact(distinct(node_ids(within, name, session.schema.nodes)))
