"""The last steps of the paths to answers, whose edges can be the rows of a value."""

from __future__ import annotations

from dataclasses import replace

from kbkit.answers.algebra import (
    AllNodes,
    AttributeFilter,
    Difference,
    Extreme,
    Hop,
    Intersection,
    MeasureFilter,
    MeasureStep,
    Operator,
)
from kbkit.schema import Schema


def last_steps(root: Operator) -> list[Hop]:
    """Return the distinct steps that lead to the answers of an operator; none in unions and in what is excluded."""
    found: dict[Hop, None] = {}
    todo = [root]
    while todo:
        match todo.pop():
            case Hop() as hop:
                found[hop] = None
            case AttributeFilter(source=source) | MeasureFilter(source=source) | Extreme(source=source):
                todo.append(source)
            case Difference(left=left):
                todo.append(left)
            case Intersection(parts=parts):
                todo += parts
    return list(found)


def back(hop: Hop, schema: Schema) -> MeasureStep:
    """Return a step of one relation from the nodes that it reaches back to its sources."""
    [move] = hop.moves
    is_symmetric = schema.relation(move.relation).symmetric
    source = None if hop.source == AllNodes(None) else hop.source
    return MeasureStep((replace(move, forward=is_symmetric or not move.forward),), hop.source.type, source)
