"""Join the conditions of a question: the nodes of a type that meet conditions on it and on other types."""

from __future__ import annotations

from kbkit.answers.syntax import (
    Combine,
    Condition,
    Expression,
    Filter,
    Nodes,
    Test,
)
from kbkit.english.question_words import ENDS
from kbkit.questions.act_rules import ActTests
from kbkit.questions.attribute_tests import ConditionPart
from kbkit.questions.expressions import both
from kbkit.questions.lexicon import FAINT


class ConditionJoins(ActTests):
    """Joins conditions on nodes of several types by the relations between these."""

    def _joined(self, owner: int, parts: list[ConditionPart]) -> Expression:
        """Return the nodes of a type that meet conditions on it and on other types."""
        known = self.elements.types[owner].name
        nodes = [part for part in parts if part.owner == owner and part.tree is not None and not part.negated]
        tree: Expression = nodes[0].tree if nodes and nodes[0].tree is not None else Nodes(known)
        for more in nodes[1:]:
            assert more.tree is not None
            tree = Combine("&", (tree, more.tree))
        tests = tuple(test for part in parts if part.owner == owner for test in part.tests)
        if tests:
            tree = Filter(tree, tests)
        others: dict[int, list[ConditionPart]] = {}
        for part in parts:
            if part.owner != owner and not part.negated:
                before = others.get(part.owner, [])
                is_other = not part.tests or any(self._are_apart(part, one) for one in before)
                others.setdefault(-1 - len(others) if is_other else part.owner, []).append(part)
        inside = self._nested(owner, {number: group[0].owner for number, group in others.items()})

        def found(number: int) -> Expression:
            kind = others[number][0].owner
            tree = self._joined(kind, others[number])
            for inner in (one for one, outer in inside.items() if outer == number):
                tree = both(tree, self._reached(found(inner), others[inner][0].owner, kind))
            return tree

        outside = {number: group[0].owner for number, group in others.items() if number not in inside}
        for kind, numbers in self._rows(owner, outside).items():
            row: Expression = Nodes(self.elements.types[kind].name)
            for number in numbers:
                row = both(row, self._followed(found(number), self._path(outside.pop(number), kind)))
            tree = both(tree, self._followed(row, self._path(kind, owner)))
        for number, kind in outside.items():
            inner = found(number)
            self._leading = others[number][0].link
            tree = both(tree, self._reached(inner, kind, owner))
        for part in parts:
            self._leading = part.link
            if part.negated:
                inner = self._joined(part.owner, [ConditionPart(part.owner, part.tests, part.tree)])
                way = self._path(part.owner, owner) if part.owner != owner else []
                tree = Combine("-", (tree, self._followed(inner, way)))
        self._leading = None
        return tree

    def _are_apart(self, part: ConditionPart, other: ConditionPart) -> bool:
        """Return whether two conditions are on two nodes of a type: by their values, or *from* one *to* the other."""
        ends = [
            self._tokens[one.link.first - 1] if one.link is not None and one.link.first else "" for one in (part, other)
        ]
        if ends[0] != ends[1] and {*ends} <= {*ENDS}:
            return True
        return any(_excludes(test, one) for test in part.tests for one in other.tests)

    def _rows(self, owner: int, kinds: dict[int, int]) -> dict[int, list[int]]:
        """Return the types whose nodes must meet several conditions each: *birds that Ann saw at the lake*.

        That is a type that the ways from all of them to the owner lead through, with one node of each at most.
        """
        ways = {number: self._paths(kind, owner)[:1] for number, kind in kinds.items()}
        through: dict[tuple[int, ...], list[int]] = {}
        for number, paths in ways.items():
            for path in paths:
                for at in range(1, len(path)):
                    through.setdefault(tuple(path[at:]), []).append(number)
        found: dict[int, list[int]] = {}
        for rest, numbers in sorted(through.items(), key=lambda pair: -len(pair[0])):
            kind = int(self.elements.source[rest[0]])
            free = [number for number in numbers if all(number not in others for others in found.values())]
            is_apart = len({kinds[number] for number in free}) == len(free) > 1
            if is_apart and kind not in found and all(self._is_single(kind, kinds[number]) for number in free):
                found[kind] = free
        return found

    def _nested(self, owner: int, kinds: dict[int, int]) -> dict[int, int]:
        """Return which conditions are on the nodes that meet another: the peace prize, of prizes in 2014.

        That is where the way from the type of one to the owner leads through the type of the other.
        """
        found: dict[int, int] = {}
        single = {kind: number for number, kind in kinds.items() if [*kinds.values()].count(kind) == 1}
        for kind, number in single.items():
            ends = [int(self.elements.target[hop]) for path in self._paths(kind, owner)[:1] for hop in path[:-1]]
            through = [single[end] for end in ends if end in single and end != kind]
            through = through or [single[one] for one in single if self._is_event_of(one, kind, owner)]
            if through:
                found[number] = through[0]
        return found

    def _is_event_of(self, event: int, kind: int, owner: int) -> bool:
        """Return whether nodes of a type join one of another type each to one of the owner's: *lighting on a show*.

        No word says that the two are joined directly, as a show and its director are.
        """
        if event in (kind, owner) or kind in self.elements.people or not self._paths(kind, owner):
            return False
        is_joined = self._is_single(event, kind) and self._is_single(event, owner)
        is_near = self._distance(event, kind) == 1 == self._distance(event, owner)
        return is_joined and is_near and self._expressed(self._paths(kind, owner)[0]) < FAINT


def _excludes(test: Test, other: Test) -> bool:
    """Return whether no node meets both tests: two values of one attribute, each of which another node may have."""
    if not isinstance(test, Condition) or not isinstance(other, Condition):
        return False
    return test.attribute == other.attribute and test.op == other.op == "=" and test.values != other.values
