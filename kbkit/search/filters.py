"""Resolve the candidates of a search: an answer expression, an answer set, ids, or a type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.parse import parse
from kbkit.answers.session import Session
from kbkit.errors import KbError
from kbkit.stores.arrays import Within, both, compact, distinct, node_ids

Scope: TypeAlias = str | AnswerSet | Iterable[int] | None
"""An answer expression, an answer set, or ids in any order (None: all nodes)."""


def candidates(session: Session, within: Scope, node_type: str | None) -> Within:
    """Return the nodes of the scope ``within`` that have the type (None: any)."""
    members = (
        None if node_type is None else compact(session.members(session.schema.type(node_type).name).astype(np.int64))
    )
    return both(_resolved(session, within), members)


def _resolved(session: Session, within: Scope) -> Within:
    if within is None:
        return None
    if isinstance(within, str):
        within = AnswerSet(session, parse(within), {}, "walk", within, None)
    if isinstance(within, AnswerSet):
        if not within.belongs_to(session):
            raise KbError("Invalid value of within: an answer set of another KB or session", "Evaluate it on this KB")
        return compact(within.ids.astype(np.int64))
    return compact(distinct(node_ids(within, "within", session.schema.nodes)))
