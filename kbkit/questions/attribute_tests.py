"""Write conditions on attributes of one type: comparisons with numbers and dates, values, and what says yes or no."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.attribute_values import ColumnValues
from kbkit.answers.resolve_attributes import is_number
from kbkit.answers.syntax import (
    Condition,
    Expression,
    Filter,
    Nodes,
    Test,
)
from kbkit.english.question_words import COMPARATIVES, LIGHT_VERBS, NO, YES
from kbkit.english.words import is_plural
from kbkit.questions.clauses import Restriction, is_type
from kbkit.questions.element_lists import numeric
from kbkit.questions.expressions import compared_number, number_of, year
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.link_words import is_participle
from kbkit.questions.meanings import Meanings
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.units import UNITS, converted, unit_of
from kbkit.questions.ways import NotReadError

_SAID = 0.4
"""Least similarity of a verb and the date that it is about."""
_IDS = frozenset(("id", "key", "code", "number", "no"))
"""Last words of numbers that only tell nodes apart."""
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


@dataclass(frozen=True)
class ConditionPart:
    """A condition: ``tests`` of the nodes of a type, or a ``tree`` of nodes of the type."""

    owner: int
    tests: tuple[Test, ...] = ()
    tree: Expression | None = None
    negated: bool = False
    link: QuestionLink | None = None
    """The words of the value, before which a preposition may say how it is related."""


class AttributeTests(Meanings):
    """Writes tests of attributes for the conditions of one question."""

    def _holding(self, restriction: Restriction, near: list[int]) -> ConditionPart:
        """Return the condition that an attribute says yes, or no if it is negated."""
        assert restriction.label is not None
        option = self._attribute(restriction.label, near)
        # Never late: not on any occasion, rather than on time on one.
        is_never = restriction.operand == "never" and restriction.negated and option.type != near[0]
        kind, wanted = self._type_of(option), not restriction.negated or is_never
        if not kind.startswith("VARCHAR"):
            value = wanted if kind == "BOOLEAN" else int(wanted)
            return ConditionPart(option.type, (Condition(option.attribute, "=", (value,)),), None, is_never)
        node_type = self.elements.types[option.type]
        known = next(a for a in node_type.attributes if a.name == option.attribute)
        values = ColumnValues.of(self.elements.session.stores).distinct(node_type, known)
        meant = tuple(value for value in values if value.casefold() in (YES if wanted else NO))
        if not meant:
            raise NotReadError(f"'{restriction.label.text}'")
        test = Condition(option.attribute, "in" if len(meant) > 1 else "=", meant)
        return ConditionPart(option.type, (test,), None, is_never)

    def _missing(self, restriction: Restriction, near: list[int]) -> ConditionPart:
        """Return the condition that an attribute has no value, or has one: *stations that have closed*."""
        assert restriction.label is not None
        option = self._attribute(restriction.label, near)
        if not restriction.negated:
            return self._without(option, near)
        known = Nodes(self.elements.types[option.type].name)
        if not len(AnswerSet(self.elements.session, Filter(known, (Condition(option.attribute, "missing", ()),)))):
            raise NotReadError(f"'{restriction.label.text}'")  # all have a date of birth
        return ConditionPart(option.type, (Condition(option.attribute, "missing", (), negated=True),))

    def _without(self, option: LabelOption, near: list[int]) -> ConditionPart:
        """Return the condition that nodes lack an attribute, or any nodes of other types, if all of these have it."""
        known = Nodes(self.elements.types[option.type].name)
        tests = (Condition(option.attribute, "missing", ()),)
        if option.type != near[0] and not len(AnswerSet(self.elements.session, Filter(known, tests))):
            return ConditionPart(option.type, (), known, negated=True)  # hives that never gave honey: without a harvest
        return ConditionPart(option.type, tests)

    def _amount(self, restriction: Restriction, owner: int) -> LabelOption | None:
        """Return the only number of a type that stands for it: *savings over 100*, of accounts with one each."""
        label = restriction.label
        is_compared = restriction.op in (">", "<", ">=", "<=", "between") and restriction.operand in ("", "node")
        if label is None or not is_compared or not is_type(label):
            return None
        kind, score = label.types()[0].type, label.types()[0].score
        others = (one for one in label.attributes() if one.type != kind or one.score >= score)  # transaction_date
        if any(map(self._is_number, others)):
            return None
        name = self._only_number(kind)
        is_many = is_plural(label.text.casefold()) or restriction.values[0].number == "1"
        is_own = not restriction.operand and (kind == owner or not is_many)  # a payment over 9
        return (
            LabelOption(kind, name) if name and (is_own or (kind != owner and self._is_single(owner, kind))) else None
        )

    def _only_number(self, kind: int) -> str:
        """Return the only attribute of a type that is a number and no year; empty if there is none, or several."""
        numbers = [
            a.name
            for a in self.elements.types[kind].attributes
            if numeric(a.type) and not self.elements.is_yearly(kind, a.name) and label_words(a.name)[-1] not in _IDS
        ]
        return numbers[0] if len(numbers) == 1 else ""

    def _lacking(self, restriction: Restriction, near: list[int]) -> ConditionPart:
        """Return the condition that an attribute says no, or that it is missing if no value does."""
        assert restriction.label is not None
        option = self._attribute(restriction.label, near)
        if self._type_of(option) == "BOOLEAN":
            return ConditionPart(option.type, (Condition(option.attribute, "=", (False,)),))
        if self._type_of(option).endswith(("INT", "INTEGER")) and not self.elements.is_yearly(
            option.type, option.attribute
        ):
            every, zero = Nodes(self.elements.types[option.type].name), Condition(option.attribute, "=", (0,))
            if len(AnswerSet(self.elements.session, Filter(every, (zero,)))):
                return ConditionPart(option.type, (zero,))  # bookings with no children
            return self._without(option, near)  # panels with no warranty
        if self.elements.is_yearly(option.type, option.attribute):
            return ConditionPart(option.type, (Condition(option.attribute, "missing", ()),))  # films without a year
        known = next((a for a in self.elements.types[option.type].attributes if a.name == option.attribute), None)
        if known is None or known.type != "VARCHAR":
            raise NotReadError(f"no '{restriction.label.text}'")
        values = ColumnValues.of(self.elements.session.stores).distinct(self.elements.types[option.type], known)
        negative = [value for value in values if value.casefold() in NO]
        if not negative:  # no insurance, where some have an insurer
            return self._without(option, near)
        return ConditionPart(option.type, (Condition(option.attribute, "in", tuple(negative)),))

    def _compared(self, restriction: Restriction, near: list[int]) -> LabelOption:
        """Return the attribute that a comparison with a number is about."""
        label = restriction.label
        if label is not None and label.attributes():
            numbers = [option for option in label.attributes() if self._is_number(option)]
            if not numbers and restriction.op != "=" and not restriction.adjective:
                raise NotReadError(f"'{label.text}' is no number")
            if numbers or restriction.op == "=":
                return self._attribute(label, near, bool(numbers))
        if restriction.adjective is None or not restriction.adjective.nouns:
            raise NotReadError("the number compares with nothing")
        if "season" in restriction.adjective.nouns and (season := self._season(near)) is not None:
            return season  # 2024 fees: of that season, whenever they were paid
        unit = next((value.unit for value in restriction.values if value.unit), "")
        if unit and (measuring := self._measuring(unit, near)) is not None:
            return measuring
        if restriction.adjective.nouns == (unit,):
            raise NotReadError(f"'{restriction.values[0].text}'")  # loans of 3 days, of which no column tells the days
        if restriction.values and "year" in restriction.adjective.nouns:
            near = [*self._with_dates_beside(restriction, near[0]), *near]
        if restriction.operand == "node" and (shared := self._of_node(restriction, near)) is not None:
            return shared
        kinds = near + [kind for kind in range(len(self.elements.types)) if kind not in near]
        close = sorted(kinds, key=lambda kind: min(self._distance(kind, one) for one in near))
        joined = [kind for kind in close if self.elements.paths(kind, near[0])]
        is_dated = any("-" in value.number for value in restriction.values)
        number = restriction.values[0].number if restriction.values and not is_dated else ""
        option = self._by_adjective(restriction.adjective, joined, is_dated, number)
        if (
            restriction.values
            and "year" in restriction.adjective.nouns
            and self._is_other_date(restriction, option, joined)
        ):
            raise NotReadError(f"what was in {restriction.values[0].text}")
        return option

    def _of_node(self, restriction: Restriction, near: list[int]) -> LabelOption | None:
        """Return the attribute of a named node that another one is compared by: is Lagos bigger than Cairo."""
        assert restriction.adjective is not None
        own = list(dict.fromkeys(self.elements.type_number(node) for node in restriction.values[0].nodes))
        try:
            found = self._by_adjective(restriction.adjective, [kind for kind in own if kind in near[:1]] or own)
        except NotReadError:
            return None
        if restriction.adjective == COMPARATIVES["before"] and not self._is_date(found):
            raise NotReadError("'before'")  # the station before Riverside
        return found

    def _season(self, kinds: list[int]) -> LabelOption | None:
        """Return the only column of whole years of the first type that has one."""
        for kind in kinds:
            columns = [a for a in self.elements.types[kind].attributes if a.type.endswith(("INT", "INTEGER"))]
            years = [one.name for one in columns if self.elements.is_yearly(kind, one.name)]
            if years:
                return LabelOption(kind, years[0], 1.0, True, is_year=True) if len(years) == 1 else None
        return None

    def _with_dates_beside(self, restriction: Restriction, owner: int) -> list[int]:
        """Return the types with dates that a question names beside a year: the events of its verbs, and named nodes."""
        named = [link.labels[0].type for link in self.clauses.events]  # adopted in 2014
        named += self._types_before(restriction.values[0])  # the prize in 2014
        if not self._has_dates(owner):  # points at the summer meeting in 2023
            others = (value for one in self.clauses.restrictions for value in one.values)
            named += [self.elements.type_number(node) for value in others for node in value.nodes[:1]]
        named = [*self._named_before(restriction.values[0]), *named]
        return [kind for kind in named if self._has_dates(kind)]

    def _is_other_date(self, restriction: Restriction, option: LabelOption, kinds: list[int]) -> bool:
        """Return whether a verb may be about the date of other nodes: members who borrowed a book in 2022."""
        first = restriction.values[0].first
        types = [
            link.last for link in self._links if link.last <= first and link.labels and not link.labels[0].attribute
        ]
        between = self._tokens[max(types, default=0) : first]  # won the prize in 2014: the year of the prize
        verbs = [word for word in self.clauses.unexplained if is_participle(word) and word in between]
        verbs = [word for word in verbs if word not in LIGHT_VERBS]
        others = [kind for kind in kinds if kind != option.type and self._has_dates(kind)]
        labels = [e.label for e in self.elements.all if e.source == option.type and e.name == option.attribute]
        similar = self.elements.labels.similarity
        return bool(verbs and others) and not any(similar(word)[labels[0]] >= _SAID for word in verbs)

    def _measuring(self, unit: str, kinds: list[int]) -> LabelOption | None:
        """Return the attribute of the first type that has one in a unit of the same kind, if it is the only one."""
        measured = UNITS[unit].measures
        for kind in kinds:
            numbers = (a for a in self.elements.types[kind].attributes if is_number(a.type))
            named = ((a.name, unit_of(label_words(a.name))) for a in numbers)
            found = [name for name, own in named if own and UNITS[own].measures == measured]
            if found:
                return LabelOption(kind, found[0]) if len(found) == 1 else None
        return None

    def _in_unit(self, restriction: Restriction, option: LabelOption) -> Restriction:
        """Return a comparison with its numbers in the unit of the attribute: 5 minutes are 300000 milliseconds."""
        own, numbers = unit_of(label_words(option.attribute)), []
        for value in restriction.values:
            number = converted(value.number, value.unit, own) if value.unit and own else value.number
            if number is None or (value.unit and not own):
                raise NotReadError(f"'{value.text}'")
            numbers.append(replace(value, number=number))
        return replace(restriction, values=tuple(numbers))

    def _op(self, restriction: Restriction, option: LabelOption) -> str:
        adjective = restriction.adjective
        if adjective is not None and adjective.dates and self._is_date(option):
            return _FLIPPED.get(restriction.op, restriction.op)
        return restriction.op

    def _number_tests(self, restriction: Restriction, option: LabelOption) -> tuple[Test, ...]:
        kind, name, op = self._type_of(option), option.attribute, self._op(restriction, option)
        if any("-" in value.number for value in restriction.values) and not kind.startswith(("DATE", "TIMESTAMP")):
            raise NotReadError(f"'{restriction.values[0].text}' of no date")
        if kind.startswith(("DATE", "TIMESTAMP")) and not all(one.may_be_date for one in restriction.values):
            raise NotReadError(f"'{restriction.values[0].text}' of dates")
        values = [self._typed(value.number, kind) for value in restriction.values]
        if op == "between":
            return Condition(name, ">=", (values[0],)), Condition(name, "<=", (values[1],))
        if len(values) > 1:
            return (Condition(name, "in", tuple(values), restriction.negated),)
        if restriction.negated:
            return (Condition(name, "!=", (values[0],)),)
        if is_number(kind):
            op, values[0] = compared_number(kind, op, restriction.values[0].number)
        return (Condition(name, op, (values[0],)),)

    def _typed(self, number: str, kind: str) -> str | int | float:
        """Return a number as an attribute of a DuckDB type compares with it: with dates, as a year."""
        if kind.startswith("VARCHAR"):
            return number
        if kind.startswith(("DATE", "TIMESTAMP")):
            return number if "-" in number else year(Decimal(number))
        return number_of(number)

    def _equal(self, restriction: Restriction, kind: int, attribute: str) -> Test:
        texts: list[str] = []
        for link in restriction.values:
            known = [v.value for v in link.values if v.type == kind and v.attribute == attribute]
            if not known:
                raise NotReadError(f"no {attribute} is '{link.text}'")
            exact = [value for value in known if value == link.text]
            texts += exact or known
        if len(texts) > 1:
            return Condition(attribute, "in", tuple(texts), restriction.negated)
        return Condition(attribute, "!=" if restriction.negated else "=", (texts[0],))
