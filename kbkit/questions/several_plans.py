"""Complete an expression by what a question asks for beside it: names, the number that is compared, a total of each."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Comparison,
    Expression,
    Filter,
    Group,
    Not,
    PathFunction,
    Superlative,
    ValueColumn,
)
from kbkit.questions.dropped_parts import denied_values, of_each_value, second_question
from kbkit.questions.plans import Planner
from kbkit.questions.reading_words import answer_type
from kbkit.questions.ways import NotReadError

_SIDES = 2
"""Sides of one difference."""


class SeveralPlanner(Planner):
    """Plans all that one question asks for."""

    def plan(self) -> Expression:
        """Return the expression; raise :class:`NotReadError` if there is none."""
        return self._of_no_node(self._with_names(self._with_measure(self._of_each_value(super().plan()))))

    def _of_each_value(self, tree: Expression) -> Expression:
        """Return a total for each of the values that it is of: what *male and female* animals weigh on average."""
        text = " ".join(self._tokens)
        tests = of_each_value(tree, text, is_compared=self.clauses.is_compared)
        if len(tests) != 1 or not isinstance(tree, Aggregate):
            return tree
        [(source, test)] = tests
        kind = self._kind_of(source)
        own = self._kind_of(tree.source)
        if kind == own:
            return replace(tree, groups=(Group(test.attribute),))
        return replace(tree, groups=(Group(self._count(own, kind), attribute=test.attribute),))

    def _of_no_node(self, tree: Expression) -> Expression:
        """Return the values that none of the denied nodes has: the breeds of which *no* dog was ever treated."""
        text, asked = " ".join(self._tokens), [target.label for target in self.clauses.targets if target.label]
        others = denied_values(self.elements, tree, text) if asked and asked[0].first == 1 else None
        if others is None or not isinstance(tree, Aggregate) or not isinstance(tree.source, Combine):
            return tree
        if len(tree.source.parts) > _SIDES:
            raise NotReadError("several negations of values")
        [column] = tree.columns
        everything = tree.source.parts[0]
        test = Comparison(column.measure, "=", Aggregate("values", others, tree.columns))
        return Aggregate("values", Filter(everything, (Not((test,)),)), tree.columns)

    def _with_measure(self, tree: Expression) -> Expression:
        """Return the number that a superlative or a condition compares beside the nodes: *..., and how many?*."""
        if not self.clauses.tells_measure or (isinstance(tree, Aggregate) and tree.groups and tree.op != "values"):
            return tree
        last = tree.conditions[-1] if isinstance(tree, Filter) else None
        tokens = list(self._tokens)
        asks = "how much" if ["how", "much"] in (tokens[at : at + 2] for at in range(len(tokens))) else "how many"
        is_count = isinstance(last, Superlative | Comparison) and isinstance(last.measure, PathFunction)
        if not isinstance(last, Superlative | Comparison) or (is_count and asks == "how much"):
            raise NotReadError(f"'{asks}'")
        return Aggregate("values", tree, (ValueColumn("name"), ValueColumn(last.measure)))

    def _with_names(self, tree: Expression) -> Expression:
        """Return names beside values that a second question is about: *which dog is the heaviest, and how ...*."""
        if not isinstance(tree, Aggregate) or tree.op != "values" or len(tree.columns) != 1 or tree.groups:
            return tree
        text = " ".join(self._tokens)
        asks = re.match(r"(?:which|who|whose) ", text)
        found = second_question(text)
        place = len(text[: found.start(1)].split()) if found else 0
        labels = [target.label for target in self.clauses.targets if target.label is not None]
        if asks is None or found is None or not labels or any(label.first < place for label in labels):
            return tree
        return replace(tree, columns=(ValueColumn("name"), *tree.columns))

    def _kind_of(self, tree: Expression) -> int:
        """Return the number of the type of an expression's nodes."""
        name = answer_type(tree)
        return next(number for number, one in enumerate(self.elements.types) if one.name == name)
