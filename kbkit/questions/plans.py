"""Write the clauses of a question as an answer expression: choose attributes and types, and join them by relations.

The nodes that are asked for are the *focus*. A condition on another type selects the nodes of the focus that a path of
relations leads to; the shortest path is taken, and of several the one whose relations the question expresses best.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from kbkit.answers.syntax import (
    Aggregate,
    Column,
    Combine,
    Comparison,
    Condition,
    Count,
    CountTest,
    Expression,
    Filter,
    Group,
    Key,
    Measure,
    Name,
    Nodes,
    Order,
    Path,
    Superlative,
    Test,
)
from kbkit.english.question_words import Adjective
from kbkit.questions.clauses import Clauses, Most, Restriction, Target
from kbkit.questions.elements import Elements, numeric
from kbkit.questions.expressions import step
from kbkit.questions.links import LabelOption, Link

MAX_PATH = 3
"""Limit on the relations between two types."""
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


class NotReadError(Exception):
    """The clauses have no expression; the message says which of them."""


@dataclass
class Doubts:
    """What makes a plan doubtful: the worst score of a label, relations that are followed, and choices by chance."""

    label: float = 1.0
    relations: int = 0
    choices: int = 0
    words: list[str] = field(default_factory=list)
    followed: set[int] = field(default_factory=set)
    """The labels of the relations that are followed."""


class Planner:
    """Plans expressions for the clauses of one question."""

    def __init__(self, elements: Elements, links: Sequence[Link], clauses: Clauses, words: Iterable[str]) -> None:
        self._links = links
        self.elements, self.clauses, self.doubts = elements, clauses, Doubts()
        self._words = list(words)
        self.focus = -1
        self._named: dict[int, list[Expression]] = {}

    # -- the parts --------------------------------------------------------------------------------------------------

    def plan(self) -> Expression:
        """Return the expression; raise :class:`NotReadError` if there is none."""
        clauses = self.clauses
        if clauses.unread:
            raise NotReadError(clauses.unread[0])
        context = [link.labels[0].type for link in clauses.context]
        if len(set(context)) < len(context) and clauses.unexplained:  # states that border states
            raise NotReadError("a relation between nodes of one type")
        if clauses.asks_for and not clauses.targets and not clauses.context:
            raise NotReadError(f"'{clauses.asks_for}'")
        if clauses.is_yes_no and not clauses.targets:
            related = self._related()
            if related is not None:
                return Aggregate("exists", related)
        targets = self._unique(clauses.targets)
        targets = [self._uncounted(target) for target in targets]
        totals = [target for target in targets if target.total]
        plain = [target for target in targets if not target.total]
        self.focus = self._focus(totals, plain)
        tree = self._selected()
        if clauses.is_yes_no and not totals and not plain:
            return Aggregate("exists", tree)
        if clauses.groups and totals:
            return self._grouped(tree, totals, plain)
        if clauses.most is not None and clauses.most.is_common:
            return self._commonest(tree, clauses.most)
        if totals:
            return self._total(tree, totals, plain)
        return self._listed(tree, [*plain, *self._of_groups()])

    def _uncounted(self, target: Target) -> Target:
        """Return the attribute itself for a number that is an attribute: ``how many cylinders does it have``."""
        if target.total != "count" or target.is_distinct or target.label is None or target.label.types():
            return target
        is_number = all(self._is_number(option) for option in target.label.attributes())
        return Target(target.label, "", target.of) if is_number else target

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

    def _named_node(self, node: int) -> Nodes:
        kind = self.elements.type_number(node)
        return Nodes(self.elements.types[kind].name, self._selector(kind, node))

    def _ways(self, source: int, target: int) -> list[list[int]]:
        """Return the shortest paths between two types, or the relations of one type."""
        if source != target:
            return self._paths(source, target)
        hops = self.elements.from_type(source).tolist()
        return [[hop] for hop in hops if self.elements.target[hop] == target]

    def _unique(self, targets: Iterable[Target]) -> list[Target]:
        """Return the targets without repetitions: ``citizenship and the number of singers of each citizenship``."""
        result: list[Target] = []
        for target in targets:
            known = [(one.label and one.label.labels, one.total) for one in result]
            if (target.label and target.label.labels, target.total) not in known:
                result.append(target)
        return result

    def _types_before(self, link: Link | None) -> list[int]:
        """Return the types that the question names before a link, the nearest first."""
        if link is None:
            return []
        before = [one for one in self._links if one.last <= link.first and one.labels and not one.labels[0].attribute]
        return self._types_in(sorted(before, key=lambda one: -one.first)[:1])

    def _of_groups(self) -> list[Target]:
        """Return groups that are asked for only, as no total is: ``the name of each battle``."""
        return [Target(link) for link in self.clauses.groups if not link.types()]

    def _types_in(self, links: Iterable[Link]) -> list[int]:
        result = []
        for link in links:
            options = link.types()
            if options:
                self.doubts.label = min(self.doubts.label, options[0].score)
                if len(options) > 1 and options[1].score == options[0].score:
                    options = sorted(options, key=lambda option: -self.elements.types[option.type].count)
                    self.doubts.choices += 1
                result.append(options[0].type)
        return result

    def _focus(self, totals: list[Target], plain: list[Target]) -> int:
        """Return the type of the nodes that the question is about."""
        context = self._types_in(self.clauses.context)
        groups = self._types_in(self.clauses.groups)
        for target in totals:
            if target.label is not None:
                if target.total == "count" and target.label.types() and target.label == self._first(target.label, True):
                    return self._types_in([target.label])[0]
                return self._attribute(target.label, [*context, *groups]).type
        if context:
            return context[0]
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

    def _first(self, link: Link, is_type: bool) -> Link | None:
        """Return the link if its best option is a type (or is not)."""
        return link if bool(link.labels) and (not link.labels[0].attribute) == is_type else None

    def _conditioned(self) -> list[int]:
        """Return the types that own what the conditions and the superlative test."""
        links = [r.label for r in self.clauses.restrictions]
        links += [self.clauses.most.label] if self.clauses.most else []
        found = []
        for link in links:
            if link is not None and link.labels:
                found.append(link.labels[0].type)
        for restriction in self.clauses.restrictions:
            for value in restriction.values:
                found += [one.type for one in value.values[:1]]
                found += [self.elements.type_number(node) for node in value.nodes[:1]]
        return found

    def _attribute(self, link: Link, near: Iterable[int], is_number_only: bool = False) -> LabelOption:
        """Return the attribute that a label means: the one nearest to some types, the first of them most of all."""
        near = list(near)
        options = [o for o in link.attributes() if not is_number_only or self._is_number(o)]
        if not options:
            raise NotReadError(f"'{link.text}' is no {'number' if is_number_only else 'attribute'}")

        def cost(option: LabelOption) -> float:
            steps = [self._distance(option.type, kind) + 0.5 * place for place, kind in enumerate(near)]
            return min(steps, default=0.0) - 2 * option.score

        ranked = sorted(options, key=cost)
        best = ranked[0]
        if len(ranked) > 1 and cost(ranked[1]) == cost(best):
            self.doubts.choices += 1
        self.doubts.label = min(self.doubts.label, best.score)
        return best

    def _is_number(self, option: LabelOption) -> bool:
        return numeric(self._type_of(option))

    def _type_of(self, option: LabelOption) -> str:
        if option.attribute in ("name", "key"):
            return "VARCHAR"
        attributes = self.elements.types[option.type].attributes
        return next((a.type for a in attributes if a.name == option.attribute), "VARCHAR")

    def _by_adjective(self, adjective: Adjective, near: Iterable[int]) -> LabelOption:
        """Return the numeric attribute that an adjective compares: ``oldest`` an age, or a year of birth."""
        labels, best, chosen = self.elements.labels, 0.0, None
        nouns = [*adjective.nouns, *(("year", "date") if adjective.dates else ())]
        for place, kind in enumerate(dict.fromkeys(near)):
            for at in self.elements.of_kind(2, kind).tolist():  # MOST: numbers and dates
                element = self.elements.all[at]
                for rank, noun in enumerate(nouns):
                    score = float(labels.similarity(noun)[element.label]) - 0.05 * rank - 0.1 * place
                    if score > best:
                        best, chosen = score, LabelOption(kind, element.name, score)
        if chosen is None or best < 0.5:
            raise NotReadError("no attribute fits the adjective")
        self.doubts.label = min(self.doubts.label, best)
        return chosen

    # -- relations ----------------------------------------------------------------------------------------------------

    def _distance(self, source: int, target: int) -> int:
        paths = self._paths(source, target)
        return len(paths[0]) if paths else 9

    def _paths(self, source: int, target: int) -> list[list[int]]:
        """Return the shortest paths from one type to another, as hops; the ones that words express best first."""
        if source == target:
            return [[]]
        elements = self.elements
        queue: deque[list[int]] = deque([[hop] for hop in elements.from_type(source).tolist()])
        found: list[list[int]] = []
        while queue:
            path = queue.popleft()
            if found and len(path) > len(found[0]):
                break
            end = elements.target[path[-1]]
            if end == target:
                found.append(path)
            elif len(path) < MAX_PATH:
                for hop in elements.from_type(int(end)).tolist():
                    if elements.target[hop] != source and hop != elements.inverse[path[-1]]:
                        queue.append([*path, hop])
        return sorted(found, key=lambda path: -self._expressed(path))

    def _expressed(self, path: list[int]) -> float:
        """Return how well the words of the question express the relations of a path."""
        labels = self.elements.labels
        return sum(
            max((float(labels.similarity(word)[self.elements.all[hop].label]) for word in self._words), default=0.0)
            for hop in path
        )

    def _path(self, source: int, target: int) -> list[int]:
        if source == target:
            raise NotReadError(f"{self.elements.types[source].name} twice")
        paths = self._paths(source, target)
        names = [self.elements.types[number].name for number in (source, target)]
        if not paths:
            raise NotReadError(f"no relation leads from {names[0]} to {names[1]}")
        if len(paths) > 1 and self._expressed(paths[0]) - self._expressed(paths[1]) < 0.2:
            self.doubts.choices += 1
        self.doubts.relations += len(paths[0])
        self.doubts.followed |= {self.elements.all[hop].label for hop in paths[0]}
        return paths[0]

    def _followed(self, tree: Expression, path: list[int]) -> Expression:
        """Return the nodes that a path leads to."""
        elements: list[object] = [tree]
        for hop in path:
            one = self.elements.all[hop]
            elements += [step(self.elements, one), Nodes(self.elements.types[one.target].name)]
        return Path(tuple(elements), ("->",) * (len(elements) - 1)) if path else tree  # type: ignore[arg-type]

    def _count(self, source: int, target: int, tree: Expression | None = None) -> Count:
        """Return the number of nodes of a type that a path from another type reaches."""
        path = self._path(source, target)
        whole = self._followed(Nodes(""), path)
        assert isinstance(whole, Path)
        elements = list(whole.elements[1:])
        if tree is not None:
            elements[-1] = tree
        return Count(tuple(elements), ("->",) * len(elements))

    # -- conditions ---------------------------------------------------------------------------------------------------

    def _selected(self) -> Expression:
        """Return the nodes of the focus that meet all conditions."""
        clauses, focus = self.clauses, self.focus
        most = clauses.most if clauses.most and not clauses.most.is_common else None
        near = [focus, *self._types_in(clauses.context)]
        owner = focus
        measure: tuple[LabelOption | None, int] | None = None
        if most is not None:
            measure = self._measured(most, [*self._types_before(most.label), *near])
            owner = measure[0].type if measure[0] is not None else focus
        tree = self._met(owner)
        if most is not None and measure is not None:
            tree = Filter(tree, (self._superlative(most, measure, owner),))
        if owner != focus:
            tree = self._followed(tree, self._path(owner, focus))
        return tree

    def _measured(self, most: Most, near: list[int]) -> tuple[LabelOption | None, int]:
        """Return the attribute or the type whose nodes are counted, for a superlative."""
        label = most.label
        if label is None or (most.adjective.nouns and label.types() and not label.attributes() and not most.is_number):
            return self._by_adjective(most.adjective, self._types_in([label]) if label else near), -1
        options = [option for option in label.attributes() if self._is_number(option)]
        if label.types() and (not options or label.types()[0].score > options[0].score or most.is_number):
            return None, self._types_in([label])[0]
        return self._attribute(label, near, True), -1

    def _superlative(self, most: Most, measure: tuple[LabelOption | None, int], owner: int) -> Superlative:
        option, counted = measure
        sign = most.adjective.sign
        if option is not None and most.adjective.dates and _is_date(option.attribute):
            sign = -sign
        by: Measure = option.attribute if option is not None else self._count(owner, counted)
        if most.count > 1:
            return Superlative("top" if sign > 0 else "bottom", by, number=most.count)
        return Superlative("max" if sign > 0 else "min", by)

    def _met(self, owner: int) -> Expression:
        """Return the nodes of a type that meet the conditions of the question."""
        near = [owner, *([self.focus] if self.focus != owner else []), *self._types_in(self.clauses.context)]
        without = [r for r in self.clauses.restrictions if r.op == "none"]
        inside: dict[int, list[Restriction]] = {}
        for restriction in without:
            inside[self._types_in([restriction.label] if restriction.label else [])[0]] = []
        plain: list[Restriction] = []
        for restriction in self._apart():
            if restriction.op == "none":
                continue
            kind = self._owner(restriction, [*near, *inside])
            (inside[kind] if kind in inside and kind != owner else plain).append(restriction)
        parts = [self._part(restriction, owner, near) for restriction in plain]
        if self.clauses.is_either and len(parts) == 2:
            tree: Expression = Combine("|", tuple(self._joined(owner, [part]) for part in parts))
        else:
            tree = self._joined(owner, parts)
        for kind, restrictions in inside.items():
            lacking = self._joined(kind, [self._part(one, kind, [kind]) for one in restrictions])
            tree = Combine("-", (tree, self._followed(lacking, self._path(kind, owner))))
        reached = {part.owner for part in parts} | set(inside)
        for kind in dict.fromkeys(self._types_in(self.clauses.context)):
            if kind not in reached and kind not in (owner, self.focus) and not self._is_between(kind, owner):
                tree = _and(tree, self._followed(Nodes(self.elements.types[kind].name), self._path(kind, owner)))
        return tree

    def _apart(self) -> list[Restriction]:
        """Return the conditions, with one for each value that is required: ``in Nepal and China``."""
        return [
            replace(restriction, op="=", values=(value,))
            for restriction in self.clauses.restrictions
            for value in (restriction.values if restriction.op == "all" else [None])
            if value is not None
        ] + [restriction for restriction in self.clauses.restrictions if restriction.op != "all"]

    def _is_between(self, kind: int, owner: int) -> bool:
        """Return whether a type stands on the way from what is tested to what is asked for."""
        ends = {self.focus, *self._conditioned()}
        for end in ends:
            for path in self._paths(owner, end)[:1]:
                if any(self.elements.target[hop] == kind for hop in path):
                    return True
        return False

    def _owner(self, restriction: Restriction, near: list[int]) -> int:
        """Return the type that a condition is about."""
        if restriction.label is not None and restriction.label.types() and restriction.op in (
            ">", "<", ">=", "<=", "between"
        ) and not any(self._is_number(option) for option in restriction.label.attributes()):  # fmt: skip
            return near[0]
        return self._part(restriction, near[0], near, dry=True).owner

    def _joined(self, owner: int, parts: list[_Part]) -> Expression:
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
        others: dict[int, list[_Part]] = {}
        for part in parts:
            if part.owner != owner and not part.negated:
                others.setdefault(part.owner if part.tests else -1 - len(others), []).append(part)
        for group in others.values():
            kind = group[0].owner
            tree = _and(tree, self._followed(self._joined(kind, group), self._path(kind, owner)), known)
        for part in parts:
            if part.negated:
                inner = self._joined(part.owner, [_Part(part.owner, part.tests, part.tree)])
                tree = Combine("-", (tree, self._followed(inner, self._path(part.owner, owner))))
        return tree

    def _part(self, restriction: Restriction, owner: int, near: list[int], dry: bool = False) -> _Part:
        """Return a condition as a test of a type, or as named nodes of a type."""
        if restriction.values and not restriction.values[0].number and restriction.operand != "node":
            return self._valued(restriction, near)
        label = restriction.label
        near = [*self._types_before(label), *near]
        if label is not None and restriction.op != "=":
            numbers = [option for option in label.attributes() if self._is_number(option)]
            if label.types() and (not numbers or numbers[0].score < label.types()[0].score):
                counted = self._types_in([label])[0]
                if restriction.operand == "avg":
                    raise NotReadError("a comparison with an average count")
                if dry:
                    return _Part(owner)
                count = self._count(owner, counted)
                if restriction.operand == "node":
                    return self._than_node(restriction, owner, count)
                if restriction.op == "between":
                    raise NotReadError("a range of a count")
                number = float(restriction.values[0].number)
                return _Part(owner, (CountTest(count, restriction.op, int(number)),))
        option = self._compared(restriction, near)
        if restriction.operand == "avg":
            known = Nodes(self.elements.types[option.type].name)
            value = Aggregate("avg", known, (Column(option.attribute),))
            return _Part(option.type, (Comparison(option.attribute, self._op(restriction, option), value),))
        if restriction.operand == "node":
            return self._than_node(restriction, option.type, option.attribute, self._op(restriction, option))
        return _Part(option.type, self._number_tests(restriction, option))

    def _compared(self, restriction: Restriction, near: list[int]) -> LabelOption:
        """Return the attribute that a comparison with a number is about."""
        label = restriction.label
        if label is not None and label.attributes():
            numbers = [option for option in label.attributes() if self._is_number(option)]
            if numbers or not restriction.adjective or restriction.op == "=":
                return self._attribute(label, near, bool(numbers))
        if restriction.adjective is None or not restriction.adjective.nouns:
            raise NotReadError("the number compares with nothing")
        kinds = near + [kind for kind in range(len(self.elements.types)) if kind not in near]
        close = sorted(kinds, key=lambda kind: min(self._distance(kind, one) for one in near))
        return self._by_adjective(restriction.adjective, [kind for kind in close if self._distance(kind, near[0]) < 4])

    def _op(self, restriction: Restriction, option: LabelOption) -> str:
        adjective = restriction.adjective
        if adjective is not None and adjective.dates and _is_date(option.attribute):
            return _FLIPPED.get(restriction.op, restriction.op)
        return restriction.op

    def _than_node(self, restriction: Restriction, owner: int, measure: Measure, op: str = "") -> _Part:
        value = restriction.values[0]
        nodes = [node for node in value.nodes if self.elements.type_number(node) == owner]
        if not nodes or isinstance(measure, Count):
            raise NotReadError(f"a comparison with {value.text}")
        known = self.elements.types[owner].name
        tree = Aggregate("max", Nodes(known, self._selector(owner, nodes[0])), (Column(measure),))
        return _Part(owner, (Comparison(measure, op or restriction.op, tree),))

    def _number_tests(self, restriction: Restriction, option: LabelOption) -> tuple[Test, ...]:
        kind, name = self._type_of(option), option.attribute
        values = [self._typed(value.number, kind) for value in restriction.values]
        op = self._op(restriction, option)
        is_date = kind.startswith(("DATE", "TIMESTAMP"))
        if op == "between":
            low, high = (f"{values[0]}-01-01", f"{values[1]}-12-31") if is_date else values
            return Condition(name, ">=", (low,)), Condition(name, "<=", (high,))
        if is_date:
            year = int(float(restriction.values[0].number))
            if op == "=":
                return Condition(name, ">=", (f"{year:04}-01-01",)), Condition(name, "<", (f"{year + 1:04}-01-01",))
            return (Condition(name, op, (f"{year:04}-{'12-31' if op in ('>', '<=') else '01-01'}",)),)
        if len(values) > 1:
            return (Condition(name, "in", tuple(values), restriction.negated),)
        return (Condition(name, "!=" if restriction.negated else op, (values[0],)),)

    def _typed(self, number: str, kind: str) -> str | int | float:
        """Return a number as an attribute of a DuckDB type has it."""
        if kind.startswith("VARCHAR"):
            return number
        return float(number) if "." in number else int(number)

    def _valued(self, restriction: Restriction, near: list[int]) -> _Part:
        """Return a condition on values or named nodes: of the labelled attribute or type, or else of the nearest."""
        label, first = restriction.label, restriction.values[0]
        if restriction.op == "contains" and label is not None:
            option = self._attribute(label, near)
            return _Part(option.type, (Condition(option.attribute, "contains", (first.text.strip("'\""),)),))
        options: list[tuple[float, int, str]] = []
        for value in first.values:
            options.append((self._near(value.type, near), value.type, value.attribute))
        for node in first.nodes:
            kind = self.elements.type_number(node)
            options.append((self._near(kind, near), kind, ""))
        if label is not None:
            meant = {(o.type, o.attribute if o.attribute not in ("name", "key") else "") for o in label.labels}
            fitting = [one for one in options if (one[1], one[2]) in meant]
            if not fitting and any(not attribute for _, attribute in meant):  # the country France: of that type
                fitting = [one for one in options if one[1] in {kind for kind, attribute in meant if not attribute}]
            if not fitting:
                self.doubts.words.append(label.text)
            options = fitting or options
        if not options:
            raise NotReadError(f"no value is '{first.text}'")
        if label is None or not any(not option.attribute for option in label.labels):
            # Texas, in `states that border Texas`, is not a state that is asked for.
            asked = {self.focus} & {*self._types_in(self.clauses.context), *self._counted()}
            options = [one for one in options if one[2] or one[1] not in asked]
            if not options:
                raise NotReadError(f"how nodes are related to '{first.text}'")
        ranked = sorted(set(options))
        if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
            self.doubts.choices += 1
        _, kind, attribute = ranked[0]
        if attribute:
            return _Part(kind, (self._equal(restriction, kind, attribute),))
        trees = [self._nodes(value, kind) for value in restriction.values]
        tree = trees[0] if len(trees) == 1 else Combine("|", tuple(trees))
        return _Part(kind, (), tree, restriction.negated)

    def _counted(self) -> list[int]:
        return self._types_in(t.label for t in self.clauses.targets if t.total == "count" and t.label is not None)

    def _near(self, kind: int, near: list[int]) -> float:
        return min(self._distance(kind, one) + 0.5 * min(place, 1) for place, one in enumerate(near))

    def _equal(self, restriction: Restriction, kind: int, attribute: str) -> Test:
        texts = []
        for link in restriction.values:
            known = [v.value for v in link.values if v.type == kind and v.attribute == attribute]
            if not known:
                raise NotReadError(f"no {attribute} is '{link.text}'")
            exact = [value for value in known if value == link.text]
            texts += exact or known
        if len(texts) > 1:
            return Condition(attribute, "in", tuple(texts), restriction.negated)
        return Condition(attribute, "!=" if restriction.negated else "=", (texts[0],))

    def _nodes(self, link: Link, kind: int) -> Expression:
        nodes = [node for node in link.nodes if self.elements.type_number(node) == kind]
        if not nodes:
            raise NotReadError(f"no {self.elements.types[kind].name} is '{link.text}'")
        known = self.elements.types[kind].name
        trees = tuple(Nodes(known, self._selector(kind, node)) for node in nodes)
        return trees[0] if len(trees) == 1 else Combine("|", trees)

    def _selector(self, kind: int, node: int) -> Name | Key:
        nodes = self.elements.session.stores.nodes
        row = nodes.row(node)
        [same] = nodes.by_name(self.elements.types[kind].name, [row.name])
        return Name(row.name) if len(same) == 1 and row.name.strip() else Key(row.key)

    # -- what is asked for --------------------------------------------------------------------------------------------

    def _listed(self, tree: Expression, plain: list[Target]) -> Expression:
        """Return nodes, or their values in the order that is asked for."""
        near = [self.focus, *self._types_in(self.clauses.context)]
        options = []
        for target in plain:
            if target.label is None:
                continue
            option = self._attribute(target.label, [*self._types_in([target.of] if target.of else []), *near])
            if option.type != self.focus:
                if len(plain) > 1:
                    raise NotReadError(f"'{target.label.text}' of other nodes in the same row")
                tree = self._followed(tree, self._path(self.focus, option.type))
                self.focus = option.type
            options.append(option)
        order = self._order(near)
        names = list(dict.fromkeys(option.attribute for option in options))
        if not order and set(names) <= {"name", "key"}:
            return tree
        columns = tuple(Column(name) for name in names or ["name"])
        return Aggregate("values", tree, columns, order=order)

    def _order(self, near: list[int]) -> tuple[Order, ...]:
        if self.clauses.order is None:
            return ()
        link, descending = self.clauses.order
        if link is None:
            return (Order("name", descending),)
        if link.labels and not link.labels[0].attribute and link.types()[0].type != self.focus:
            return (Order(self._count(self.focus, link.types()[0].type), descending),)
        if link.labels and not link.labels[0].attribute:
            return (Order("name", descending),)
        option = self._attribute(link, near)
        if option.type != self.focus:
            raise NotReadError("an order by an attribute of other nodes")
        return (Order(option.attribute, descending),)

    def _total(self, tree: Expression, totals: list[Target], plain: list[Target]) -> Expression:
        """Return one number for all nodes: a count or an aggregate of an attribute."""
        if len(totals) > 1:
            raise NotReadError("several totals")
        [target] = totals
        assert target.label is not None
        if plain:
            return self._beside(tree, target, plain)
        if target.total == "count":
            if self._first(target.label, True):
                return Aggregate("count", tree)
            option = self._attribute(target.label, [self.focus])
            return Aggregate("count", tree, (Column(option.attribute),))
        option = self._attribute(target.label, [self.focus], True)
        return Aggregate(target.total, tree, (Column(option.attribute),))

    def _beside(self, tree: Expression, total: Target, plain: list[Target]) -> Expression:
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
            return Aggregate("values", tree, tuple(Column(one) for one in [name, *(o.attribute for o in options)]))
        if len(owners) == 1 and owners != {self.focus} and {o.attribute for o in options} <= {"name", "key"}:
            group = Group(self._count(self.focus, owners.pop()))
            columns = ()
            if total.total != "count":
                columns = (Column(self._attribute(total.label, [self.focus], True).attribute),)
            return Aggregate(total.total, tree, columns, (group,))
        raise NotReadError("a total beside values")

    def _grouped(self, tree: Expression, totals: list[Target], plain: list[Target]) -> Expression:
        if len(totals) > 1:
            raise NotReadError("several totals for each group")
        [target] = totals
        group = self._group(self.clauses.groups)
        assert target.label is not None
        columns: tuple[Column, ...] = ()
        if target.total != "count":
            columns = (Column(self._attribute(target.label, [self.focus], True).attribute),)
        order: tuple[Order, ...] = ()
        return Aggregate(target.total, tree, columns, (group,), order)

    def _group(self, links: list[Link]) -> Group:
        if len({link.labels for link in links}) > 1:
            raise NotReadError("groups by two things")
        link = links[0]
        if link.labels and not link.labels[0].attribute:
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

    def _commonest(self, tree: Expression, most: Most) -> Expression:
        """Return the most frequent values of an attribute with their number, or the nodes with most neighbours."""
        assert most.label is not None
        sign = most.adjective.sign
        if self._first(most.label, True):
            kind = self._types_in([most.label])[0]
            others = [one for one in self._types_in(self.clauses.context) if one != kind]
            if not others:
                raise NotReadError(f"what '{most.label.text}' is common among")
            count = self._count(kind, others[0])
            return Filter(Nodes(self.elements.types[kind].name), (Superlative("max" if sign > 0 else "min", count),))
        option = self._attribute(most.label, [self.focus])
        order = (Order("count", sign > 0),)
        return Aggregate("count", tree, (), (Group(option.attribute),), order, most.count)


@dataclass(frozen=True)
class _Part:
    """A condition: ``tests`` of the nodes of a type, or a ``tree`` of nodes of the type."""

    owner: int
    tests: tuple[Test, ...] = ()
    tree: Expression | None = None
    negated: bool = False


def _and(tree: Expression, other: Expression, bare: str = "") -> Expression:
    """Return the nodes of both; of ``other`` alone if the first are all nodes of its type."""
    if isinstance(tree, Nodes) and tree.selector is None:
        return other
    if isinstance(tree, Filter) and isinstance(tree.source, Nodes) and tree.source.selector is None:
        return Filter(other, tree.conditions)
    return Combine("&", (tree, other))


def _is_date(name: str) -> bool:
    return any(word in name.lower() for word in ("year", "date", "born", "birth", "founded", "time"))
