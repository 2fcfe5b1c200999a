"""The forms of expressions that sketches fill: what is asked of a set of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Comparison,
    Condition,
    Expression,
    Filter,
    Group,
    GroupTest,
    Measure,
    Order,
    PathFunction,
    Superlative,
    ValueColumn,
)
from kbkit.english.question_words import COMPARATIVES
from kbkit.questions.sketches.asked import CLEARLY, HARDLY, IS_NUMBER, SAID, Askable, Grouped, Measured, ShownAttribute
from kbkit.questions.sketches.conditions import Features, SketchCondition, added
from kbkit.questions.sketches.numbers import AskedNumber
from kbkit.questions.sketches.sets import NodeSet, NodeSets, restricted
from kbkit.questions.sketches.words import SketchWords

_ABOVE_AVERAGE = frozenset("than above below over under exceed exceeds".split())  # noqa: SIM905


@dataclass(frozen=True)
class Sketch:
    """An expression that a question may mean.

    ``shown`` are the atoms of what is shown, if it is not the nodes of type ``kind``; ``attribute`` is one of it;
    ``uses`` are the operators of the question that it expresses.
    """

    form: str
    kind: int
    tree: Expression
    features: Features
    atoms: tuple[int, ...]
    shown: tuple[int, ...] = ()
    attribute: str = ""
    columns: int = 1
    uses: frozenset[str] = frozenset()


class Forms(Askable):
    """Fills the forms for nodes of a type; ``left_out`` is the number that no condition uses."""

    def __init__(self, words: SketchWords, sets: NodeSets, kind: int, left_out: AskedNumber | None = None) -> None:
        super().__init__(words, sets, kind)
        self.left_out = left_out

    def all(self, nodes: NodeSet, conditions: Sequence[SketchCondition]) -> Iterator[Sketch]:
        """Yield what may be asked of a set of nodes that meets conditions."""
        found = [self._whether(nodes, conditions), self._counts(nodes), self._totals(nodes), self._sums(nodes)]
        found += [self._superlatives(nodes), self._categories(nodes), self._than_node(conditions)]
        found += [self._same_as_node(conditions)]
        found += [self._lists(nodes, conditions)]
        given = {test.attribute for test in _equalities(conditions, self.kind)}
        for sketches in found:
            for one in sketches:
                if one.attribute in given:  # which city is Paris in
                    continue
                yield replace(one, uses=one.uses | {"denial"}) if nodes.denies else one

    def _made(
        self,
        form: str,
        nodes: NodeSet,
        tree: Expression,
        *shown: ShownAttribute,
        more: Sequence[int] = (),
        features: Features | None = None,
        uses: Sequence[str] = (),
    ) -> Sketch:
        """Return a sketch of a set; it also expresses what it shows, and the atoms ``more``."""
        atoms = tuple(one.atom for one in shown)
        unsaid = {"shown unsaid": sum(1 - one.said for one in shown)} if shown else {}
        said = added(nodes.features, features or {}, unsaid)
        used = frozenset(uses) | ({"number"} if shown and shown[0].is_number else frozenset())
        attribute = shown[0].name if shown else ""
        return Sketch(form, self.kind, tree, said, (*nodes.atoms, *atoms, *more), atoms, attribute, 1, used)

    def _whether(self, nodes: NodeSet, conditions: Sequence[SketchCondition]) -> Iterator[Sketch]:
        """Yield whether there are such nodes, or whether of two named ones the first has more than the second."""
        if not self.words.is_yes_or_no:
            return
        if not nodes.is_all:
            yield self._made("exists", nodes, Aggregate("exists", nodes.tree))
        named = [one.named for one in conditions if one.kind == self.kind and one.named is not None]
        adjective = self.words.compared_before(self.words.than) if len(named) == 2 else None
        for one, atom, said in self.compared(adjective) if adjective is not None else ():
            test = Comparison(one, self.sign(adjective, one), Aggregate("values", named[1], (ValueColumn(one),)))
            features = {"measure unsaid": 1 - said, "further arms": -nodes.features.get("further arms", 0.0)}
            tree, uses = Aggregate("exists", Filter(named[0], (test,))), ("total", "than")
            yield self._made("exists", nodes, tree, more=(atom,), features=features, uses=uses)

    def _counts(self, nodes: NodeSet) -> Iterator[Sketch]:
        """Yield numbers of nodes, of values, or sums: *how many bottles*."""
        if not self.question.is_count:
            return
        if not nodes.is_named:
            features = {"counts all": float(nodes.is_all)}
            yield self._made("count", nodes, Aggregate("count", nodes.tree), features=features, uses=("count",))
        for one in self.shown:
            column = (ValueColumn(one.name),)
            if one.is_number:
                yield self._made(
                    "values", nodes, Aggregate("values", nodes.tree, column), one, features={"counts": 1.0}
                )
            elif one.said > SAID:
                tree = Aggregate("count", nodes.tree, column)
                yield self._made("count distinct", nodes, tree, one, uses=("count",))
            if self.adds_up(one) and not nodes.is_all:
                yield self._made("sum counted", nodes, Aggregate("sum", nodes.tree, column), one)
        for group in self.groups:
            tree = Aggregate("count", nodes.tree, (), (group.group,))
            yield self._grouped("count by", nodes, tree, group, uses=("count", "group"))

    def _grouped(
        self, form: str, nodes: NodeSet, tree: Expression, group: Grouped, *shown: ShownAttribute, uses: Sequence[str]
    ) -> Sketch:
        features = {"group unsaid": 1 - group.said}
        return self._made(form, nodes, tree, *shown, more=group.atoms, features=features, uses=uses)

    def _totals(self, nodes: NodeSet) -> Iterator[Sketch]:
        """Yield sums and averages, of all or by groups, and what is above the average."""
        op = self.words.total
        for one in (one for one in self.shown if one.is_number and not self.is_date(one.name)) if op else ():
            column = (ValueColumn(one.name),)
            yield self._made("total", nodes, Aggregate(op, nodes.tree, column), one, uses=("total",))
            for group in self.groups:
                tree = Aggregate(op, nodes.tree, column, (group.group,))
                yield self._grouped("total by", nodes, tree, group, one, uses=("total", "group"))
            if op == "avg" and not _ABOVE_AVERAGE.isdisjoint(self.words.tokens):
                adjective = next((COMPARATIVES[w] for w in self.words.tokens if w in COMPARATIVES), None)
                average = Aggregate("avg", self.sets.all_of(self.kind), column)
                above = restricted(nodes.tree, Comparison(one.name, self.sign(adjective, one.name), average))
                features = {"measure unsaid": 1 - one.said}
                uses = ("total", "than")
                yield self._made("above average", nodes, above, more=(one.atom,), features=features, uses=uses)

    def _sums(self, nodes: NodeSet) -> Iterator[Sketch]:
        """Yield sums that no word for a sum asks for: *how much money did we take, what does each club pay*."""
        is_how_much = self.words.asks == "how" and not self.question.is_count
        for one in self.shown:
            column = (ValueColumn(one.name),)
            if (is_how_much or self.words.asks == "what") and self.adds_up(one):
                yield self._made("sum", nodes, Aggregate("sum", nodes.tree, column), one, uses=("total",))
            if self.adds_up(one) and not self.words.total and (not self.question.is_count or one.said > CLEARLY):
                for group in self.groups:
                    tree = Aggregate("sum", nodes.tree, column, (group.group,))
                    yield self._grouped("sum by", nodes, tree, group, one, uses=("total", "group"))

    def _superlatives(self, nodes: NodeSet) -> Iterator[Sketch]:
        """Yield nodes with the most or least of something, also with attributes, or what they are joined to."""
        found, number = self.words.superlative, self.words.how_many
        is_top = number is not None and not {"top", "bottom"}.isdisjoint(self.words.tokens)
        if nodes.is_named or (found is None and not is_top):
            return
        sign = found.adjective.sign if found is not None else 1 if "top" in self.words.tokens else -1
        for one in self.measures:
            is_date = isinstance(one.measure, str) and (self.is_date(one.measure) or self.is_yearly(one.measure))
            is_reversed = is_date and found is not None and found.adjective.dates
            if isinstance(one.measure, str) and self.is_rank(one.measure) and found is not None:
                is_reversed = found.adjective.nouns[:1] != ("year",)  # the highest rank is 1, the first one, too
            own = -sign if is_reversed else sign
            op = ("max" if own > 0 else "min") if number is None else ("top" if own > 0 else "bottom")
            tree = restricted(nodes.tree, Superlative(op, one.measure, number=number))
            yield self._most("superlative", nodes, tree, one)
            for shown in self.shown[:3]:
                value = Aggregate("values", tree, (ValueColumn(shown.name),))
                both = replace(value, columns=(ValueColumn("name"), ValueColumn(shown.name)))
                if shown.said > SAID or shown.fits:
                    yield self._most("superlative value", nodes, value, one, shown)
                if shown.said > CLEARLY:
                    sketch = self._most("superlative and value", nodes, both, one, shown)
                    yield replace(sketch, columns=2, shown=(*sketch.shown, self.words.type_atom(self.kind)))
            for hop, atoms in self.asked_neighbours():
                further = self.sets.followed(tree, (hop,))
                yield replace(self._most("superlative to", nodes, further, one, more=atoms), shown=atoms)
            if isinstance(one.measure, str) and number is None and self.words.asks in ("what", "how", "when"):
                tree = Aggregate("max" if sign > 0 else "min", nodes.tree, (ValueColumn(one.measure),))
                sketch = self._most("extreme", nodes, tree, one)
                yield replace(sketch, shown=one.atoms, uses=sketch.uses | {"total", "number"})

    def _most(
        self,
        form: str,
        nodes: NodeSet,
        tree: Expression,
        measured: Measured,
        *shown: ShownAttribute,
        more: Sequence[int] = (),
    ) -> Sketch:
        atoms = (*measured.atoms, *more)
        return self._made(form, nodes, tree, *shown, more=atoms, features=measured.features, uses=("superlative",))

    def _categories(self, nodes: NodeSet) -> Iterator[Sketch]:
        """Yield values of attributes that most nodes have, that sum up to the most, or that many have."""
        found, number = self.words.superlative, self.words.how_many
        values = [one for one in self.shown if one.said > CLEARLY or one.fits > IS_NUMBER][:3]
        is_ranked = (found is not None and not found.adjective.nouns) or self.words.says_frequent
        is_most = found is None or found.adjective.sign > 0
        for one in values:
            group = (Group(one.name),)
            if is_ranked:
                order = (Order("count", is_most),)
                tree = Aggregate("count", nodes.tree, (), group, order, number or 1)
                features = {"measure frequent": float(self.words.says_frequent)}
                yield self._made("category", nodes, tree, one, features=features, uses=("superlative",))
            for total in self.shown if is_ranked else ():
                if self.adds_up(total) and total.name != one.name and total.said > HARDLY:
                    columns, order = (ValueColumn(total.name),), (Order(total.name, is_most),)
                    tree = Aggregate("sum", nodes.tree, columns, group, order, number or 1)
                    features, more = {"measure unsaid": 1 - total.said}, (total.atom,)
                    yield self._made(
                        "category sum", nodes, tree, one, more=more, features=features, uses=("superlative",)
                    )
            if self._tests_groups and self.left_out is not None:
                test = self.left_out.tests[0]
                having = (GroupTest("count", test.op, int(test.number)),)
                tree = Aggregate("count", nodes.tree, (), group, having=having)
                yield self._made("category test", nodes, tree, one, uses=("count", "left out"))

    @property
    def _tests_groups(self) -> bool:
        """Whether the number that no condition uses may be one of nodes."""
        one = self.left_out
        return one is not None and not one.is_any and not one.are_years and one.are_whole and not one.nouns

    def _than_node(self, conditions: Sequence[SketchCondition]) -> Iterator[Sketch]:
        """Yield nodes that have more than a named one."""
        adjective = self.words.compared_before(self.words.than) if self.words.than >= 0 else None
        if adjective is None:
            return
        for one in conditions:
            if one.kind != self.kind or one.named is None:
                continue
            rest = next(self.sets.meeting(self.kind, [other for other in conditions if other is not one], 1))
            rest = replace(rest, features=added(rest.features, one.features))
            for name, atom, said in self.compared(adjective):
                value = Aggregate("values", one.named, (ValueColumn(name),))
                tree = restricted(rest.tree, Comparison(name, self.sign(adjective, name), value))
                more, features = (atom, *one.atoms), {"measure unsaid": 1 - said}
                yield self._made("than node", rest, tree, more=more, features=features, uses=("total", "than"))

    def _same_as_node(self, conditions: Sequence[SketchCondition]) -> Iterator[Sketch]:
        """Yield the nodes that have as much of something as a named one."""
        at = self.words.same
        named = (one for one in conditions if one.kind == self.kind and one.named is not None) if at >= 0 else ()
        for one in named:
            assert one.named is not None
            rest = next(self.sets.meeting(self.kind, [other for other in conditions if other is not one], 1))
            rest = replace(rest, features=added(rest.features, one.features))
            for name in self.types:
                atom = self.words.attributes.get((self.kind, name))
                said = 0.0 if atom is None else self.words.near(at, at + 1, atom, 5)
                if atom is None or said < HARDLY:
                    continue
                value = Aggregate("values", one.named, (ValueColumn(name),))
                tree: Expression = Combine("-", (restricted(rest.tree, Comparison(name, "=", value)), one.named))
                # The same number of something is no count of what has it.
                tree = Aggregate("count", tree) if self.words.asks == "how" and self.question.is_count else tree
                more, features = (atom, *one.atoms), {"measure unsaid": 1 - said}
                uses = ("same", "than", "count")
                yield self._made("same as node", rest, tree, more=more, features=features, uses=uses)

    def _lists(self, nodes: NodeSet, conditions: Sequence[SketchCondition]) -> Iterator[Sketch]:
        """Yield the nodes themselves, attributes of theirs, or both."""
        atom = self.words.type_atom(self.kind)
        if not nodes.is_named:
            yield self._made("list", nodes, nodes.tree, features={"lists all": float(nodes.is_all)})
        is_named = bool(nodes.features.get("names what is asked"))
        for one in self.shown:
            features = {"shown of named": float(is_named), "shown fits": float(one.fits > 0)}
            yield self._made("values", nodes, self._values(nodes, one.name), one, features=features)
        is_said = self.words.said(atom) > SAID and not is_named
        for one in self.shown[:3] if is_said else ():
            if one.said > CLEARLY:
                sketch = self._made("names and values", nodes, self._values(nodes, "name", one.name), one)
                yield replace(sketch, columns=2, shown=(*sketch.shown, atom))
        for one, other in combinations(self.shown[:3], 2):
            if min(one.said, other.said) <= SAID:
                continue
            yield replace(
                self._made("two values", nodes, self._values(nodes, one.name, other.name), one, other), columns=2
            )
            if is_said:
                tree = self._values(nodes, "name", one.name, other.name)
                sketch = self._made("names and two values", nodes, tree, one, other)
                yield replace(sketch, columns=3, shown=(*sketch.shown, atom))
        counts = (one for one in conditions if one.is_count and one.kind == self.kind and self.words.asks_more)
        for counted in counts:
            measure = counted.tests[0].measure if isinstance(counted.tests[0], Comparison) else None
            if isinstance(measure, PathFunction):
                tree = self._values(nodes, "name", measure)
                yield replace(self._made("names and counts", nodes, tree), columns=2)

    def _values(self, nodes: NodeSet, *measures: Measure) -> Aggregate:
        return Aggregate("values", nodes.tree, tuple(map(ValueColumn, measures)))


def _equalities(conditions: Sequence[SketchCondition], kind: int) -> Iterator[Condition]:
    """Yield the tests that an attribute of nodes of a type has one value."""
    for test in (test for one in conditions if one.kind == kind for test in one.tests):
        if isinstance(test, Condition) and test.op == "=":
            yield test
