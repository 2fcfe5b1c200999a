"""Write the clauses of a question as an answer expression: choose attributes and types, and join them by relations.

The nodes that are asked for are the *focus*. A condition on another type selects the nodes of the focus that a path of
relations leads to; the shortest path is taken, and of several the one whose relations the question expresses best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Expression,
    Filter,
    Group,
    Measure,
    Nodes,
    Order,
    Superlative,
    ValueColumn,
)
from kbkit.english.question_words import ADJECTIVES, PRICES, Adjective
from kbkit.english.words import is_plural
from kbkit.questions.clauses import AskedTarget, is_type
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.related_plans import RelatedPlanner
from kbkit.questions.ways import NotReadError

_EXISTING = frozenset("exist exists there".split())  # noqa: SIM905
"""Words by which a question may ask whether a KB has a node that it names."""
_PART = 0.7
"""Score of a label below which a word is only a part of it."""
_OTHER = 0.8
"""Least score of a label that means an attribute of other nodes beside the ones asked for."""


class Planner(RelatedPlanner):
    """Plans expressions for the clauses of one question."""

    def plan(self) -> Expression:  # noqa: PLR0912
        """Return the expression; raise :class:`NotReadError` if there is none."""
        clauses = self.clauses
        if clauses.unread:
            raise NotReadError(clauses.unread[0])
        if clauses.asks_for == "when" and self._tokens[:1] == ["how"] and {*self._tokens[1:2]} & {*ADJECTIVES}:
            raise NotReadError("'when'")  # how old was she when she won
        context = [link.labels[0].type for link in clauses.context]
        if len(set(context)) < len(context):  # states that border states
            raise NotReadError("a relation between nodes of one type")
        clauses.context += [link for link in clauses.events if link.labels[0].type not in context]
        if clauses.is_how_much and not clauses.targets:
            clauses.targets.append(self._how_much())
        if clauses.averaged is not None:
            if clauses.targets:
                raise NotReadError("an average")  # how late are flights on average, of a flight_no
            clauses.targets.append(self._averaged(clauses.averaged))
        where_when = [found for found in (self._when(), self._where()) if found is not None]
        if clauses.is_where and clauses.asks_for == "when" and len(where_when) == 1:
            raise NotReadError("'where and when'")
        clauses.targets += where_when[::-1]
        asked = self._asked()
        if clauses.is_yes_no and not clauses.targets:
            related = self._related() or self._occurred()
            if related is not None:
                return Aggregate("exists", related)
        targets = self._unique(clauses.targets)
        targets = [self._uncounted(target) for target in targets]
        totals = [target for target in targets if target.total]
        total_of = {target.label.labels[0] for target in totals if target.label is not None and target.label.labels}
        said = {(option.type, option.attribute) for option in total_of if option.attribute}
        plain = [target for target in targets if not target.total and _meaning(target) not in said]
        plain = _parts_joined([target for target in plain if not self._is_part_of_held(target)])
        self.focus = self._focus(totals, plain) if asked is None else asked
        if (sums := self._greatest_sum(totals, plain)) is not None:
            return sums
        if clauses.most is not None and clauses.most.among:
            return self._greatest_count(clauses.most, totals, plain)
        frequent = self._frequent_values(totals, plain) or self._measured_values(totals)
        if (rows := frequent or self._counted_rows(totals, plain)) is not None:
            return rows
        self._most_of_values(totals, plain)
        everything, large = clauses.restrictions, self._large_groups(totals)
        clauses.restrictions = [one for one in everything if one not in large]
        tree = self._selected(totals)
        clauses.restrictions = everything  # chains must express them
        tree = self._in_large_groups(tree, large) if large else tree
        if clauses.is_who and not targets and not clauses.is_yes_no and self._is_nameless(self.focus):
            column = self._naming_column(self.focus)
            if column:
                return Aggregate("values", tree, (ValueColumn(column),))
            tree = self._owners(tree)
        if not targets and not clauses.is_yes_no and not clauses.groups and self._is_nameless(self.focus):
            tree = self._as_people(tree)
        self._check_named(tree, totals)
        for word in self._saying:
            self._explain(word)
        return self._answered(tree, totals, plain)

    def _check_named(self, tree: Expression, totals: list[AskedTarget]) -> None:
        """Raise an error if an expression answers with a node that the question names."""
        clauses, named = self.clauses, _named_in(tree)
        is_open = bool(clauses.unexplained) or _EXISTING.isdisjoint(self._tokens)
        is_said = clauses.is_yes_no and not (named is tree and is_open)  # did Malta ever win
        if named is not None and not clauses.targets and not clauses.most and not is_said:
            raise NotReadError(f"what is asked of {named.selector}")
        if named is not None and named is tree and any(target.total == "count" for target in totals):
            raise NotReadError("what is counted")  # how many authors did Ann influence: not Ann

    def _answered(self, tree: Expression, totals: list[AskedTarget], plain: list[AskedTarget]) -> Expression:
        """Return what is asked of the nodes that meet the conditions."""
        clauses = self.clauses
        if _are_two_names(tree):
            raise NotReadError("how these names are related")
        if clauses.is_yes_no and not totals and all(map(self._is_held, plain)):
            return Aggregate("exists", tree)
        if clauses.groups and totals:
            return self._grouped(tree, totals, plain)
        if self._has_best_of_groups(totals):
            return self._best_of_groups(tree, plain)
        if clauses.most is not None and clauses.most.is_common:
            return self._commonest(tree, clauses.most, plain)
        if totals:
            return self._total(tree, totals, plain)
        return self._listed(tree, [*plain, *self._of_groups()])

    def _measure_of_rows(self, tree: Expression) -> str:
        """Return the attribute that a superlative compares, if nodes without names have it: *the largest payment*."""
        is_of_value = not self.clauses.context and not self.clauses.groups
        tests = tree.conditions if isinstance(tree, Filter) and is_of_value else ()
        last = tests[-1] if tests and not self.clauses.order else None
        if not isinstance(last, Superlative) or not isinstance(last.measure, str) or not self._is_nameless(self.focus):
            return ""
        return last.measure

    def _unique(self, targets: Iterable[AskedTarget]) -> list[AskedTarget]:
        """Return the targets without repetitions: ``citizenship and the number of singers of each citizenship``."""
        return list({target.meaning: target for target in reversed(list(targets))}.values())[::-1]

    def _of_groups(self) -> list[AskedTarget]:
        """Return groups that are asked for only, as no total is: ``the name of each battle``."""
        return [AskedTarget(link) for link in self.clauses.groups if not link.types()]

    def _focus(self, totals: list[AskedTarget], plain: list[AskedTarget]) -> int:  # noqa: PLR0911, PLR0912
        """Return the type of the nodes that the question is about."""
        context = self._types_in(self.clauses.context)
        groups = self._types_in(self.clauses.groups)
        columns = [o.type for link in self.clauses.groups for o in link.attributes()[:1] if o.score == 1]
        if self.clauses.head is not None:
            return self._of_head(self.clauses.head, context)
        if (counted := self._counted_for_values()) in context:
            return counted
        for target in totals:
            if target.label is not None:
                if target.total == "count" and is_type(target.label):
                    return self._types_in([target.label])[0]
                near = [*context, *(groups or columns)] or self._conditioned()  # takings by method of pay, from helmets
                return self._attribute(target.label, near).type
        if context:
            return context[0]
        if groups and any(target.total == "count" and target.label is None for target in totals):
            return (self._conditioned() or groups)[0]  # how many women are in each course
        compared = [node for r in self.clauses.restrictions if r.operand == "node" for node in r.values[0].nodes[:1]]
        if compared and not plain and not groups:
            return self.elements.type_number(compared[0])
        if not self.clauses.groups or plain:
            for target in sorted(plain, key=_is_of_any):
                if target.label is not None and target.label.attributes():
                    known = [*groups, *self._conditioned()]
                    return self._attribute(target.label, known).type
        if groups:
            return groups[0]
        owners = self._conditioned()
        if owners:
            head = self._head_of_values()
            return owners[0] if head is None else head
        raise NotReadError("the question does not say what it asks for")

    def _head_of_values(self) -> int | None:
        """Return the type of a plural value at the end of a question: *jurassic fossils* are specimens, not places."""
        values = [value for one in self.clauses.restrictions if not one.label for value in one.values]
        last = max(values, key=lambda value: value.first, default=None)
        if last is None or not last.values or last.last < len(self._tokens) or not is_plural(last.text.casefold()):
            return None
        return last.values[0].type

    def _listed(self, tree: Expression, plain: list[AskedTarget]) -> Expression:
        """Return nodes, or their values in the order that is asked for."""
        if plain and self.clauses.context and {*plain} == {*self._of_groups()}:  # the winner of each category
            return self._of_each(tree)
        if not plain and (measure := self._measure_of_rows(tree)):
            return Aggregate("values", tree, (ValueColumn(measure),))
        faint = [target.label for target in plain if target.label is not None]
        if faint and self._asks_nodes() and all(label.labels[0].score < _PART for label in faint):
            raise NotReadError(f"'{faint[0].text}'")  # which adopters took home a dog: not their home_type
        near = [self.focus, *self._types_in(self.clauses.context)]
        options: list[LabelOption] = []
        found = [
            (target, self._attribute(target.label, [*self._types_in([target.of] if target.of else []), *near]))
            for target in plain
            if target.label is not None
        ]
        for target, option in found:
            self._check_asked(target, option)
        rows = self._rows_of_ends(tree, found)
        if rows is None and len({option.type for _, option in found}) > 1:
            rows = self._joined_rows(tree, [option for _, option in found])
        if rows is not None:
            return rows
        for _, option in found:
            if option.type != self.focus:
                if (option.type, self.focus) in self._taken:
                    raise NotReadError("a way there and back")
                tree = self._followed(tree, self._path(self.focus, option.type))
                self.focus = option.type
            options.append(option)
        options = [option for option in options if not self._is_told(option)]
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

    def _check_asked(self, target: AskedTarget, option: LabelOption) -> None:
        """Raise an error for an attribute that a target hardly asks for, or note the doubt."""
        asks = target.label.text.casefold() if target.label is not None else ""
        is_span = "years" in label_words(option.attribute)
        if asks in ("year", "date", "month") and (is_span or not self._is_date(option)):
            raise NotReadError(f"'{asks}'")  # in what year: not the max_age_years
        if {*label_words(option.attribute)} & {*PRICES} and self._have_prices_of_edges():
            raise NotReadError("which of several prices is meant")  # what a wine costs at a shop
        if target.of is not None and option.score < _OTHER and option.type not in {o.type for o in target.of.types()}:
            self.doubts.words.append(option.attribute)  # the number of the trials: hardly one of their reports

    def _have_prices_of_edges(self) -> bool:
        """Return whether the edges of a relation that is followed have a price."""
        schema, elements = self.elements.session.schema, self.elements
        names = {one.name for one in elements.all[: elements.hops] if one.label in self.doubts.followed}
        columns = (column for name in names for column in schema.relation(name).attributes)
        return any({*label_words(column.name)} & {*PRICES} for column in columns)

    def _asks_nodes(self) -> bool:
        """Return whether a question begins with *which* and a type."""
        asks = self._tokens[:1] in (["which"], ["what"])
        return asks and any(link.first == 1 and link.is_whole_type for link in self._links)

    def _is_held(self, target: AskedTarget) -> bool:
        """Return whether a condition says already that what is asked for holds: does the *branch open* on *Sundays*."""
        held = [r.label.labels[0] for r in self.clauses.restrictions if r.op == "holds" and r.label is not None]
        own = target.label.labels[0] if target.label is not None else None
        return own is not None and (own.type, own.attribute) in {(one.type, one.attribute) for one in held}

    def _is_part_of_held(self, target: AskedTarget) -> bool:
        """Return whether what is asked for may be the end of a column that must say yes: *good with kids*."""
        labels = [r.label for r in self.clauses.restrictions if r.op == "holds" and r.label is not None]
        held = {(label.labels[0].type, label.labels[0].attribute) for label in labels if label.labels[0].score < 1}
        own = target.label.labels if target.label is not None else ()
        return any((one.type, one.attribute) in held for one in own)

    def _is_told(self, option: LabelOption) -> bool:
        """Return whether the question tells the value of an attribute of the nodes asked for: *written in Swedish*."""
        if self.focus not in self._types_in(self.clauses.context):
            return False
        tested = [r.values[0] for r in self.clauses.restrictions if r.op == "=" and not r.negated and r.values]
        return any(
            (value.type, value.attribute) == (option.type, option.attribute) for one in tested for value in one.values
        )

    def _named_together(self, options: list[LabelOption]) -> int | None:
        """Return the type of the several nodes whose values are asked for, which need their names beside them."""
        if not options or any(option.attribute in ("name", "key") for option in options):
            return None
        if self.focus in self._types_in(filter(is_type, self.clauses.groups)) and not self._is_nameless(self.focus):
            return self.focus  # the height of each tower
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
            elif option.score >= _OTHER:
                groups.append(self._group_of(option))
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
        return (Order(self._measure_of(self._attribute(link, near)), descending),)

    def _measure_of(self, option: LabelOption) -> Measure:
        """Return an attribute by which nodes are ordered: their own, or that of the only node that each leads to."""
        if option.type == self.focus:
            return option.attribute
        if not self._is_single(self.focus, option.type):
            raise NotReadError("an order by an attribute of other nodes")
        return replace(self._count(self.focus, option.type), op="max", attribute=option.attribute)

    def _first_of(self, adjective: Adjective, options: list[LabelOption]) -> Order:
        """Return the order by what is asked for or tested, or by what an adjective compares: *oldest first*."""
        tests = [r for r in self.clauses.restrictions if r.op != "missing"]
        tested = [r.label.attributes()[0] for r in tests if r.label and r.label.attributes()]
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
            if option.is_boolean:
                raise NotReadError(f"'{target.label.text}'")  # loans requiring a courier
            return Aggregate("count", tree, (ValueColumn(option.attribute),))
        option = self._summed(target.label, target.total)
        if option.type != self.focus:
            raise NotReadError(f"'{target.label.text}' of other nodes")
        return Aggregate(target.total, tree, (ValueColumn(option.attribute),))

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
                columns = (ValueColumn(self._summed(total.label, total.total).attribute),)
            return Aggregate(total.total, tree, columns, (group,))
        raise NotReadError("a total beside values")


def _parts_joined(targets: list[AskedTarget]) -> list[AskedTarget]:
    """Return targets with one for two that are parts of one name: *the shape of its tower*, of a tower_shape."""
    for place, (one, two) in enumerate(pairwise(targets)):
        labels = [target.label.attributes() if target.label is not None else [] for target in (one, two)]
        if all(found and found[0].score < _OTHER for found in labels):
            first, second = ({(option.type, option.attribute): option for option in found} for found in labels)
            shared = first.keys() & second.keys()
            if len(shared) == 1 and one.label is not None:
                both = replace(one, label=replace(one.label, labels=(first[shared.pop()],)))
                return [*targets[:place], both, *targets[place + 2 :]]
    return targets


def _meaning(target: AskedTarget) -> tuple[int, str] | None:
    """Return the type and attribute that a target means first of all: the length in hours is one of a duration."""
    best = target.label.labels[0] if target.label is not None and target.label.labels else None
    return None if best is None else (best.type, best.attribute)


def _is_of_any(target: AskedTarget) -> bool:
    """Return whether a target is a name or key of several types, so that another one tells whose it is."""
    options = target.label.attributes() if target.label is not None else []
    return len({option.type for option in options}) > 1 and all(o.attribute in ("name", "key") for o in options)


def _are_two_names(tree: Expression) -> bool:
    """Return whether an expression asks for a node that is two others: did Ann ever fly with Bob."""
    parts = tree.parts if isinstance(tree, Combine) and tree.op == "&" else ()
    return len({part for part in parts if isinstance(part, Nodes) and part.selector is not None}) > 1


def _named_in(tree: Expression) -> Nodes | None:
    """Return the node that an expression answers with though the question names it, if there is one."""
    if isinstance(tree, Filter):
        return _named_in(tree.source)
    if isinstance(tree, Combine) and tree.op != "-":
        return next((named for part in tree.parts if (named := _named_in(part)) is not None), None)
    return tree if isinstance(tree, Nodes) and tree.selector is not None else None
