"""Which nodes a search is about: from an answer expression, an answer set, ids, or a type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.parse import parse
from kbkit.answers.session import Session
from kbkit.errors import KbError
from kbkit.stores.arrays import Within, both, compact, distinct

Given: TypeAlias = str | AnswerSet | Iterable[int] | None
"""An answer expression, an answer set, ids in any order; None for all nodes."""


def candidates(session: Session, within: Given, node_type: str | None) -> Within:
    """The nodes ``within`` that have the type."""
    own = None if node_type is None else compact(session.members(session.schema.type(node_type).name).astype(np.int64))
    return both(_given(session, within), own)


def _given(session: Session, within: Given) -> Within:
    if within is None:
        return None
    if isinstance(within, str):
        within = AnswerSet(session, parse(within), {}, "walk", within, None)
    if isinstance(within, AnswerSet):
        if not within.belongs_to(session):
            raise KbError("within is an answer set of another KB, or of this one opened again", "ask this KB for it")
        return compact(within.ids.astype(np.int64))
    return compact(_ids(session, within))


def _ids(session: Session, within: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    try:
        given = np.asarray(within if hasattr(within, "__array__") else list(within))
    except (TypeError, ValueError):  # one number, or lists of different lengths
        given = np.empty((0, 0))
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise KbError("within holds something that is no id", "ids are integers; or give an answer expression")
    for wrong in given[(given < 0) | (given >= session.schema.nodes)][:1].tolist():
        raise KbError(f"within names a node {wrong}", f"ids run from 0 to {session.schema.nodes - 1}")
    return distinct(given.astype(np.int64))
