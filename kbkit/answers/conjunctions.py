"""The intersection of operators, without redundant parts."""

from __future__ import annotations

from kbkit.answers.algebra import AllNodes, Difference, Intersection, Operator, Union


def conjunction(parts: list[Operator]) -> Operator:
    """Return the intersection, without redundant parts: ``T & (all of T - X)`` becomes ``T - X``."""
    typed = [part.type for part in parts if not _is_all_or_complement(part)]
    node_type = next((t for t in [*typed, *(p.type for p in parts)] if t is not None), None)
    selected: list[Operator] = []
    removed: list[Operator] = []
    for part in dict.fromkeys(parts):
        if isinstance(part, Difference) and isinstance(part.left, AllNodes) and part.left.type in typed:
            removed.append(part.right)
        elif not (isinstance(part, AllNodes) and (part.type is None or part.type in typed)):
            selected.append(part)
    if not selected:
        return parts[0] if len(set(parts)) == 1 else _complements_only(parts, removed)
    intersection = selected[0] if len(selected) == 1 else Intersection(node_type, tuple(selected))
    if not removed:
        return intersection
    return Difference(intersection, removed[0] if len(removed) == 1 else Union(node_type, tuple(removed)))


def _is_all_or_complement(part: Operator) -> bool:
    return isinstance(part, AllNodes) or (isinstance(part, Difference) and isinstance(part.left, AllNodes))


def _complements_only(parts: list[Operator], removed: list[Operator]) -> Operator:
    if not removed:
        return next(part for part in [*parts, AllNodes(None)] if part.type is not None or part == AllNodes(None))
    return Intersection(parts[0].type, tuple(dict.fromkeys(parts)))
