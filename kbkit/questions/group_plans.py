"""Plan what is asked of groups: totals and best nodes of each, frequent values, and the greatest sums and averages."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.attribute_values import ColumnValues
from kbkit.answers.syntax import (
    Aggregate,
    Expression,
    Filter,
    Group,
    GroupTest,
    Nodes,
    Order,
    Superlative,
    ValueColumn,
)
from kbkit.english.words import inflections, lemmas_of
from kbkit.questions.asked_kinds import AskedPlanner
from kbkit.questions.clauses import AskedTarget, Most, Restriction, is_type
from kbkit.questions.expressions import both, compared_number, whole_number
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import FAINT, LITERAL
from kbkit.questions.measure_rules import MeasureRestriction
from kbkit.questions.period_rules import PeriodLink
from kbkit.questions.ways import NotReadError

_SURELY = 0.9
"""Least score of a label that is surely a further column."""
_COUNTED_OPS = ("=", ">", "<", ">=", "<=")


class GroupPlanner(AskedPlanner):
    """Plans what is asked of groups of nodes."""

    def _most_of_values(self, totals: list[AskedTarget], plain: list[AskedTarget]) -> None:
        """Read *which region has the most states* as the most frequent region of states."""
        most = self.clauses.most
        if most is None or most.is_common or most.is_use or totals or len(plain) != 1 or not is_type(most.label):
            return
        asked, label = plain[0].label, most.label
        if asked is None or label is None or (most.adjective.nouns and not most.is_number) or is_type(asked):
            return
        kind = self._types_in([label])[0]
        option = self._attribute(asked, [kind])
        is_shared = option.attribute not in ("name", "key") if option.type == kind else not self._is_telling(option)
        if is_shared:
            self.focus = kind
            self.clauses.most = replace(most, label=asked, is_common=True)

    def _frequent_values(self, totals: list[AskedTarget], plain: list[AskedTarget]) -> Expression | None:
        """Return the values that many nodes have: ``which districts have more than two branches``."""
        clauses = self.clauses
        counts = [r for r in clauses.restrictions if r.op in _COUNTED_OPS and is_type(r.label) and not r.operand]
        if totals or clauses.most or clauses.context or clauses.groups or len(plain) != 1 or len(counts) != 1:
            return None
        [counted], asked = counts, plain[0].label
        if asked is None or is_type(asked) or counted.adjective is not None or not counted.values[0].number.isdigit():
            return None
        kind = self._types_in([counted.label] if counted.label else [])[0]
        option = self._attribute(asked, [kind])
        if self._is_telling(option):
            return None
        self.focus = kind
        clauses.restrictions.remove(counted)
        test = GroupTest("count", *whole_number(counted.op, Decimal(counted.values[0].number)))
        return Aggregate("count", self._met(kind), (), (self._group_of(option),), having=(test,))

    def _measured_values(self, totals: list[AskedTarget]) -> Expression | None:
        """Return the values whose nodes have a total: ``which courses have an average score above 70``."""
        clauses = self.clauses
        measured = [r for r in clauses.restrictions if isinstance(r, MeasureRestriction)]
        found = [r for r in measured if r.of is not None and not is_type(r.of)]
        if not found:
            return None
        if len(measured) > 1 or totals or clauses.most or clauses.groups or found[0].label is None:
            raise NotReadError("a total for each")
        [one] = found
        assert one.of is not None and one.label is not None
        self.focus = self._attribute(one.label, [self.focus], True).type
        option, own = self._summed(one.label, one.total), self._attribute(one.of, [self.focus])
        if self._is_telling(own) or self._is_date(option):
            raise NotReadError(f"the {one.total} of one value")
        everything, rest = clauses.restrictions, [r for r in clauses.restrictions if r is not one]
        clauses.restrictions = rest
        tree = self._met(self.focus)
        clauses.restrictions = everything  # chains must express it
        test = GroupTest(one.total, *compared_number("DOUBLE", one.op, one.values[0].number))
        column = ValueColumn(option.attribute)
        return Aggregate(one.total, tree, (column,), (self._group_of(own),), having=(test,))

    def _is_telling(self, option: LabelOption) -> bool:
        """Return whether an attribute hardly has a value twice, as the names of nodes."""
        if option.attribute in ("name", "key") or self._type_of(option) != "VARCHAR":
            return True
        node_type = self.elements.types[option.type]
        known = next(a for a in node_type.attributes if a.name == option.attribute)
        values = ColumnValues.of(self.elements.session.stores).distinct(node_type, known)
        return not values or len(values) >= 0.9 * node_type.count

    def _best_of_groups(self, tree: Expression, plain: list[AskedTarget]) -> Expression:
        """Return the best nodes of each group beside the group: ``the oldest student in each class``."""
        groups = list(self._groups(self.clauses.groups))
        options = [self._attribute(target.label, [self.focus]) for target in plain if target.label is not None]
        groups += [Group("name"), *(self._group_of(option) for option in options)]
        return Aggregate("values", tree, (), tuple(dict.fromkeys(groups)))

    def _of_each(self, tree: Expression) -> Expression:
        """Return nodes beside what they are grouped by: the winner of each category."""
        if self._is_nameless(self.focus):
            raise NotReadError("'each'")
        return self._best_of_groups(tree, [])

    def _grouped(self, tree: Expression, totals: list[AskedTarget], plain: list[AskedTarget]) -> Expression:
        found = self._of_group(tree, totals)
        if isinstance(found, Aggregate):
            found = replace(found, groups=(*found.groups, *self._beside_groups(plain, found.groups)))
        order = self.clauses.order
        if order is None or not isinstance(found, Aggregate) or len(found.ops) > 1:
            return found
        if order[0] is None and self.clauses.order_by is not None:  # highest first
            return replace(found, order=(Order(found.op, order[1]),))
        return found

    def _beside_groups(self, plain: list[AskedTarget], groups: tuple[Group, ...]) -> list[Group]:
        """Return attributes of the nodes that are grouped by, as further groups: the maker's id beside its name."""
        kinds = [link.types()[0].type for link in self.clauses.groups if is_type(link)]
        found: list[Group] = []
        for target in plain:
            option = self._attribute(target.label, kinds) if target.label is not None else None
            if option is None or option.attribute == "name" or option.score < _SURELY:
                continue
            path = self._count(self.focus, option.type) if option.type != self.focus else None
            group = Group(option.attribute) if path is None else Group(path, attribute=option.attribute)
            if group not in groups:
                found.append(group)
            if option.type not in kinds and group not in groups:
                raise NotReadError("a total beside values")
        return list(dict.fromkeys(found))

    def _large_groups(self, totals: list[AskedTarget]) -> list[Restriction]:
        """Return conditions on how many of the nodes that are asked about a group has: *countries with 5 rivers*."""
        groups = [link for link in self.clauses.groups if is_type(link)]
        if not totals or len(groups) != len(self.clauses.groups) or len(groups) != 1:
            return []
        counts = (r for r in self.clauses.restrictions if r.op in _COUNTED_OPS and is_type(r.label) and not r.operand)
        return [r for r in counts if r.label is not None and self._types_in([r.label]) == [self.focus]]

    def _in_large_groups(self, tree: Expression, large: list[Restriction]) -> Expression:
        """Return the nodes that belong to groups which meet the conditions of :meth:`_large_groups`."""
        kind = self._types_in(self.clauses.groups)[0]
        parts = [self._counting(one, kind, self.focus) for one in large]
        return both(tree, self._followed(self._joined(kind, parts), self._path(kind, self.focus)))

    def _of_group(self, tree: Expression, totals: list[AskedTarget]) -> Expression:
        groups = self._groups(self.clauses.groups)
        if len(totals) > 1:
            return self._several(tree, totals, groups)
        [target] = totals
        if target.label is None:
            return Aggregate("count", tree, (), groups)
        columns: tuple[ValueColumn, ...] = ()
        if target.total != "count":
            columns = (ValueColumn(self._summed(target.label, target.total).attribute),)
        return Aggregate(target.total, tree, columns, groups)

    def _counted_rows(self, totals: list[AskedTarget], plain: list[AskedTarget]) -> Expression | None:
        """Return a count beside each node of the groups, if these meet all conditions and may share what is counted.

        How many students are in each of *Ann's courses*: not in the other courses of these students.
        """
        clauses, conditions = self.clauses, self.clauses.restrictions
        kinds = [link.types()[0].type for link in clauses.groups if is_type(link)]
        is_count = len(totals) == 1 and totals[0].total == "count" and totals[0].label is not None and not plain
        is_open = is_count and len(kinds) == len(clauses.groups) == 1 and bool(conditions)
        if not is_open or clauses.most or clauses.order or kinds[0] == self.focus:
            return None
        if self._is_single(self.focus, kinds[0]) or any(one.op == "none" for one in conditions):
            return None
        owners = [self._owner(one, [kinds[0], self.focus]) for one in conditions]
        are_others = (self._distance(one, kinds[0]) >= self._distance(one, self.focus) for one in owners)
        if not clauses.are_theirs and any(are_others):
            return None
        count = self._count(kinds[0], self.focus)
        return Aggregate("values", self._met(kinds[0]), (ValueColumn("name"), ValueColumn(count)))

    def _rows_of_ends(self, tree: Expression, found: list[tuple[AskedTarget, LabelOption]]) -> Expression | None:
        """Return rows of two nodes of a type by their relations: the *origin and destination cities* of routes."""
        kinds = {option.type for _, option in found} - {self.focus}
        hops = [self._end_said(target, option.type) for target, option in found] if len(kinds) == 1 else []
        if len(hops) != len({*hops}) or len(hops) < len(("origin", "destination")) or -1 in hops:
            return None
        [kind], name = kinds, found[-1][1].attribute
        paths = [self._count(self.focus, kind, hop) for hop in hops]
        groups = [Group(path) if name in ("name", "key") else Group(path, attribute=name) for path in paths]
        self.doubts.followed |= {self.elements.all[hop].label for hop in hops}
        return Aggregate("values", tree, (), tuple(groups))

    def _end_said(self, target: AskedTarget, kind: int) -> int:
        """Return the hop to one node of a type that a target says, of several to it; -1 if there is none."""
        elements, label = self.elements, target.label
        hops = [hop for hop in elements.from_type(self.focus).tolist() if elements.all[hop].target == kind]
        if label is None or len(hops) < len(("origin", "destination")):
            return -1
        words = label.text.casefold().split()
        said = [hop for hop in hops if hop in label.role or self._expressed([hop], words) >= LITERAL]
        return said[0] if len(said) == 1 and elements.is_single(said[0]) else -1

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

    def _greatest_sum(self, totals: list[AskedTarget], plain: list[AskedTarget]) -> Expression | None:
        """Return the nodes of the focus whose neighbours have the greatest sum, or least; None if it is no sum."""
        most, is_grouped = self.clauses.most, bool(self.clauses.groups)
        if most is None or not (most.total or most.is_amount) or most.label is None or is_type(most.label):
            return None
        is_sum = bool(most.total)
        option = self._summed(most.label, "sum") if is_sum else self._attribute(most.label, [self.focus], True)
        if not is_sum:
            if option.type == self.focus or self._is_date(option) or self._is_single(self.focus, option.type):
                return None
            self.clauses.most = most = replace(most, total="sum")  # the projects with the most hours
        if option.type == self.focus or (
            most.total and len(plain) == 1 and plain[0].label and not is_type(plain[0].label)
        ):
            return self._greatest_of_values(most, option, totals, plain)
        if totals or plain or is_grouped:
            raise NotReadError("a total for each beside values")
        group, column = Group(self._count(option.type, self.focus)), ValueColumn(option.attribute)
        order = (Order(most.total, most.adjective.sign > 0),)
        return Aggregate(most.total, self._met(option.type), (column,), (group,), order, most.count)

    def _greatest_count(self, most: Most, totals: list[AskedTarget], plain: list[AskedTarget]) -> Expression:
        """Return the nodes of the focus with the most neighbours among some: the actor in the most horror films."""
        clauses = self.clauses
        if totals or plain or clauses.groups or len(clauses.restrictions) > len(most.among):
            raise NotReadError("a condition beside the one on what is counted")
        kind = self._of_head(most.among[-1], []) if most.label is None else self._types_in([most.label])[0]
        if kind == self.focus:
            raise NotReadError(f"what there is most of, of '{most.among[-1].text}'")
        group = Group(self._count(kind, self.focus))
        order = (Order("count", most.adjective.sign > 0),)
        return Aggregate("count", self._met(kind), (), (group,), order, most.count)

    def _greatest_of_values(
        self, most: Most, option: LabelOption, totals: list[AskedTarget], plain: list[AskedTarget]
    ) -> Expression | None:
        """Return the values whose nodes have the greatest sum or average: the region with the highest total area."""
        asked = plain[0].label if len(plain) == 1 and not totals and not self.clauses.groups else None
        if asked is None or is_type(asked):
            return None
        own = self._attribute(asked, [option.type])
        if own.attribute in ("name", "key"):
            return None
        self.focus = option.type
        tree, column = self._met(self.focus), ValueColumn(option.attribute)
        if own.type == option.type and self._is_of_one(own):  # top 3 years by rainfall, of one row each
            op = "top" if most.adjective.sign > 0 else "bottom"
            best = Filter(tree, (Superlative(op, option.attribute, number=most.count),))
            return Aggregate("values", best, (ValueColumn(own.attribute),))
        order = (Order(most.total, most.adjective.sign > 0),)
        return Aggregate(most.total, tree, (column,), (self._group_of(own),), order, most.count)

    def _is_of_one(self, option: LabelOption) -> bool:
        """Return whether no two nodes of a type have the same value of an attribute."""
        node_type = self.elements.types[option.type]
        values = Aggregate("values", Nodes(node_type.name), (ValueColumn(option.attribute),))
        found = AnswerSet(self.elements.session, values).value
        return isinstance(found, list) and len(found) == node_type.count

    def _counted_for_values(self) -> int:
        """Return the only type whose values a question asks to be ranked by number: makes of vehicles; else -1."""
        most = self.clauses.most
        kinds = (
            {o.type for o in most.label.attributes() if o.score == 1} if most and most.is_common and most.label else ()
        )
        return next(iter(kinds)) if len(kinds) == 1 else -1

    def _commonest(self, tree: Expression, most: Most, plain: list[AskedTarget]) -> Expression:
        """Return the most frequent values of an attribute with their number, or the nodes with most neighbours."""
        assert most.label is not None
        sign = most.adjective.sign
        if self.clauses.groups or {*self._tokens} & {"each", "every", "per"}:
            raise NotReadError("the most frequent of each")
        said = {option.attribute for option in most.label.labels}
        for label in (target.label for target in plain):
            if label is not None and not is_type(label) and said.isdisjoint(o.attribute for o in label.labels):
                raise NotReadError(f"'{label.text}'")  # the most parts in stock
        if is_type(most.label):
            kind = self._types_in([most.label])[0]
            around = {self.elements.all[hop].target for hop in self.elements.from_type(kind).tolist()}
            others = [one for one in self._types_in(self.clauses.context) if one != kind]
            others = others or (list(around) if len(around) == 1 else [])
            if not others:
                raise NotReadError(f"what '{most.label.text}' is common among")
            if self.clauses.restrictions:
                group, order = Group(self._count(others[0], kind)), (Order("count", sign > 0),)
                return Aggregate("count", self._met(others[0]), (), (group,), order, most.count)
            count = self._count(kind, others[0])
            return Filter(Nodes(self.elements.types[kind].name), (Superlative("max" if sign > 0 else "min", count),))
        if most.is_use:
            verb = self.clauses.verbs.pop()
            if not self._is_of_type(verb):
                raise NotReadError(f"'{verb}'")  # which species we see most: animals, or visits
        if isinstance(most.label, PeriodLink):
            group = self._group(most.label)
        else:
            option = self._attribute(most.label, [self.focus])
            if option.type != self.focus and not self._is_single(self.focus, option.type):
                raise NotReadError(f"whether '{most.label.text}' is counted once for each")  # makes, with customers
            group = self._group_of(option)
        order = (Order("count", sign > 0),)
        return Aggregate("count", tree, (), (group,), order, most.count)

    def _is_of_type(self, verb: str) -> bool:
        """Return whether nodes of the focus are what a verb makes: what was prescribed, of prescriptions."""
        forms = {verb, *(form for lemma in lemmas_of(verb).get("VERB", ()) for form in inflections(lemma, "VBN"))}
        return self.elements.typed and any(
            self.elements.type_labels.similarity(form)[self.focus] >= FAINT for form in forms
        )
