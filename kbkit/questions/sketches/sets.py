"""Sets of nodes of a type that meet conditions on them, on what they are joined to, or on neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import NamedTuple

from kbkit.answers.syntax import Combine, Condition, Expression, Filter, Nodes, Not, PathFunction, Test
from kbkit.questions.expressions import followed, step
from kbkit.questions.sketches.conditions import Features, SketchCondition, added
from kbkit.questions.sketches.words import SketchWords

_MAX_PATHS = 3
"""Limit on the paths from a condition to what is asked for."""
_CONSIDERED = 12
"""Limit on the shortest paths of which the best are chosen."""
_MAX_SETS = 4
"""Limit on the sets that meet the same conditions along other paths."""
_DENIED_FAR = 5
"""How many words from *never* what does not happen may stand."""
_MISSING_FAR = 7
_DENIED = 0.3
"""How well a word near *never* must express what does not happen."""
_MAX_DENIED = 3
"""Limit on the conditions that are tried as the one that is denied."""

Hops = tuple[int, ...]


@dataclass(frozen=True)
class NodeSet:
    """A set of nodes of a type with the features of what was chosen, and the atoms that it says."""

    tree: Expression
    features: Features = field(default_factory=dict)
    atoms: tuple[int, ...] = ()
    denies: bool = False

    @property
    def is_all(self) -> bool:
        """Whether it is all nodes of the type."""
        return isinstance(self.tree, Nodes) and self.tree.selector is None

    @property
    def is_named(self) -> bool:
        """Whether it is a node that the question names."""
        return isinstance(self.tree, Nodes) and self.tree.selector is not None


class _Arm(NamedTuple):
    """A path to what is asked for."""

    tree: Expression
    hops: Hops
    kind: int


class NodeSets:
    """Makes sets of nodes from conditions."""

    def __init__(self, words: SketchWords) -> None:
        self.words, self.elements = words, words.elements

    def paths(self, source: int, target: int) -> list[Hops]:
        """Return the shortest paths from one type to another, those that words express best first."""
        if source == target:
            return [()]
        found = self.elements.paths(source, target)[:_CONSIDERED]
        labels = [[self.elements.all[hop].label for hop in path] for path in found]
        best = sorted(range(len(found)), key=lambda n: -sum(map(self.words.said, labels[n])))
        return [found[n] for n in best[:_MAX_PATHS]]

    def followed(self, tree: Expression, hops: Hops) -> Expression:
        """Return the nodes that a path reaches from a set."""
        for hop in hops:
            tree = followed(self.elements, tree, self.elements.all[hop])
        return tree

    def measured(self, hops: Hops) -> PathFunction:
        """Return the number of nodes that a path reaches, as a measure."""
        steps = [
            (step(self.elements, one), Nodes(self.elements.types[one.target].name))
            for one in map(self.elements.all.__getitem__, hops)
        ]
        return PathFunction(tuple(part for pair in steps for part in pair), ("->",) * (2 * len(steps)))

    def all_of(self, kind: int) -> Expression:
        """Return all nodes of a type."""
        return Nodes(self.elements.types[kind].name)

    def meeting(self, kind: int, conditions: Sequence[SketchCondition], most: int = _MAX_SETS) -> Iterator[NodeSet]:
        """Yield sets of nodes of a type that meet all conditions, at most ``most``."""
        own = [one for one in conditions if one.kind == kind and one.named is None]
        named = [one.named for one in conditions if one.kind == kind and one.named is not None]
        arms: dict[object, list[SketchCondition]] = {}
        for one in conditions:
            if one.kind != kind:
                arms.setdefault((one.kind, one.span if one.named is not None else None), []).append(one)
        choices = [self._arms(kind, same) for same in arms.values()]
        chosen = added(*(one.features for one in conditions))
        tests = tuple(test for one in own for test in one.tests)
        said = tuple(atom for one in conditions for atom in one.atoms)
        for ways in islice(product(*choices), most):
            trees = [*(way.tree for way in ways), *([Combine("|", tuple(named))] if len(named) > 1 else named)]
            tree = self.all_of(kind) if not trees else trees[0] if len(trees) == 1 else Combine("&", tuple(trees))
            features = {**chosen, **self._ways(ways), "further arms": float(max(0, len(trees) - 1))}
            features["names what is asked"] = float(len(named))
            features["flag elsewhere"] = float(sum(one.span[0] == "flag" and one.kind != kind for one in conditions))
            features["same type twice"] = float(len(ways) - len({way.kind for way in ways}))
            atoms = (*said, *(atom for way in ways for atom in self._atoms(way)))
            yield NodeSet(restricted(tree, *tests), features, atoms)

    def _arms(self, kind: int, conditions: Sequence[SketchCondition]) -> list[_Arm]:
        """Return the ways from nodes of another type that meet conditions."""
        source = conditions[0].kind
        tree = conditions[0].named or self.all_of(source)
        tree = restricted(tree, *(test for one in conditions for test in one.tests))
        return [_Arm(self.followed(tree, hops), hops, source) for hops in self.paths(source, kind)]

    def _ways(self, ways: Sequence[_Arm]) -> dict[str, float]:
        elements = self.elements
        hops = [hop for way in ways for hop in way.hops]
        unsaid = sum(1 - self.words.said(elements.all[hop].label) for hop in hops if elements.has_other_ways(hop))
        return {"hops": float(len(hops)), "further hops": float(len(hops) - len(ways)), "relation unsaid": unsaid}

    def _atoms(self, way: _Arm) -> Iterator[int]:
        for hop in way.hops:
            yield self.elements.all[hop].label
        for hop in way.hops[:-1]:
            yield self.words.type_atom(self.elements.all[hop].target)
        yield self.words.type_atom(way.kind)

    def denying(self, kind: int, conditions: Sequence[SketchCondition], base: NodeSet) -> Iterator[NodeSet]:
        """Yield sets of what a question denies: a condition, a relation, or that an attribute is known."""
        if self.words.denied < 0:
            return
        if self.words.question.negation is not None:
            for one in conditions[:_MAX_DENIED]:
                yield from self._without(kind, one, [other for other in conditions if other is not one])
        yield from self._unrelated(kind, base)
        yield from self._unknown(kind, base)

    def _without(self, kind: int, denied: SketchCondition, rest: Sequence[SketchCondition]) -> Iterator[NodeSet]:
        """Yield sets that meet the other conditions, and not one."""
        for others in self.meeting(kind, rest, 1):
            if denied.kind == kind and denied.tests:
                tree = restricted(others.tree, Not(denied.tests))
                features = {**added(others.features, denied.features), "denied test": 1.0}
                yield NodeSet(tree, features, (*others.atoms, *denied.atoms), denies=True)
                continue
            for without in self.meeting(kind, [denied], 2):
                features = {**added(others.features, without.features), "denied set": 1.0}
                tree = Combine("-", (others.tree, without.tree))
                yield NodeSet(tree, features, (*others.atoms, *without.atoms), denies=True)

    def _unrelated(self, kind: int, base: NodeSet) -> Iterator[NodeSet]:
        """Yield sets of nodes without a neighbour."""
        at = self.words.denied
        for hop in self.elements.from_type(kind).tolist():
            one = self.elements.all[hop]
            atoms = (self.words.type_atom(one.target), one.label)
            said = max(self.words.near(at, at + 1, atom, _DENIED_FAR) for atom in atoms)
            if said >= _DENIED:
                related = self.followed(self.all_of(one.target), (int(self.elements.inverse[hop]),))
                features = {**base.features, "denied relation": 1.0, "denied unsaid": 1 - said}
                yield NodeSet(Combine("-", (base.tree, related)), features, (*base.atoms, *atoms), denies=True)

    def _unknown(self, kind: int, base: NodeSet) -> Iterator[NodeSet]:
        """Yield sets of nodes that lack an attribute."""
        at = self.words.denied
        for attribute in self.elements.types[kind].attributes:
            atom = self.words.attributes.get((kind, attribute.name))
            said = 0.0 if atom is None else self.words.near(at, at + 1, atom, _MISSING_FAR)
            if atom is not None and said >= _DENIED and self.elements.is_optional(kind, attribute.name):
                tree = restricted(base.tree, Condition(attribute.name, "missing"))
                features = {**base.features, "denied value": 1.0, "denied unsaid": 1 - said}
                yield NodeSet(tree, features, (*base.atoms, atom), denies=True)


def restricted(tree: Expression, *tests: Test) -> Expression:
    """Return the nodes of a set that pass tests."""
    if not tests:
        return tree
    if isinstance(tree, Filter):
        return Filter(tree.source, (*tree.conditions, *tests))
    return Filter(tree, tests)
