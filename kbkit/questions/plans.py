"""Write the clauses of a question as an answer expression: choose attributes and types, and join them by relations.

The nodes that are asked for are the *focus*. A condition on another type selects the nodes of the focus that a path of
relations leads to; the shortest path is taken, and of several the one whose relations the question expresses best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kbkit.answers.attribute_values import ColumnValues
from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Expression,
    Filter,
    Group,
    Nodes,
    Order,
    Superlative,
    ValueColumn,
)
from kbkit.english.question_words import Adjective
from kbkit.questions.clauses import AskedTarget, Most, is_type
from kbkit.questions.conditions import ConditionPlanner
from kbkit.questions.elements import MAX_HOPS
from kbkit.questions.links import LabelOption, QuestionLink
from kbkit.questions.meanings import NotReadError


_PLACE = 0.6
"""Least similarity of *where* and a type of places."""
_TELLING = 0.25
"""How much better words must express one of several types that may be asked for."""


class Planner(ConditionPlanner):
    """Plans expressions for the clauses of one question."""

    def plan(self) -> Expression:
        """Return the expression; raise :class:`NotReadError` if there is none."""
        clauses = self.clauses
        if clauses.unread:
            raise NotReadError(clauses.unread[0])
        context = [link.labels[0].type for link in clauses.context]
        if len(set(context)) < len(context):  # states that border states
            raise NotReadError("a relation between nodes of one type")
        if clauses.is_how_much and not clauses.targets:
            clauses.targets.append(self._how_much())
        is_open = not clauses.targets and not clauses.groups
        asked = self._asked_kind() if is_open and (clauses.is_who or clauses.is_where) else None
        if is_open and clauses.is_who and asked is None and not clauses.context:
            kinds = [*(link.labels[0].type for link in clauses.said), *self._tested()]
            asked = next((kind for kind in kinds if self._is_nameless(kind) and self._naming_column(kind)), None)
        if clauses.asks_for and not clauses.targets and not clauses.context and asked is None:
            raise NotReadError(f"'{clauses.asks_for}'")
        if clauses.is_yes_no and not clauses.targets:
            related = self._related()
            if related is not None:
                return Aggregate("exists", related)
        targets = self._unique(clauses.targets)
        targets = [self._uncounted(target) for target in targets]
        totals = [target for target in targets if target.total]
        plain = [target for target in targets if not target.total]
        self.focus = self._focus(totals, plain) if asked is None else asked
        if clauses.most is not None and clauses.most.is_total and (sums := self._greatest_sum(clauses.most)):
            if totals or plain or clauses.groups:
                raise NotReadError("a total for each beside values")
            return sums
        if clauses.most is not None and clauses.groups and not totals and not clauses.most.is_common:
            raise NotReadError("a superlative for each")
        tree = self._selected()
        if clauses.is_who and not targets and not clauses.is_yes_no and self._is_nameless(self.focus):
            column = self._naming_column(self.focus)
            if column:
                return Aggregate("values", tree, (ValueColumn(column),))
            tree = self._owners(tree)
        named = _named_in(tree)
        if named is not None and not clauses.targets and not clauses.most and not clauses.is_yes_no:
            raise NotReadError(f"what is asked of {named.selector}")
        if clauses.is_yes_no and not totals and not plain:
            return Aggregate("exists", tree)
        if clauses.groups and totals:
            return self._grouped(tree, totals)
        if clauses.most is not None and clauses.most.is_common:
            return self._commonest(tree, clauses.most)
        if totals:
            return self._total(tree, totals, plain)
        return self._listed(tree, [*plain, *self._of_groups()])

    def _how_much(self) -> AskedTarget:
        """Return the amount that *how much* asks for: the only number of a type that the question names.

        It is a total if a node may have several: what a customer has in accounts.
        """
        kinds = list(dict.fromkeys(self._types_in(self.clauses.context)))
        numbers = [(kind, name) for kind in kinds if (name := self._only_number(kind))]
        about = self._conditioned()
        if len(kinds) != 1 or not numbers or not about:
            raise NotReadError("'how much'")
        [(kind, name)] = numbers
        link = QuestionLink(0, 0, "how much", (LabelOption(kind, name, 1.0, True),))
        is_one = all(one == kind or self._is_single(one, kind) for one in about)
        return AskedTarget(link, "" if is_one else "sum")

    def _asked_kind(self) -> int | None:
        """Return the type of people, or of places, that *who* and *where* ask for: the nearest to what is named.

        None if the question names one itself, if there is none, or if several are as near.
        """
        fits = self._are_people if self.clauses.is_who else self._are_places
        named = self._types_in(self.clauses.context)
        compared = [node for r in self.clauses.restrictions if r.operand == "node" for node in r.values[0].nodes[:1]]
        if compared or any(map(fits, [*named, *self._tested()])):
            return None  # who is older than Ann: as she is
        about = [*self._conditioned(), *named]
        kinds = [kind for kind in range(len(self.elements.types)) if fits(kind) and kind not in about]
        kinds = [kind for kind in kinds if min((self._distance(one, kind) for one in about), default=0) <= MAX_HOPS]
        if len(kinds) < 2 or not about:
            return kinds[0] if len(kinds) == 1 else None
        near = sorted((self._distance(about[0], kind), kind) for kind in kinds)
        if self._tested() and near[0][0] < near[1][0]:
            return near[0][1]  # who paid the most fines: those whose loans have them
        ranked = sorted(((self._said(about[0], kind), kind) for kind in kinds), reverse=True)
        if ranked[0][0] - ranked[1][0] < _TELLING:  # who borrowed the book: not its author
            raise NotReadError("'who'" if self.clauses.is_who else "'where'")
        return ranked[0][1]

    def _said(self, source: int, kind: int) -> float:
        """Return how well words of the question express a type, or the relations that lead there."""
        names = self.elements.type_labels.similarity
        own = max((float(names(word)[kind]) for word in self._words), default=0.0)
        paths = self._paths(source, kind)
        return max([own, *(self._expressed([hop]) for path in paths[:1] for hop in path)])

    def _tested(self) -> list[int]:
        """Return the types whose attributes the conditions and the superlative test."""
        links = [r.label for r in self.clauses.restrictions]
        links += [self.clauses.most.label] if self.clauses.most else []
        found = [link.labels[0].type for link in links if link is not None and link.labels and link.labels[0].attribute]
        return found + [one.type for r in self.clauses.restrictions for value in r.values for one in value.values[:1]]

    def _are_people(self, kind: int) -> bool:
        return kind in self.elements.people

    def _are_places(self, kind: int) -> bool:
        return float(self.elements.type_labels.similarity("where")[kind]) >= _PLACE

    def _owners(self, tree: Expression) -> Expression:
        """Return the named nodes that nameless ones belong to: the owners of accounts."""
        hops = self.elements.from_type(self.focus).tolist()
        named = {int(self.elements.target[hop]) for hop in hops} - {self.focus}
        named = {kind for kind in named if not self._is_nameless(kind)}
        if len(named) != 1:
            raise NotReadError("'who'")
        [kind] = named
        tree, self.focus = self._followed(tree, self._path(self.focus, kind)), kind
        return tree

    def _naming_column(self, kind: int) -> str:
        """Return the only text attribute that tells nameless nodes apart; empty if there is none, or several."""
        node_type = self.elements.types[kind]
        known = ColumnValues.of(self.elements.session.stores)
        texts = [a for a in node_type.attributes if a.type == "VARCHAR"]
        telling = [a.name for a in texts if len(known.distinct(node_type, a)) == node_type.count]
        return telling[0] if len(telling) == 1 else ""

    def _is_nameless(self, kind: int) -> bool:
        """Return whether the nodes of a type are called by their keys only, to judge by the first."""
        nodes = self.elements.session.stores.nodes
        row = nodes.row(self.elements.types[kind].first)
        return row.name == row.key

    def _uncounted(self, target: AskedTarget) -> AskedTarget:
        """Return the attribute itself for a number that is an attribute: ``how many cylinders does it have``."""
        if target.total != "count" or target.is_distinct or target.label is None or target.label.types():
            return target
        is_number = all(self._is_number(option) for option in target.label.attributes())
        return AskedTarget(target.label, "", target.of) if is_number else target

    def _related(self) -> Expression | None:
        """Return the second of two named nodes if a relation leads there from the first: ``Is Japan in Asia``."""
        restrictions = self.clauses.restrictions
        if len(restrictions) == 1 and restrictions[0].op == "all":
            restrictions = self._apart()
        is_pair = len(restrictions) == 2 and not self.clauses.context and not self.clauses.most
        if not is_pair or any(r.operand or r.negated or not r.values or not r.values[0].nodes for r in restrictions):
            return None
        pairs = [
            (self._expressed(path), path, first, second)
            for first in restrictions[0].values[0].nodes[:2]
            for second in restrictions[1].values[0].nodes[:2]
            for path in self._ways(self.elements.type_number(first), self.elements.type_number(second))
        ]
        if not pairs:
            return None
        ranked = sorted(pairs, key=lambda pair: (len(pair[1]), -pair[0]))
        best = ranked[0]
        if len(ranked) > 1 and len(ranked[1][1]) == len(best[1]) and best[0] - ranked[1][0] < 0.2:
            self.doubts.choices += 1
        _, path, first, second = best
        self.doubts.relations += len(path)
        self.doubts.followed |= {self.elements.all[hop].label for hop in path}
        ends = [self._named_node(node) for node in (first, second)]
        return Combine("&", (self._followed(ends[0], path), ends[1]))

    def _unique(self, targets: Iterable[AskedTarget]) -> list[AskedTarget]:
        """Return the targets without repetitions: ``citizenship and the number of singers of each citizenship``."""
        return list({target.meaning: target for target in reversed(list(targets))}.values())[::-1]

    def _of_groups(self) -> list[AskedTarget]:
        """Return groups that are asked for only, as no total is: ``the name of each battle``."""
        return [AskedTarget(link) for link in self.clauses.groups if not link.types()]

    def _focus(self, totals: list[AskedTarget], plain: list[AskedTarget]) -> int:
        """Return the type of the nodes that the question is about."""
        context = self._types_in(self.clauses.context)
        groups = self._types_in(self.clauses.groups)
        for target in totals:
            if target.label is not None:
                if target.total == "count" and is_type(target.label):
                    return self._types_in([target.label])[0]
                return self._attribute(target.label, [*context, *groups]).type
        if context:
            return context[0]
        compared = [node for r in self.clauses.restrictions if r.operand == "node" for node in r.values[0].nodes[:1]]
        if compared and not plain and not groups:
            return self.elements.type_number(compared[0])
        if not self.clauses.groups or plain:
            for target in plain:
                if target.label is not None and target.label.attributes():
                    known = [*groups, *self._conditioned()]
                    return self._attribute(target.label, known).type
        if groups:
            return groups[0]
        owners = self._conditioned()
        if owners:
            return owners[0]
        raise NotReadError("the question does not say what it asks for")

    def _listed(self, tree: Expression, plain: list[AskedTarget]) -> Expression:
        """Return nodes, or their values in the order that is asked for."""
        near = [self.focus, *self._types_in(self.clauses.context)]
        options: list[LabelOption] = []
        found = [
            (target, self._attribute(target.label, [*self._types_in([target.of] if target.of else []), *near]))
            for target in plain
            if target.label is not None
        ]
        if len({option.type for _, option in found}) > 1:
            return self._joined_rows(tree, [option for _, option in found])
        for _, option in found:
            if option.type != self.focus:
                if (option.type, self.focus) in self._taken:
                    raise NotReadError("a way there and back")
                tree = self._followed(tree, self._path(self.focus, option.type))
                self.focus = option.type
            options.append(option)
        several = self._named_together(options)
        if several is not None and several != self.focus:
            groups = [Group(self._count(self.focus, several)), *(Group(option.attribute) for option in options)]
            return Aggregate("values", tree, (), tuple(dict.fromkeys(groups)))
        if several is not None:
            options.insert(0, LabelOption(self.focus, "name"))
        order = self._order(near, options)
        names = list(dict.fromkeys(option.attribute for option in options))
        if not order and set(names) <= {"name", "key"}:
            return tree
        columns = tuple(ValueColumn(name) for name in names or ["name"])
        return Aggregate("values", tree, columns, order=order)

    def _named_together(self, options: list[LabelOption]) -> int | None:
        """Return the type of the several nodes whose values are asked for, which need their names beside them."""
        if not options or any(option.attribute in ("name", "key") for option in options):
            return None
        for restriction in self.clauses.restrictions:
            nodes = [value.nodes for value in restriction.values]
            if len(nodes) > 1 and all(nodes) and not restriction.negated:
                kind = self.elements.type_number(nodes[0][0])
                if kind == self.focus or self._is_single(self.focus, kind):
                    return kind
        return None

    def _joined_rows(self, tree: Expression, options: list[LabelOption]) -> Expression:
        """Return attributes of the nodes beside the names of other nodes: the songs and their singers."""
        kinds = list(dict.fromkeys(option.type for option in options))
        owner = next((option.type for option in options if option.attribute not in ("name", "key")), None)
        owner = max(kinds, key=lambda kind: self._references(kind, kinds)) if owner is None else owner
        if not self.clauses.restrictions and self.clauses.most is None:
            tree, self.focus = Nodes(self.elements.types[owner].name), owner
        elif owner != self.focus:
            tree = self._followed(tree, self._path(self.focus, owner))
            self.focus = owner
        groups = []
        for option in options:
            if option.type == self.focus:
                groups.append(Group(option.attribute))
            elif option.attribute in ("name", "key"):
                groups.append(Group(self._count(self.focus, option.type)))
            else:
                raise NotReadError(f"'{option.attribute}' of other nodes in the same row")
        if self.clauses.order is not None:
            raise NotReadError("an order of pairs")
        return Aggregate("values", tree, (), tuple(dict.fromkeys(groups)))

    def _references(self, kind: int, others: list[int]) -> int:
        """Return how many relations lead forward from a type to others, as from songs to their singers."""
        paths = [self._paths(kind, other)[:1] for other in others if other != kind]
        return sum(int(self.elements.all[hop].forward) for path in paths for hops in path for hop in hops)

    def _order(self, near: list[int], options: list[LabelOption]) -> tuple[Order, ...]:
        if self.clauses.order is None:
            return ()
        link, descending = self.clauses.order
        if link is None and self.clauses.order_by is not None:
            return (self._first_of(self.clauses.order_by, options),)
        if link is None:
            return (Order(options[0].attribute if options else "name", descending),)
        if link.labels and not link.labels[0].attribute and link.types()[0].type != self.focus:
            return (Order(self._count(self.focus, link.types()[0].type), descending),)
        if is_type(link):
            return (Order("name", descending),)
        option = self._attribute(link, near)
        if option.type != self.focus:
            raise NotReadError("an order by an attribute of other nodes")
        return (Order(option.attribute, descending),)

    def _first_of(self, adjective: Adjective, options: list[LabelOption]) -> Order:
        """Return the order by what is asked for or tested, or by what an adjective compares: *oldest first*."""
        tested = [r.label.attributes()[0] for r in self.clauses.restrictions if r.label and r.label.attributes()]
        known = [option for option in [*options, *tested] if option.type == self.focus and self._is_number(option)]
        if adjective.dates:
            known = [option for option in known if self._is_date(option)]
        option = known[0] if known else self._by_adjective(adjective, [self.focus])
        return Order(option.attribute, (adjective.sign > 0) != (adjective.dates and self._is_date(option)))

    def _total(self, tree: Expression, totals: list[AskedTarget], plain: list[AskedTarget]) -> Expression:
        """Return one number for all nodes: a count or an aggregate of an attribute."""
        if len(totals) > 1:
            if plain:
                raise NotReadError("several totals beside values")
            return self._several(tree, totals)
        [target] = totals
        if target.label is None:
            return Aggregate("count", tree)
        if plain:
            return self._beside(tree, target, plain)
        if target.total == "count":
            if is_type(target.label):
                return Aggregate("count", tree)
            option = self._attribute(target.label, [self.focus])
            return Aggregate("count", tree, (ValueColumn(option.attribute),))
        option = self._attribute(target.label, [self.focus], True)
        return Aggregate(target.total, tree, (ValueColumn(option.attribute),))

    def _several(self, tree: Expression, totals: list[AskedTarget], groups: tuple[Group, ...] = ()) -> Expression:
        """Return several aggregates in a row: ``the average and the maximum age``."""
        if any(target.total not in ("sum", "avg", "min", "max") for target in totals):
            raise NotReadError("a count beside another total")
        options = [self._attribute(target.label, [self.focus], True) for target in totals if target.label is not None]
        if {option.type for option in options} != {self.focus}:
            raise NotReadError("totals of different kinds of nodes")
        names = [option.attribute for option in options]
        columns = tuple(ValueColumn(name) for name in (names[:1] if len({*names}) == 1 else names))
        return Aggregate(", ".join(target.total for target in totals), tree, columns, groups)

    def _beside(self, tree: Expression, total: AskedTarget, plain: list[AskedTarget]) -> Expression:
        """Return a total for each of the values beside it, or the values of the nodes with the greatest or least."""
        assert total.label is not None
        near = [*self._types_in(self.clauses.context), self.focus]
        options = [
            self._attribute(target.label, [*self._types_in([target.of] if target.of else []), *near])
            for target in plain
            if target.label is not None
        ]
        owners = {option.type for option in options}
        if owners == {self.focus} and total.total in ("max", "min"):
            name = self._attribute(total.label, [self.focus], True).attribute
            tree = Filter(tree, (Superlative(total.total, name),))
            return Aggregate("values", tree, tuple(ValueColumn(one) for one in [name, *(o.attribute for o in options)]))
        if len(owners) == 1 and owners != {self.focus} and {o.attribute for o in options} <= {"name", "key"}:
            group = Group(self._count(self.focus, owners.pop()))
            columns: tuple[ValueColumn, ...] = ()
            if total.total != "count":
                columns = (ValueColumn(self._attribute(total.label, [self.focus], True).attribute),)
            return Aggregate(total.total, tree, columns, (group,))
        raise NotReadError("a total beside values")

    def _grouped(self, tree: Expression, totals: list[AskedTarget]) -> Expression:
        found = self._of_group(tree, totals)
        order = self.clauses.order
        if order is None or not isinstance(found, Aggregate) or len(found.ops) > 1:
            return found
        if order[0] is None and self.clauses.order_by is not None:  # highest first
            return replace(found, order=(Order(found.op, order[1]),))
        return found

    def _of_group(self, tree: Expression, totals: list[AskedTarget]) -> Expression:
        group = self._group(self.clauses.groups)
        if len(totals) > 1:
            return self._several(tree, totals, (group,))
        [target] = totals
        if target.label is None:
            return Aggregate("count", tree, (), (group,))
        columns: tuple[ValueColumn, ...] = ()
        if target.total != "count":
            columns = (ValueColumn(self._attribute(target.label, [self.focus], True).attribute),)
        return Aggregate(target.total, tree, columns, (group,))

    def _group(self, links: list[QuestionLink]) -> Group:
        if len({link.labels for link in links}) > 1:
            raise NotReadError("groups by two things")
        link = links[0]
        if is_type(link):
            kind = link.types()[0].type
            if kind == self.focus:
                return Group("name")
            return Group(self._count(self.focus, kind))
        option = self._attribute(link, [self.focus, *self._types_in(self.clauses.context)])
        if option.type == self.focus:
            return Group(option.attribute)
        if option.attribute in ("name", "key"):
            return Group(self._count(self.focus, option.type))
        raise NotReadError("groups by an attribute of other nodes")

    def _greatest_sum(self, most: Most) -> Expression | None:
        """Return the nodes of the focus whose neighbours have the greatest or least sum; None if it is a plain number."""
        assert most.label is not None
        option = self._attribute(most.label, [self.focus], True)
        if option.type == self.focus:
            return None
        if not self._is_single(option.type, self.focus):
            raise NotReadError("a total for each")
        group, column = Group(self._count(option.type, self.focus)), ValueColumn(option.attribute)
        order = (Order("sum", most.adjective.sign > 0),)
        return Aggregate("sum", self._met(option.type), (column,), (group,), order, most.count)

    def _commonest(self, tree: Expression, most: Most) -> Expression:
        """Return the most frequent values of an attribute with their number, or the nodes with most neighbours."""
        assert most.label is not None
        sign = most.adjective.sign
        if is_type(most.label):
            kind = self._types_in([most.label])[0]
            others = [one for one in self._types_in(self.clauses.context) if one != kind]
            if not others:
                raise NotReadError(f"what '{most.label.text}' is common among")
            count = self._count(kind, others[0])
            return Filter(Nodes(self.elements.types[kind].name), (Superlative("max" if sign > 0 else "min", count),))
        option = self._attribute(most.label, [self.focus])
        order = (Order("count", sign > 0),)
        return Aggregate("count", tree, (), (Group(option.attribute),), order, most.count)


def _named_in(tree: Expression) -> Nodes | None:
    """Return the node that an expression answers with though the question names it, if there is one."""
    if isinstance(tree, Filter):
        return _named_in(tree.source)
    if isinstance(tree, Combine) and tree.op != "-":
        return next((named for part in tree.parts if (named := _named_in(part)) is not None), None)
    return tree if isinstance(tree, Nodes) and tree.selector is not None else None
