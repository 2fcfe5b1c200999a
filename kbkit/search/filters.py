"""Resolve the candidates of a search: an answer expression, an answer set, ids, or a type."""

from __future__ import annotations

import numpy as np

from kbkit.answers.scope import Scope, nodes_within
from kbkit.answers.session import Session
from kbkit.stores.arrays import Within, both, compact


def candidates(session: Session, within: Scope, node_type: str | None) -> Within:
    """Return the nodes of the scope ``within`` that have the type (None: any)."""
    members = (
        None if node_type is None else compact(session.members(session.schema.type(node_type).name).astype(np.int64))
    )
    return both(nodes_within(session, within), members)
