"""How few steps make a node an answer, by trying all; for expressions without set operations and negated steps."""

from __future__ import annotations

from kbkit.answers import syntax
from tests.answers import oracle

Costs = dict[oracle.Ref, int]
"""The fewest triples that lead to each answer, one counted again for each step that takes it."""


def countable(tree: syntax.Expression) -> bool:
    """Whether the expression only follows relations and filters."""
    return not any(
        isinstance(part, syntax.Combine) or (isinstance(part, syntax.Step) and part.negated)
        for part in syntax.subtrees(tree)
    )


def costs(made: oracle.Oracle, tree: syntax.Expression) -> Costs:
    """The costs of all answers."""
    if isinstance(tree, syntax.Filter):
        inside = costs(made, tree.source)
        return {ref: inside[ref] for ref in made.set(tree).nodes}
    if not isinstance(tree, syntax.Path):
        return dict.fromkeys(made.set(tree).nodes, 0)
    arms = [along(made, arm) for arm in made.arms(tree)]
    return arms[0] if len(arms) == 1 else both(arms[0], arms[1])


def along(made: oracle.Oracle, elements: list[syntax.Expression | syntax.Step]) -> Costs:
    """The costs of what one arm reaches; its end is left to the other arm where both filter alike."""
    here, kind = costs(made, elements[0]), made.set(elements[0]).type
    step = None
    for element in elements[1:]:
        if isinstance(element, syntax.Step):
            step = element
            continue
        target = made.set(element).type
        here, kind, step = both(after(made, here, kind, step, target), costs(made, element)), target, None
    return here


def after(made: oracle.Oracle, here: Costs, kind: str | None, step: syntax.Step | None, target: str | None) -> Costs:
    """The costs of what a step reaches: breadth first from each node."""
    best: Costs = {}
    for edge in made.edges_of(step, kind, target):
        one = syntax.Edge(edge.relation, edge.inverse)
        for ref, cost in here.items():
            border, seen, steps = {ref}, set(), 0
            if edge.closure == "*":
                best[ref] = min(cost, best.get(ref, cost))
            while border:
                steps += 1
                border = made.reach(frozenset(border), one, made.way(edge, kind, target)) - seen
                seen |= border
                for far in border:
                    best[far] = min(cost + steps, best.get(far, cost + steps))
                if not edge.closure:
                    break
    return best


def both(left: Costs, right: Costs) -> Costs:
    return {ref: left[ref] + right[ref] for ref in left.keys() & right.keys()}
