"""What the names, values, numbers and columns of yes and no in a question may select."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kbkit.answers.syntax import Comparison, Condition, Expression, Nodes, PathFunction, Test, Value
from kbkit.questions.candidates import Topic
from kbkit.questions.element_lists import numeric
from kbkit.questions.expressions import number_of, start, step, whole_number
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.sketches.numbers import AskedNumber, NumberTest
from kbkit.questions.sketches.words import SketchWords
from kbkit.schema import Attribute

Features = Mapping[str, float]

_MAX_VALUES = 8
"""Limit on the values that a link may stand for."""
_MAX_OPTIONS = 4
"""Limit on the meanings of a name or value."""
_MAX_OF_NUMBERS = 6
"""Limit on the meanings of a number."""
_MAX_FLAGS = 2
"""Limit on the columns of yes and no."""
_FLAG = 0.6
"""How well a word must express a column of yes and no."""
_DENIES = ("un", "non", "in", "dis")
_NEAR_DENIAL = 4
"""How many words after *not* what is denied may stand."""
_FAR = 6
"""How many words from a number what it measures may stand."""
_YEARS_AROUND = 3
"""How many years outside those of a column a year may be."""
_MAX_COUNTED = 200
"""Limit on the numbers that neighbours are counted up to."""
_SMALL = 20
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


@dataclass(frozen=True)
class SketchCondition:
    """A condition on nodes of a type: ``tests``, or to be among ``named`` nodes.

    ``span`` says from which link or number it is, those of one column are alternatives; ``atoms`` what it says.
    """

    kind: int
    tests: tuple[Test, ...] = ()
    named: Expression | None = None
    atoms: tuple[int, ...] = ()
    features: Features = field(default_factory=dict)
    span: tuple[str, int] = ("", 0)
    is_denied: bool = False
    """Whether the question denies a column of yes and no."""

    @property
    def is_count(self) -> bool:
        """Whether it counts neighbours."""
        return bool(self.tests) and isinstance(self.tests[0], Comparison)


def added(*features: Features) -> dict[str, float]:
    """Return the sums of features."""
    total: Counter[str] = Counter()
    for one in features:
        for name, value in one.items():
            total[name] += value  # type: ignore[assignment]
    return dict(total)


class ConditionFinder:
    """Finds what the words of a question may select; ``weigh`` says how likely some features are."""

    def __init__(self, words: SketchWords, weigh: Mapping[str, float]) -> None:
        self.words, self.elements, self.weights = words, words.elements, weigh
        self.attributes: dict[tuple[int, str], Attribute] = {
            (kind, one.name): one for kind, node_type in enumerate(self.elements.types) for one in node_type.attributes
        }

    def score(self, features: Features) -> float:
        """Return the weighted sum of features."""
        return sum(self.weights.get(name, 0.0) * value for name, value in features.items())

    def _best(self, found: Iterable[SketchCondition], most: int) -> list[SketchCondition]:
        return sorted(found, key=lambda one: -self.score(one.features))[:most]

    def choices(self) -> list[list[SketchCondition | None]]:
        """Return the meanings of each name, value and number of the question; None where it may be none of them."""
        found: list[list[SketchCondition | None]] = []
        for number, (link, is_doubtful) in enumerate(zip(self.words.named, self.words.is_doubtful, strict=True)):
            options = self._best(self._of_link(number, link, is_doubtful), _MAX_OPTIONS)
            found.append([*options, *[None] * is_doubtful])
        for number, asked in enumerate(self.words.numbers):
            options = self._best([*self._of_number(number, asked), *self._of_counts(number, asked)], _MAX_OF_NUMBERS)
            found.append([*options, None])
        return found

    def _of_link(self, number: int, link: QuestionLink, is_doubtful: bool) -> Iterator[SketchCondition]:
        words, by_column, by_type = self.words, dict[tuple[int, str], list[str]](), dict[int, list[int]]()
        for node in link.nodes:
            by_type.setdefault(self.elements.type_number(node), []).append(node)
        for value in link.values[:_MAX_VALUES]:
            if value.type not in by_type:  # the official name of Canada is that of the node
                by_column.setdefault((value.type, value.attribute), []).append(value.value)
        choices = math.log(len(by_column) + len(by_type))
        common = {"several meanings": choices, "may be label": float(is_doubtful)}
        for (kind, attribute), values in by_column.items():
            atom = words.attributes.get((kind, attribute))
            near = 0.0 if atom is None else words.near(link.first, link.last, atom)
            features = {"value": 1.0, "value said": near, "value partial": float(link.is_partial), **common}
            tests = (_among(attribute, values),)
            atoms = () if atom is None else (atom,)
            yield SketchCondition(kind, tests, None, atoms, features, ("link", number))
        for kind, nodes in by_type.items():
            near = words.near(link.first, link.last, words.type_atom(kind))
            is_capital = float(link.text[:1].isupper())
            features = {"name": 1.0, "value said": near, "name capital": is_capital, **common}
            features["name shared"] = float(len(nodes) > 1)
            tree = start(self.elements, Topic(tuple(nodes), kind, kind, None, frozenset()))
            yield SketchCondition(kind, (), tree, (words.type_atom(kind),), features, ("link", number))

    def _of_number(self, number: int, asked: AskedNumber) -> Iterator[SketchCondition]:
        """Yield conditions on attributes of numbers and dates."""
        nouns = self.words.vector(asked.nouns) if asked.nouns else None
        for (kind, name), attribute in self.attributes.items():
            atom = self.words.attributes.get((kind, name))
            if atom is None or not numeric(attribute.type):
                continue
            low, high = self.elements.span(kind, name)
            if low is None:
                continue
            is_date, is_yearly = attribute.type.startswith(("DATE", "TIMESTAMP")), self.elements.is_yearly(kind, name)
            if is_date and not asked.are_years:
                continue
            low, high = (low.year, high.year) if is_date else (low, high)
            if is_date and not all(low - _YEARS_AROUND <= one <= high + _YEARS_AROUND for one in asked.values):
                continue
            features = {
                "number": 1.0,
                "number said": self.words.near(asked.first, asked.last, atom, _FAR),
                "number inside": float(all(low <= one <= high for one in map(float, asked.values))),
                "number year": float(asked.are_years and is_yearly),
                "number no year": float(asked.are_years != is_yearly),
                "number noun": float(nouns[atom]) if nouns is not None and not is_yearly else 0.0,
                "number equal": float(asked.tests[0].op == "=" and not is_yearly),
                "number dated": float(asked.nouns[:1] == ("year",) and not is_yearly),
            }
            is_reversed = asked.is_reversed and is_yearly
            tests = _number_tests(attribute, asked, is_reversed=is_reversed)
            yield SketchCondition(kind, tests, None, (atom,), features, ("number", number))

    def _of_counts(self, number: int, asked: AskedNumber) -> Iterator[SketchCondition]:
        """Yield conditions on the number of neighbours."""
        elements, words = self.elements, self.words
        if asked.are_years or not asked.are_whole or asked.is_any or max(asked.values) > _MAX_COUNTED:
            return
        for hop, one in enumerate(elements.all[: elements.hops]):
            if elements.is_single(hop):
                continue
            counted = PathFunction((step(elements, one), Nodes(elements.types[one.target].name)), ("->", "->"))
            tests = tuple(Comparison(counted, *whole_number(test.op, test.number)) for test in asked.tests)
            atoms = (words.type_atom(one.target), one.label)
            features = {
                "counted": 1.0,
                "counted said": max(words.near(asked.first, asked.last, atom, _FAR) for atom in atoms),
                "counted small": float(asked.values[0] < _SMALL),
                "counted noun": float(bool(asked.nouns)),
            }
            yield SketchCondition(one.source, tests, None, atoms, features, ("number", number))

    def flags(self) -> list[list[SketchCondition | None]]:
        """Return the conditions on columns of yes and no that words express best, each of which may be none."""
        words, found = self.words, list[tuple[float, list[SketchCondition | None]]]()
        for (kind, name), attribute in self.attributes.items() if len(words.at) else ():
            atom = words.attributes.get((kind, name))
            is_boolean = attribute.type == "BOOLEAN"
            if atom is None or not (is_boolean or attribute.type.endswith(("INT", "INTEGER"))):
                continue
            fit = words.fit[:, atom] * words.names_no_type
            best = int(fit.argmax())
            if fit[best] < _FLAG or not (is_boolean or self.elements.has_flags(kind, name)):
                continue
            at, negation = words.content[best], words.question.negation
            word = words.tokens[at]
            is_denied = negation is not None and -1 <= at - negation <= _NEAR_DENIAL
            is_opposite = word.startswith(_DENIES) and not name.casefold().startswith(word[:2])
            said = {"flag": 1.0, "flag said": float(fit[best]), "flag denied": float(is_denied)}
            said["flag of word"] = float(fit[best] - words.fit[best].max())
            options = [
                SketchCondition(
                    kind,
                    (Condition(name, "=", (value if is_boolean else int(value),)),),
                    None,
                    (atom,),
                    {**said, "flag as said": float(value != (is_denied != is_opposite))},
                    ("flag", atom),
                    is_denied,
                )
                for value in (True, False)
            ]
            found.append((float(fit[best]), [*self._best(options, 1), None]))
        return [options for _, options in sorted(found, key=lambda pair: -pair[0])[:_MAX_FLAGS]]


def merged(conditions: Iterable[SketchCondition]) -> list[SketchCondition]:
    """Return conditions in which those on values of one column are alternatives: *in Spain or Italy*."""
    found: dict[object, SketchCondition] = {}
    for one in conditions:
        test = one.tests[0] if len(one.tests) == 1 and one.named is None else None
        if one.span[0] != "link" or not isinstance(test, Condition):
            found[one.span] = one
            continue
        other = found.get((one.kind, test.attribute))
        if other is None:
            found[one.kind, test.attribute] = one
            continue
        assert isinstance(other.tests[0], Condition)
        tests = (_among(test.attribute, [*other.tests[0].values, *test.values]),)
        either = replace(other, tests=tests, features={**other.features, "value alternative": 1.0})
        found[one.kind, test.attribute] = either
    return list(found.values())


def _among(attribute: str, values: Iterable[Value]) -> Condition:
    """Return the condition that an attribute has one of some values."""
    distinct = tuple(dict.fromkeys(values))
    return Condition(attribute, "=" if len(distinct) == 1 else "in", distinct)


def _number_tests(attribute: Attribute, asked: AskedNumber, *, is_reversed: bool) -> tuple[Condition, ...]:
    """Return the conditions of a number on an attribute of numbers or dates."""
    if asked.is_any:
        return (_among(attribute.name, [number_of(str(value)) for value in asked.values]),)
    return tuple(_number_test(attribute, test, is_reversed=is_reversed) for test in asked.tests)


def _number_test(attribute: Attribute, test: NumberTest, *, is_reversed: bool) -> Condition:
    op = _FLIPPED.get(test.op, test.op) if is_reversed else test.op
    value: int | float
    if attribute.type.startswith(("DATE", "TIMESTAMP")):
        value = int(test.number)
    elif attribute.type.endswith(("INT", "INTEGER")):
        op, value = whole_number(op, test.number)
    else:
        value = number_of(str(test.number))
    return Condition(attribute.name, op, (value,))
