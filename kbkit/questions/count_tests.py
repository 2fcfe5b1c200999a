"""Write conditions on how many nodes of a type a node leads to, and comparisons with what a named node has."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal

from kbkit.answers.syntax import (
    Aggregate,
    Comparison,
    Measure,
    Nodes,
    PathFunction,
    ValueColumn,
)
from kbkit.english.question_words import TRADING
from kbkit.questions.attribute_tests import ConditionPart
from kbkit.questions.clauses import Restriction, is_type
from kbkit.questions.condition_joins import ConditionJoins
from kbkit.questions.expressions import whole_number
from kbkit.questions.link_words import is_participle
from kbkit.questions.ways import NotReadError

_LEAST_SAID = 0.25
"""Least similarity of another verb and what it counts."""


class CountTests(ConditionJoins):
    """Writes tests of numbers of nodes for the conditions of one question."""

    def _counted_path(self, owner: int, counted: int) -> PathFunction:
        """Return the number of nodes of a type that meet the conditions on them: *trips to Leeds*."""
        path, held = self._count(owner, counted, self._said_hop), self._held.get(counted, ())
        if not held:
            return path
        end = self._joined(counted, [self._part(one, counted, [counted]) for one in held])
        return replace(path, elements=(*path.elements[:-1], end))

    def _is_counted(self, kind: int, owner: int, restriction: Restriction, counted: Collection[int]) -> int:
        """Return the type of counted nodes that a condition on a type is about, or leads through; -1 if it is none."""
        if self._counts(restriction) or self.clauses.is_either:
            return -1
        kinds = {*counted, *(one for r in self.clauses.restrictions for one in self._counts(r))} - {owner}
        through = [int(self.elements.target[hop]) for path in self._paths(kind, owner)[:1] for hop in path[:-1]]
        return next((one for one in sorted(kinds) if one == kind or one in through), -1)

    def _counts(self, restriction: Restriction) -> list[int]:
        """Return the type whose nodes a condition counts, if it counts nodes."""
        label = restriction.label
        is_number = bool(restriction.values) and bool(restriction.values[0].number)
        if not is_number or label is None or not is_type(label) or restriction.operand not in ("", "number"):
            return []
        return [label.types()[0].type] if restriction.adjective is None else []

    def _used(self, owner: int) -> int:
        """Return the type that *most borrowed* counts: the only one, if the verb may mean it."""
        kind = self._only_neighbour(owner)
        hops = [hop for path in self._paths(owner, kind)[:1] for hop in path]
        for verb in self.clauses.verbs[-1:]:
            types, relations = self.elements.type_labels.similarity(verb), self.elements.labels.similarity(verb)
            own = self.elements.types[owner].name
            others = [one for one in map(self.elements.all.__getitem__, hops) if one.name != own]
            said = max([float(types[kind]), *(float(relations[one.label]) for one in others)])
            if is_participle(verb) and verb not in TRADING and said < _LEAST_SAID:
                raise NotReadError(f"'{verb}'")  # most cited, of papers with reviews
        return kind

    def _only_neighbour(self, owner: int) -> int:
        """Return the type that a verb alone must mean: the only one whose nodes refer to those of a type."""
        raise NotImplementedError

    def _part(self, restriction: Restriction, owner: int, near: list[int], dry: bool = False) -> ConditionPart:
        """Return a condition as a test of a type, or as named nodes of a type."""
        raise NotImplementedError

    def _counting(self, restriction: Restriction, owner: int, counted: int) -> ConditionPart:
        """Return a condition on the number of nodes of a type."""
        if restriction.operand == "node":
            return self._than_node(restriction, owner, self._count(owner, counted))
        if restriction.operand not in ("", "times", "number") or restriction.op == "between":
            raise NotReadError("a count that is compared with more than a number")
        if "-" in restriction.values[0].number:
            raise NotReadError("a count that is compared with a month")
        number = Decimal(restriction.values[0].number)
        return ConditionPart(
            owner, (Comparison(self._counted_path(owner, counted), *whole_number(restriction.op, number)),)
        )

    def _than_node(self, restriction: Restriction, owner: int, measure: Measure, op: str = "") -> ConditionPart:
        value = restriction.values[0]
        kinds = {self.elements.type_number(node): node for node in reversed(value.nodes)}
        column = (ValueColumn(measure),)
        if owner in kinds:
            known = self.elements.types[owner].name
            tree = Aggregate("max", Nodes(known, self._selector(owner, kinds[owner])), column)
        else:
            near = [kind for kind in kinds if not isinstance(measure, PathFunction) and self._is_single(kind, owner)]
            if len(near) != 1:
                raise NotReadError(f"a comparison with {value.text}")
            tree = Aggregate(
                "max", self._followed(self._named_node(kinds[near[0]]), self._path(near[0], owner)), column
            )
        return ConditionPart(owner, (Comparison(measure, op or restriction.op, tree),))
