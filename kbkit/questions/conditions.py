"""Write the conditions of a question, its superlative among them, as tests of types and paths between types."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Comparison,
    Condition,
    Expression,
    Filter,
    Measure,
    Nodes,
    Superlative,
    ValueColumn,
)
from kbkit.english.headings import attribute_heading
from kbkit.english.question_words import goodness
from kbkit.questions.act_rules import ActRestriction
from kbkit.questions.attribute_tests import ConditionPart
from kbkit.questions.clauses import AskedTarget, Most, Restriction, is_type
from kbkit.questions.count_tests import CountTests
from kbkit.questions.directions import agent_of
from kbkit.questions.expressions import both
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import LITERAL, label_words, stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.meanings import NO_ATTRIBUTE
from kbkit.questions.measure_rules import MeasureRestriction
from kbkit.questions.pair_rules import PairRestriction
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.ways import NotReadError

_SAID = 0.6
"""Least similarity of a word before a value and the attribute that it says: *born* in France."""
_SIMILAR = 0.7
"""Least score of a label that a superlative with nouns of its own compares."""
_RELATION = 0.75
"""Least similarity of a noun and a relation that it means."""
_IN_TIME = frozenset(("year", "date", "start"))
"""Nouns of adjectives that compare dates."""
_CLEARLY = 0.2
"""How much better a word must say one of two attributes that have a value."""


class ConditionPlanner(CountTests):
    """Writes the nodes that meet the conditions of one question."""

    def _has_best_of_groups(self, totals: list[AskedTarget]) -> bool:
        """Return whether the question asks for the best nodes of each group."""
        most = self.clauses.most
        return most is not None and bool(self.clauses.groups) and not totals and not most.is_common and not most.total

    def _selected(self, totals: list[AskedTarget]) -> Expression:
        """Return the nodes of the focus that meet all conditions."""
        clauses, focus = self.clauses, self.focus
        most = clauses.most if clauses.most and not clauses.most.is_common else None
        near = [focus, *self._types_in(clauses.context)]
        owner = focus
        measure: tuple[LabelOption | None, int] | None = None
        if most is not None:
            measure = self._measured(most, [*self._types_before(most.label), *near])
            owner = measure[0].type if measure[0] is not None else focus
        counted = {measure[1]} - {-1} if measure is not None else set()
        tree = self._in_role(self._met(owner, counted), owner, measure[1] if measure is not None else -1)
        if most is not None and measure is not None:
            superlative = self._superlative(most, measure, owner)
            if self._has_best_of_groups(totals):
                if owner != focus or len(clauses.groups) > 1:
                    raise NotReadError("a superlative for each")
                superlative = replace(superlative, per=self._group(clauses.groups[0]))
            tree = self._kept(tree, superlative, most)
        if owner != focus:
            tree = self._followed(tree, self._path(owner, focus))
        return tree

    def _kept(self, tree: Expression, superlative: Superlative, most: Most) -> Expression:
        """Return the nodes that a superlative keeps: the second largest are the top two without the largest."""
        kept = Filter(tree, (superlative,))
        if not most.is_nth:
            return kept
        if superlative.per is not None:
            raise NotReadError("a superlative for each")
        best = "max" if superlative.op == "top" else "min"
        before = replace(superlative, number=most.count - 1)
        if most.count == 2:
            before = replace(superlative, op=best, number=None)
        return Combine("-", (kept, Filter(tree, (before,))))

    def _measured(self, most: Most, near: list[int]) -> tuple[LabelOption | None, int]:
        """Return the attribute or the type whose nodes are counted, for a superlative."""
        label = most.label
        if most.is_use:
            self._said_hop = most.hop if most.hop >= 0 else self._said_by_verb(near[0])
            said = self._said_hop >= 0
            return None, int(self.elements.target[self._said_hop]) if said else self._used(near[0])
        if label is None or (most.adjective.nouns and label.types() and not label.attributes() and not most.is_number):
            return self._by_adjective(most.adjective, self._types_in([label]) if label else near), -1
        options = [option for option in label.attributes() if self._is_number(option)]
        if most.adjective.nouns and not label.types() and label.labels[0].score < _SIMILAR and not most.total:
            raise NotReadError(NO_ATTRIBUTE)  # the southernmost city, where only a share of cities is known
        if label.types() and (not options or label.types()[0].score > options[0].score or most.is_number):
            return None, self._types_in([label])[0]
        option = self._attribute(label, near, True)
        is_of_time = most.adjective.dates or not _IN_TIME.isdisjoint(most.adjective.nouns)
        if most.adjective.nouns and not is_of_time and self._type_of(option).startswith(("DATE", "TIMESTAMP")):
            raise NotReadError(NO_ATTRIBUTE)  # the highest collection site, where things were collected on a date
        return option, -1

    def _superlative(self, most: Most, measure: tuple[LabelOption | None, int], owner: int) -> Superlative:
        option, counted = measure
        sign = most.adjective.sign
        if option is not None and most.is_judged:
            sign *= self._goodness(option, most)
        if option is not None and most.adjective.dates and self._is_date(option):
            sign = -sign
        by: Measure = option.attribute if option is not None else self._counted_path(owner, counted)
        if most.count > 1:
            return Superlative("top" if sign > 0 else "bottom", by, number=most.count)
        return Superlative("max" if sign > 0 else "min", by)

    def _goodness(self, option: LabelOption, most: Most) -> int:
        """Return 1 if more of an attribute is better, -1 if less is; raise :class:`NotReadError` if none is known."""
        sign = goodness(label_words(option.attribute))
        is_unsaid = most.label is None or is_type(most.label)
        if not sign or (is_unsaid and sign < 0):  # the best employee: hardly by the error rate
            best = "best" if most.adjective.sign > 0 else "worst"
            self.clauses.unread.append(f"which {attribute_heading(option.attribute)} is the {best}")
            raise NotReadError(self.clauses.unread[-1])
        return sign

    def _met(self, owner: int, counted: Collection[int] = ()) -> Expression:
        """Return the nodes of a type that meet the conditions of the question.

        Conditions on the nodes that are counted, such as those of ``counted`` types, are conditions of the number.
        """
        near = [owner, *([self.focus] if self.focus != owner else []), *self._types_in(self.clauses.context)]
        without = [r for r in self.clauses.restrictions if r.op == "none"]
        inside: dict[int, list[Restriction]] = {}
        lacking_role: list[int] = []
        for restriction in without:
            kinds = self._types_in([restriction.label]) if restriction.label else [self._neighbour(restriction, owner)]
            if kinds[0] == owner and (hop := self._hop_of_role(restriction.label)) >= 0:
                lacking_role.append(int(self.elements.inverse[hop]))
                continue
            inside[kinds[0]] = []
        plain: list[Restriction] = []
        for restriction in self._apart(owner):
            if restriction.op == "none":
                continue
            kind = self._owner(restriction, [*near, *inside])
            if (of := self._is_counted(kind, owner, restriction, counted)) >= 0:
                self._held.setdefault(of, []).append(restriction)
                continue
            (inside[kind] if kind in inside and kind != owner else plain).append(restriction)
        parts = [replace(self._part(one, owner, near), link=next(iter(one.values), None)) for one in plain]
        if self.clauses.is_either and len(parts) > 2:
            raise NotReadError("'or'")
        if self.clauses.is_either and len(parts) == 2:
            tree: Expression = Combine("|", tuple(self._joined(owner, [part]) for part in parts))
        else:
            tree = self._joined(owner, parts)
        for kind, restrictions in inside.items():
            lacking = self._joined(kind, [self._part(one, kind, [kind]) for one in restrictions])
            tree = Combine("-", (tree, self._followed(lacking, self._path(kind, owner))))
        for hop in lacking_role:
            tree = Combine("-", (tree, self._followed(Nodes(self.elements.types[owner].name), [hop])))
            self.doubts.followed.add(self.elements.all[hop].label)
            self.doubts.relations += 1
        reached = {part.owner for part in parts} | set(inside)
        for kind in dict.fromkeys(self._types_in(self.clauses.context)):
            if kind not in reached and kind not in (owner, self.focus) and not self._is_between(kind, owner):
                tree = both(tree, self._followed(Nodes(self.elements.types[kind].name), self._path(kind, owner)))
        return tree

    def _hop_of_role(self, link: QuestionLink | None) -> int:
        """Return the hop to what a noun for an end of a relation of one type means: *prerequisites*; -1 if unknown."""
        role = link.role if link is not None else ()
        hops = [hop for hop in role if self.elements.forward[hop]]
        is_one = len(hops) == 1 and self.elements.all[hops[0]].source == self.elements.all[hops[0]].target
        return hops[0] if is_one and not agent_of(self.elements.all[hops[0]].name) else -1

    def _neighbour(self, restriction: Restriction, owner: int) -> int:
        """Return the type of what nothing is joined to: of *no owner*, what a relation called so leads to."""
        if restriction.adjective is None:
            return self._only_neighbour(owner)
        [word] = restriction.adjective.nouns
        similar = self.elements.labels.similarity(word)
        hops = [self.elements.all[hop] for hop in self.elements.from_type(owner).tolist()]
        kinds: set[int] = {hop.target for hop in hops if similar[hop.label] >= _RELATION and hop.target != owner}
        if len(kinds) != 1:
            raise NotReadError(f"'{word}'")
        return next(iter(kinds))

    def _said_by_verb(self, kind: int) -> int:
        """Return the hop from a type that a participle says: *the most cited paper*; -1 if none, or several do."""
        similar = self.elements.labels.similarity(self.clauses.verbs[-1])
        hops = [hop for hop in self.elements.from_type(kind).tolist() if similar[self.elements.label[hop]] >= LITERAL]
        ways = [(hop, self.elements.all[hop]) for hop in hops]
        suffering = [hop for hop, one in ways if agent_of(one.name) != (1 if one.forward else -1)]  # they are cited
        return suffering[0] if len(suffering) == 1 else -1

    def _only_neighbour(self, owner: int) -> int:
        """Return the type that a verb alone must mean: the only one whose nodes refer to those of a type."""
        hops = [self.elements.all[hop] for hop in self.elements.from_type(owner).tolist()]
        kinds: set[int] = {hop.target for hop in hops if not self._is_single(owner, hop.target)} - {owner}
        if len(kinds) > 1:  # books are lent, though they have several authors
            kinds = {hop.target for hop in hops if hop.target in kinds and not hop.forward}
        if len(kinds) != 1:
            raise NotReadError("what nothing is related to")
        return next(iter(kinds))

    def _apart(self, owner: int | None = None) -> list[Restriction]:
        """Return the conditions, with one for each value that is required: ``in Nepal and China``.

        Of what a node of the type ``owner`` has one only, any value is meant: ``customers in Paris and London``.
        """
        result: list[Restriction] = []
        for restriction in self.clauses.restrictions:
            if restriction.op != "all":
                result.append(restriction)
            elif owner is not None and self._is_one_of(restriction, owner):
                result.append(replace(restriction, op="in"))
            else:
                result[:0] = [replace(restriction, op="=", values=(value,)) for value in restriction.values]
        return result

    def _is_one_of(self, restriction: Restriction, owner: int) -> bool:
        """Return whether no node has several of the values that a condition names."""
        if restriction.is_both:
            return False
        columns = [{(v.type, v.attribute) for v in value.values} for value in restriction.values]
        if shared := set.intersection(*columns):
            kind, attribute = min(shared)
            is_list = self._type_of(LabelOption(kind, attribute)).endswith("[]")
            return not is_list and (kind == owner or self._is_single(owner, kind))
        kinds = [{self.elements.type_number(node) for node in value.nodes} for value in restriction.values]
        named = set.intersection(*kinds)
        return owner in named or (len(named) == 1 and self._is_single(owner, min(named)))

    def _is_between(self, kind: int, owner: int) -> bool:
        """Return whether a type stands on the way from what is tested to what is asked for."""
        ends = {self.focus, *self._conditioned()}
        for end in ends:
            for path in self._paths(owner, end)[:1]:
                if any(self.elements.target[hop] == kind for hop in path[:-1]) or (path and owner == end):
                    return True
        return False

    def _conditioned(self) -> list[int]:
        """Return the types that own what the conditions and the superlative test."""
        links = [r.label for r in self.clauses.restrictions if r.op != "none"]
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

    def _owner(self, restriction: Restriction, near: list[int]) -> int:
        """Return the type that a condition is about."""
        label = restriction.label
        is_compared = restriction.op in (">", "<", ">=", "<=", "between")
        is_amount = self._amount(restriction, near[0]) is not None
        if label is not None and label.types() and is_compared and not is_amount:
            is_number = any(self._is_number(option) for option in label.attributes())
            return self._part(restriction, near[0], near, dry=True).owner if is_number else near[0]
        return self._part(restriction, near[0], near, dry=True).owner

    def _part(self, restriction: Restriction, owner: int, near: list[int], dry: bool = False) -> ConditionPart:  # noqa: PLR0911, PLR0912
        """Return a condition as a test of a type, or as named nodes of a type."""
        if isinstance(restriction, MeasureRestriction):
            return self._measure_part(restriction)
        if isinstance(restriction, ActRestriction):
            return self._act_part(restriction, dry=dry)
        if isinstance(restriction, PairRestriction):
            return self._pair_part(restriction, near)
        if restriction.values and not restriction.values[0].number and restriction.operand not in ("node", "avg"):
            return self._valued(restriction, near)
        if restriction.operand == "number" and restriction.label is not None:
            counted = self._types_in([restriction.label])[0]
            return ConditionPart(owner) if dry else self._counting(restriction, owner, counted)
        if restriction.operand == "times":
            [owner] = self._types_in([restriction.label] if restriction.label else [])
            return ConditionPart(owner) if dry else self._counting(restriction, owner, self._only_neighbour(owner))
        if restriction.op == "lacks":
            return self._lacking(restriction, near)
        if restriction.op == "holds":
            return self._holding(restriction, near)
        if restriction.op == "missing" and restriction.label is not None:
            return self._missing(restriction, near)
        amount = self._amount(restriction, owner)
        if amount is not None and restriction.operand == "node":
            return self._than_node(restriction, amount.type, amount.attribute)
        if amount is not None:
            return ConditionPart(amount.type, self._number_tests(restriction, amount))
        label = restriction.label
        near = [*self._types_before(label), *near]
        if label is not None and restriction.op != "=":
            numbers = [option for option in label.attributes() if self._is_number(option)]
            if label.types() and (not numbers or numbers[0].score < label.types()[0].score):
                return ConditionPart(owner) if dry else self._counting(restriction, owner, self._types_in([label])[0])
        try:
            option = self._compared(restriction, near)
        except NotReadError:
            if (years := self._of_years(restriction)) is None:
                raise
            return years
        restriction = self._in_unit(restriction, option)
        if restriction.operand == "avg":
            alike = [self._valued(Restriction(None, "=", restriction.values), near)] if restriction.values else []
            known = self._joined(option.type, alike)
            value = Aggregate("avg", known, (ValueColumn(option.attribute),))
            return ConditionPart(option.type, (Comparison(option.attribute, self._op(restriction, option), value),))
        if restriction.operand == "node":
            return self._than_node(restriction, option.type, option.attribute, self._op(restriction, option))
        return ConditionPart(option.type, self._number_tests(restriction, option))

    def _of_years(self, restriction: Restriction) -> ConditionPart | None:
        """Return the nodes for the years that a condition names, if years are nodes: *films released in 1981*."""
        kinds = [n for n, one in enumerate(self.elements.types) if label_words(one.name)[-1:] == ["year"]]
        numbers = [value.number for value in restriction.values]
        is_year = all(value.may_be_date and value.number.isdigit() for value in restriction.values)
        if len(kinds) != 1 or restriction.label is not None or restriction.op not in ("=", "in") or not is_year:
            return None
        name = self.elements.types[kinds[0]].name
        nodes = [row.id for rows in self.elements.session.stores.nodes.by_name(name, numbers) for row in rows[:1]]
        if len(nodes) != len(numbers):
            return None
        trees = tuple(map(self._named_node, nodes))
        for word in [one for one in self.clauses.unexplained if is_participle(one)]:
            self._explain(word)
        tree = trees[0] if len(trees) == 1 else Combine("|", trees)
        return ConditionPart(kinds[0], (), tree, restriction.negated)

    def _valued(self, restriction: Restriction, near: list[int]) -> ConditionPart:  # noqa: PLR0912
        """Return a condition on values or named nodes: of the labelled attribute or type, or else of the nearest."""
        label, first = restriction.label, restriction.values[0]
        self._guessed(*(value.text for value in restriction.values if value.is_partial))
        if restriction.op == "contains" and label is not None:
            option = self._attribute(label, near)
            return ConditionPart(option.type, (Condition(option.attribute, "contains", (first.text.strip("'\""),)),))
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
                stems = {*map(stem, label_words(label.text))}  # a king bed: of bed_type, though beds is another column
                fitting = [one for one in options if one[2] and stems <= {*map(stem, label_words(one[2]))}]
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
        kind, attribute = self._nearest(first, options, is_labelled=label is not None)
        if attribute and restriction.negated and kind != near[0] and not self._is_single(near[0], kind):
            test = self._equal(replace(restriction, negated=False), kind, attribute)
            return ConditionPart(
                kind, (test,), None, negated=True
            )  # never seen in a wood: not only seen elsewhere, too
        if attribute:
            return ConditionPart(kind, (self._equal(restriction, kind, attribute),))
        trees = [self._nodes(value, kind) for value in restriction.values]
        if kind != near[0] and len(trees) == 1 and isinstance(trees[0], Filter) and not restriction.negated:
            return ConditionPart(kind, trees[0].conditions)  # the Golden Mic of 2023: one of the awards called so
        tree = trees[0] if len(trees) == 1 else Combine("|", tuple(trees))
        return ConditionPart(kind, (), tree, restriction.negated)

    def _nearest(
        self, link: QuestionLink, options: list[tuple[float, int, str]], *, is_labelled: bool
    ) -> tuple[int, str]:
        """Return the type and attribute of a value: the nearest, and of several the one that a word before it says."""
        said = {
            one: self._said_before(link, LabelOption(one[1], one[2])) if one[2] else self._said_of_nodes(link, one[1])
            for one in options
        }
        ranked = sorted(said, key=lambda one: (one[0], -said[one][0], one))
        similar, word = said[ranked[0]]
        if len(ranked) > 1 and ranked[0][0] == ranked[1][0] and similar - said[ranked[1]][0] < _CLEARLY:
            self.doubts.choices += 1
            if ranked[0][1] == ranked[1][1] and ranked[0][2] and ranked[1][2]:
                raise NotReadError(f"which '{link.text}' is meant")  # transfers of Ann: hers, or those to her
        if similar >= _SAID and not is_labelled:
            self._saying.add(word)
        return ranked[0][1:]

    def _counted(self) -> list[int]:
        return self._types_in(t.label for t in self.clauses.targets if t.total == "count" and t.label is not None)
