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
    Nodes,
    Not,
    Path,
    PathFunction,
    Superlative,
    ValueColumn,
    subtrees,
)
from kbkit.questions.dropped_parts import denied_part, is_of_each, of_each_value, second_question
from kbkit.questions.label_option import LabelOption
from kbkit.questions.period_rules import dated
from kbkit.questions.plans import Planner
from kbkit.questions.reading_words import answer_type
from kbkit.questions.ways import NotReadError

_PERIODS = {len("2023"): "year", len("2023-03"): "month"}
"""The periods that dates are compared with, by how long they are written."""


class SeveralPlanner(Planner):
    """Plans all that one question asks for."""

    def plan(self) -> Expression:
        """Return the expression; raise :class:`NotReadError` if there is none."""
        tree = self._with_measure(self._of_each_value(self._of_amount(super().plan())))
        return self._of_no_node(self._beside_names(self._with_names(tree)))

    def _of_amount(self, tree: Expression) -> Expression:
        """Return the sum of an amount for each group: *donation value by kind of donor* asks for no pairs of both."""
        if not isinstance(tree, Aggregate) or tree.op != "values" or tree.order:
            return tree
        rows = tree.groups or tuple(Group(column.measure) for column in tree.columns)
        if len(rows) < 2 or self._tokens.count("by") != 1 or "and" in self._tokens:
            return tree
        first, *groups = rows
        number = LabelOption(self._kind_of(tree.source), first.measure) if isinstance(first.measure, str) else None
        labels = [target.label for target in self.clauses.targets if target.label is not None]
        is_first = bool(labels) and labels[0].last < list(self._tokens).index("by") + 1
        if number is None or first.measure in ("name", "key") or not is_first or not self._is_number(number):
            return tree
        if number.attribute not in self._amounts_of(number.type):
            raise NotReadError("'by'")
        return Aggregate("sum", tree.source, (ValueColumn(number.attribute),), tuple(groups))

    def _of_each_value(self, tree: Expression) -> Expression:
        """Return a total for each of the values that it is of: what *male and female* animals weigh on average."""
        named = [r for r in self.clauses.restrictions if len(r.values) > 1 and r.op == "all" and not r.negated]
        text = " ".join(self._tokens)
        if len(named) != 1 or not isinstance(tree, Aggregate):
            return tree
        if all(value.nodes and not value.values for value in named[0].values):
            return self._of_each_node(tree, text)
        tests = of_each_value(tree, text, is_compared=self.clauses.is_compared)
        if len(tests) != 1:
            return tree
        [(source, test)] = tests
        option = LabelOption(self._kind_of(source), test.attribute)
        self.focus = self._kind_of(tree.source)
        group = self._group_of(option)
        if self._is_date(option) and self._type_of(option).startswith(("DATE", "TIMESTAMP")):
            periods = {_PERIODS.get(len(str(value))) for value in test.values}
            if len(periods) != 1 or None in periods:
                raise NotReadError("a total of each date")
            group = dated(group, str(periods.pop()))
        return replace(tree, groups=(group,))

    def _of_each_node(self, tree: Aggregate, text: str) -> Expression:
        """Return a total for each of the nodes that are named, if every node that counts belongs to one of them."""
        named = [part for part in subtrees(tree.source) if isinstance(part, Combine) and part.op == "|"]
        own, is_one_total = self._kind_of(tree.source), is_of_each(tree, text, is_compared=self.clauses.is_compared)
        if is_one_total and not named and not any(r.is_both for r in self.clauses.restrictions) and _meets_names(tree):
            raise NotReadError("a total of each")  # countries in Asia and Africa: hardly those in both
        if len(named) != 1 or not is_one_total or any(not isinstance(one, Nodes) for one in named[0].parts):
            return tree
        kind = self._kind_of(named[0])
        if kind == own or not self._is_single(own, kind):
            return tree  # films of two actors: also of others
        return replace(tree, groups=(Group(self._count(own, kind)),))

    def _of_no_node(self, tree: Expression) -> Expression:
        """Return the values that none of the denied nodes has: the breeds of which *no* dog was ever treated."""
        asked = [target.label for target in self.clauses.targets if target.label is not None]
        is_sure = bool(asked) and asked[0].first == 1 and asked[0].labels[0].score == 1
        denied = denied_part(self.elements, tree, " ".join(self._tokens)) if is_sure else None
        if denied is None or denied.is_no or not isinstance(tree, Aggregate):
            return tree
        [column] = tree.columns
        test = Comparison(column.measure, "=", Aggregate("values", denied.others, tree.columns))
        return Aggregate("values", Filter(denied.everything, (Not((test,)),)), tree.columns)

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

    def _beside_names(self, tree: Expression) -> Expression:
        """Return columns beside the names of the nodes that they are of, if these have names."""
        is_rows = isinstance(tree, Aggregate) and tree.op == "values" and bool(tree.groups)
        if not isinstance(tree, Aggregate) or not is_rows or not self.clauses.lists_columns:
            return tree
        is_named = Group("name") in tree.groups or self._is_nameless(self._kind_of(tree.source))
        return tree if is_named else replace(tree, groups=(Group("name"), *tree.groups))

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
        kinds, own = self._types_in(self.clauses.context)[:1], self._kind_of(tree.source)
        [column] = tree.columns
        if not kinds or kinds[0] == own:
            return replace(tree, columns=(ValueColumn("name"), column))
        if not self._is_single(own, kinds[0]) or not isinstance(column.measure, str):
            raise NotReadError(f"'{found[1]}'")
        groups = (Group(self._count(own, kinds[0])), Group(column.measure))  # which pots are sold by which channel
        return Aggregate("values", tree.source, (), groups)

    def _kind_of(self, tree: Expression) -> int:
        """Return the number of the type of an expression's nodes."""
        name = answer_type(tree)
        return next(number for number, one in enumerate(self.elements.types) if one.name == name)


def _meets_names(tree: Aggregate) -> bool:
    """Return whether a total is of the nodes that several named nodes of one type lead to."""
    meet = next((part for part in subtrees(tree.source) if isinstance(part, Combine) and part.op == "&"), None)
    starts = [part.elements[0] for part in meet.parts if isinstance(part, Path)] if meet is not None else []
    named = [one for one in starts if isinstance(one, Nodes) and one.selector is not None]
    return len(named) > 1 and len({one.type for one in named}) == 1
