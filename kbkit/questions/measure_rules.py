"""Conditions on what a node's neighbours add up to: *whose average fine is over 1*, *more loans than reservations*."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from decimal import Decimal

from kbkit.answers.syntax import Comparison, Condition, PathFunction, Value
from kbkit.english.question_words import EXTREMES, FUNCTION_WORDS, PAYING, SUPERLATIVES, TOTALS, Adjective
from kbkit.english.words import may_be_verb
from kbkit.questions.attribute_tests import AttributeTests, ConditionPart
from kbkit.questions.clauses import SUPERLATIVE, L, Restriction, Rewriter, V, is_type
from kbkit.questions.condition_rules import COMPARED, comparison
from kbkit.questions.expressions import compared_number, year
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import stem
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.ways import NotReadError

_TOTALS = {**TOTALS, **EXTREMES, "avg": "avg", "overall": "sum"}
_AMOUNTS = ("amount", "total", "price", "cost", "fee", "payment")
_ALTOGETHER = "(?:in total|altogether|overall|in all|all together|combined)"


@dataclass(frozen=True)
class MeasureRestriction(Restriction):
    """A condition on a function ``total`` of what is reached from nodes of the type ``of``.

    It is of the attribute that ``items`` (a type, if the text says), ``label`` or ``adjective`` name, or, with
    ``other``, of the number of nodes of the type ``label``, compared with that of the type ``other``.
    """

    of: QuestionLink | None = None
    total: str = ""
    items: QuestionLink | None = None
    other: QuestionLink | None = None


def measures(at: Rewriter) -> None:
    """Read the conditions on averages, totals and extremes of neighbours, and on two numbers of them."""
    _totals(at)
    _extremes(at)
    _sums(at)
    _numbers(at)


_OWN = r"(?:(?:that|which|who|with|whose|where|having|has|have|had|the|a|an|their) )+"
_OF = rf"(?P<of>{L}) (?P<between>(?:(?:in|from|of|at) (?:the )?{V} )?)"
_COMPARED = rf"{COMPARED}(?: years?)?(?: old)?"


def _read(at: Rewriter, match: re.Match[str], op: str, restriction: MeasureRestriction) -> str | None:
    """Add a condition that a match reads, unless it is of no type or compares with nothing."""
    of = at.link(match["of"])
    is_of_values = of is not None and restriction.label is not None and not restriction.items  # courses of a training
    if op == "=" or not (is_type(of) or is_of_values or (of is None and at.clauses.is_who)):
        return None
    found = replace(restriction, op=op, of=of, operand="measure")
    return f"{match['of'] or 'who'} {match['between'] or ''} {at.restrict(found)}"


def _totals(at: Rewriter) -> None:
    """``branches whose average fine is over 1``, ``teams with a total salary of more than 3000``."""

    def use(match: re.Match[str]) -> str | None:
        label, items = at.link(match["label"]), at.link(match["holder"] or match["item"] or match["items"])
        if label is None or not label.attributes() or (items is not None and not is_type(items)):
            return None
        total, number = _TOTALS[match["total"]], at.linked(match["number"])
        return _read(
            at, match, comparison(match["op"]), MeasureRestriction(label, "", number, total=total, items=items)
        )

    words = "|".join(sorted(_TOTALS, key=len, reverse=True))
    the = "(?:(?:of|the|their|all|its) )*"
    items = rf"(?: (?:of|for|from) {the}(?P<items>{L}))?"
    holder = rf"(?:(?P<holder>{L}) (?:have|has|had) (?:an? |the )?)?"
    at.apply(
        rf"{_OF}{_OWN}{holder}(?P<total>{words}) {the}(?:(?P<item>{L}) )?(?P<label>{L}){items} {_COMPARED}",
        use,
    )

    def summed(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or not label.attributes():
            return None
        total = "avg" if match["total"].startswith("average") else "sum"
        return _read(
            at, match, comparison(match["op"]), MeasureRestriction(label, "", at.linked(match["number"]), total=total)
        )

    verbs = "totals?|adds? up to|sums? (?:up )?to|averages?"
    at.apply(rf"{_OF}whose (?P<label>{L}) (?P<total>{verbs}) {_COMPARED}", summed)


def _extremes(at: Rewriter) -> None:
    """``teams whose oldest player is over 40``."""

    def use(match: re.Match[str]) -> str | None:
        items, adjective = at.link(match["items"]), SUPERLATIVES[match["word"]]
        if not is_type(items) or not adjective.nouns:
            return None
        number, total = at.linked(match["number"]), "max" if adjective.sign > 0 else "min"
        restriction = MeasureRestriction(None, "", number, adjective=adjective, total=total, items=items)
        return _read(at, match, comparison(match["op"]), restriction)

    at.apply(rf"{_OF}{_OWN}(?P<word>{SUPERLATIVE}) (?P<items>{L}) {_COMPARED}", use)


def _sums(at: Rewriter) -> None:
    """``customers who spent more than 100 in total``, ``members with over 3 in fines altogether``.

    *Who spent more than 100 in total* leaves open which people are meant.
    """

    def use(match: re.Match[str]) -> str | None:
        label, verb = at.link(match["label"]), (match["verb"] or "").strip()
        if label is None and (not verb or verb in FUNCTION_WORDS or not may_be_verb(verb)):
            return None
        nouns = (verb, stem(verb), *(_AMOUNTS if verb in PAYING else ()))
        adjective = Adjective(1, nouns) if label is None else None
        number = at.linked(match["number"])
        return _read(
            at, match, comparison(match["op"]), MeasureRestriction(label, "", number, False, adjective, total="sum")
        )

    verb = r"(?:(?:that|which|who|has|have|had|having|with|a) )*(?P<verb>[a-z]+ )?"
    amount = rf"{COMPARED}(?: (?:in )?(?P<label>{L}))?"
    subject = rf"(?:{_OF}|(?:(?<=^ )|(?<=^ and )|(?<=^ so ))who )"
    at.apply(rf"{subject}{verb}{amount} {_ALTOGETHER}", use)
    at.apply(rf"{subject}{verb}(?:a total of|{_ALTOGETHER}) {amount}", use)


def _numbers(at: Rewriter) -> None:
    """``members with more loans than reservations``, ``as many films as awards``."""

    def use(match: re.Match[str]) -> str | None:
        label, other, verb = at.link(match["label"]), at.link(match["other"]), (match["verb"] or "").strip()
        if not is_type(label) or not is_type(other) or (verb and not may_be_verb(verb)):
            return None
        op = {"more": ">", "fewer": "<", "less": "<"}.get(
            match["op"], ">=" if match["op"].startswith("at least") else ""
        )
        restriction = MeasureRestriction(label, op or "=", of=at.link(match["of"]), operand="measure", other=other)
        return f"{match['of']} {match['between']} {at.restrict(restriction)}" if is_type(at.link(match["of"])) else None

    own = r"(?:(?:that|which|who|with|having|has|have|had|the) )*(?P<verb>[a-z]+ )?"
    op = "(?P<op>more|fewer|less|(?:at least |exactly )?as many|same number of)"
    as_many = rf"{op} (?P<label>{L}) (?:than|as|and) (?:(?:they|it|he|she|have|has|had|of) )*(?P<other>{L})"
    at.apply(rf"{_OF}{own}{as_many}", use)


class MeasureTests(AttributeTests):
    """Writes the conditions that :func:`measures` reads as comparisons of functions of paths."""

    def _measured_people(self) -> int | None:
        """Return the type of the people that a measure is of, if the text only says *who*; None if there is none."""
        return next(
            (
                self._measure_owner(restriction)
                for restriction in self.clauses.restrictions
                if isinstance(restriction, MeasureRestriction) and restriction.of is None
            ),
            None,
        )

    def _measure_owner(self, restriction: MeasureRestriction) -> int:
        """Return the type of the nodes that a measure is of: the people near to such values, if it only says *who*."""
        if restriction.of is not None:
            return self._types_in([restriction.of])[0]
        found = []
        for kind in sorted(self.elements.people):
            with contextlib.suppress(NotReadError):
                option = self._measured_option(kind, restriction)
                found.append((option.score - 0.2 * self._distance(kind, option.type), kind))
        found.sort(reverse=True)
        if not found or found[0][0] < 0 or (len(found) > 1 and found[0][0] == found[1][0]):
            raise NotReadError("'who'")
        return found[0][1]

    def _measure_part(self, restriction: MeasureRestriction) -> ConditionPart:
        owner = self._measure_owner(restriction)
        if restriction.other is not None:
            one, other = (self._number_of(owner, link) for link in (restriction.label, restriction.other))
            return ConditionPart(owner, (Comparison(one, restriction.op, other),))
        option, number = self._measured_option(owner, restriction), restriction.values[0].number
        kind = self._type_of(option)
        value = self._constant(kind, restriction, number)
        if option.type == owner:  # the total area of a country is one number
            if restriction.total != "sum":
                raise NotReadError(f"the {restriction.total} of one value")
            return ConditionPart(owner, (Condition(option.attribute, value[0], (value[1],)),))
        path = replace(self._count(owner, option.type), op=restriction.total, attribute=option.attribute)
        return ConditionPart(owner, (Comparison(path, *value),))

    def _number_of(self, owner: int, link: QuestionLink | None) -> PathFunction:
        """Return the number of nodes of a type that are related to a node."""
        [kind] = self._types_in([link] if link else [])
        return self._count(owner, kind)

    def _measured_option(self, owner: int, restriction: MeasureRestriction) -> LabelOption:
        """Return the attribute of which a total is: of the named type, or else of what nodes have several of."""
        items = self._types_in([restriction.items] if restriction.items else [])
        if restriction.label is not None:
            option = self._attribute(restriction.label, items or [owner], True)
        else:
            assert restriction.adjective is not None
            hops = [self.elements.all[hop] for hop in self.elements.from_type(owner).tolist()]
            several = [hop.target for hop in hops if not self._is_single(owner, hop.target)]
            option = self._by_adjective(restriction.adjective, items or several)
            if restriction.adjective.dates and self._is_date(option):
                raise NotReadError("an age of those whose date is known")
        if restriction.total in ("sum", "avg") and self._is_date(option):
            raise NotReadError(f"the {restriction.total} of dates")
        if items and option.type != items[0]:
            raise NotReadError(f"'{option.attribute}' of other nodes")
        return option

    def _constant(self, kind: str, restriction: MeasureRestriction, number: str) -> tuple[str, Value]:
        """Return the comparison and the constant for values of a DuckDB type."""
        if kind.startswith(("DATE", "TIMESTAMP")):
            return restriction.op, year(Decimal(number))
        return compared_number("DOUBLE" if restriction.total == "avg" else kind, restriction.op, number)
