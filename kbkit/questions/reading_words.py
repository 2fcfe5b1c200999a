"""Any reading of a question in plain words: *song of the entries of the contest 2012*.

These are for people who choose among readings; :func:`kbkit.answers.wording.noun_phrase` words what reads well enough
for a benchmark, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Comparison,
    Condition,
    DateFunction,
    Edge,
    Expression,
    Filter,
    Group,
    Key,
    Measure,
    Name,
    Nodes,
    OtherAttribute,
    Path,
    PathFunction,
    Step,
    Superlative,
    Test,
)
from kbkit.english.headings import attribute_heading, relation_words
from kbkit.english.types import type_noun, type_plural
from kbkit.english.words import listed
from kbkit.questions.lexicon import label_words, stem
from kbkit.schema import Schema

_OPS = {
    **{"=": "is", "!=": "is not", ">": "is more than", ">=": "is at least", "<": "is less than", "<=": "is at most"},
    **{"in": "is", "contains": "contains"},
}
_NEGATED = {"in": "is not", "contains": "does not contain"}
_TOTALS = {"sum": "total", "avg": "average", "min": "least", "max": "greatest"}
_GREATEST = ("max", "top")


@dataclass(frozen=True)
class ReadingWords:
    """Words the expressions of readings of questions to a KB with a schema."""

    schema: Schema

    def text(self, tree: Expression) -> str:
        """Return an expression in words; empty if it has parts that readings do not have."""
        try:
            return self._total(tree) if isinstance(tree, Aggregate) else self._set(tree)
        except _NoWordsError:
            return ""

    def _total(self, tree: Aggregate) -> str:
        nodes = self._set(tree.source)
        columns = [self._measure(column.measure) for column in tree.columns]
        if tree.op == "exists":
            text = f"whether there are {nodes}"
        elif tree.part is not None:
            text = f"{'share' if tree.op == 'fraction' else tree.op} of {nodes} that are among {self._set(tree.part)}"
        elif tree.op == "count":
            text = f"number of different {listed(columns)} of {nodes}" if columns else f"number of {nodes}"
        elif tree.op == "values" and not columns:
            text = nodes
        elif tree.op == "values":
            text = f"{listed(columns)} of {nodes}"
        else:
            known = [_TOTALS.get(op, op) for op in tree.ops]
            columns = columns * len(known) if len(columns) == 1 else columns
            pairs = zip(known, columns, strict=False)
            text = f"{listed([f'{op} {column}' for op, column in pairs])} of {nodes}"
        if tree.groups:
            text += f", for each {listed(list(map(self._group, tree.groups)))}"
        if tree.having:
            text += f", of groups with {listed([f'{one.column} {one.op} {one.value}' for one in tree.having])}"
        if tree.order:
            by = [f"{self._measure(one.measure)}{', greatest first' * one.descending}" for one in tree.order]
            text += f", ordered by {listed(by)}"
        return text if tree.limit is None else f"{text}, the first {tree.limit}"

    def _set(self, tree: Expression) -> str:
        match tree:
            case Nodes(type=str(kind), selector=None):
                return type_plural(kind)
            case Nodes(type=str(kind), selector=Name(text=text) | Key(text=text)):
                return f"the {type_noun(kind)} {text}"
            case Path():
                return self._path(tree)
            case Filter():
                return self._filtered(tree)
            case Combine(op="|"):
                return " or ".join(map(self._set, tree.parts))
            case Combine():
                first, *others = map(self._set, tree.parts)
                return f"{first}{' except' if tree.op == '-' else ' that are also'} {listed(others)}"
        raise _NoWordsError

    def _path(self, tree: Path) -> str:
        first, *rest = tree.elements
        if {*tree.arrows} != {"->"} or isinstance(first, Step):
            raise _NoWordsError
        text, before = self._set(first), answer_type(first)
        for step, end in zip(rest[::2], rest[1::2], strict=True):
            if not isinstance(step, Step) or not isinstance(end, Nodes) or end.type is None or end.selector is not None:
                raise _NoWordsError
            if step.negated:
                raise _NoWordsError
            plain = {stem(word) for kind in (before, end.type) if kind for word in label_words(kind)}
            telling = dict.fromkeys(filter(None, (self._edge(edge, plain) for edge in step.edges)))
            by = f" (by {' or '.join(telling)})" if telling else ""
            text = f"{type_plural(end.type)}{by} of {text}"
            before = end.type
        return text

    def _edge(self, edge: Edge, plain: set[str]) -> str:
        """Return the words for a relation and the conditions on its edges; "" if they say no more than the types.

        ``plain`` are the stems of the types: the column `patient` of admissions needs no words.
        """
        if edge.closure:
            raise _NoWordsError
        words = relation_words(self.schema.relation(edge.relation))
        if edge.conditions:
            return f"{words} whose {listed(list(map(self._test, edge.conditions)))}"
        return "" if {*map(stem, label_words(words))} <= plain else words

    def _filtered(self, tree: Filter) -> str:
        text = self._set(tree.source)
        tests = [self._test(test) for test in tree.conditions if not isinstance(test, Superlative)]
        if tests:
            text += f" whose {listed(tests)}"
        for test in tree.conditions:
            if isinstance(test, Superlative):
                best = "greatest" if test.op in _GREATEST else "least"
                number = "" if test.number is None else f"{test.number} "
                text = f"the {number}{text.removeprefix('the ')} with the {best} {self._measure(test.measure)}"
                text += "" if test.per is None else f" of each {self._group(test.per)}"
        return text

    def _test(self, test: Test) -> str:
        match test:
            case Condition(op="missing"):
                return f"{_quoted(test.attribute)} is {'known' if test.negated else 'missing'}"
            case Condition():
                verb = _NEGATED[test.op] if test.negated else _OPS[test.op]
                return f"{_quoted(test.attribute)} {verb} {' or '.join(map(str, test.values))}"
            case Comparison(value=Aggregate() as total):
                return f"{self._measure(test.measure)} {_OPS[test.op]} the {self._total(total)}"
            case Comparison(value=(DateFunction() | PathFunction()) as other):
                return f"{self._measure(test.measure)} {_OPS[test.op]} the {self._measure(other)}"
            case Comparison(value=OtherAttribute(name=other)):
                return f"{self._measure(test.measure)} {_OPS[test.op]} the {_quoted(other)}"
            case Comparison():
                return f"{self._measure(test.measure)} {_OPS[test.op]} {test.value}"
        raise _NoWordsError

    def _measure(self, measure: Measure) -> str:
        if not isinstance(measure, PathFunction):
            return _own(measure)
        end = answer_type(measure.elements[-1])
        if end is None:
            raise _NoWordsError
        if measure.attribute is None:
            return f"number of {type_plural(end)}"
        of = _own(measure.attribute, attribute_heading)
        return f"{_TOTALS.get(measure.op, measure.op)} {of} of {type_plural(end)}"

    def _group(self, group: Group) -> str:
        if not isinstance(group.measure, PathFunction):
            return _own(group.measure)
        end = answer_type(group.measure.elements[-1])
        if end is None:
            raise _NoWordsError
        return type_noun(end) if group.attribute is None else f"{_own(group.attribute)} of the {type_noun(end)}"


class _NoWordsError(Exception):
    """An expression that no reading has."""


def answer_type(tree: Expression | Step) -> str | None:
    """Return the type of the nodes of an expression, if it says one."""
    match tree:
        case Nodes():
            return tree.type
        case Filter() | Aggregate():
            return answer_type(tree.source)
        case Path():
            return answer_type(tree.elements[-1])
        case Combine():
            return answer_type(tree.parts[0])
    return None


def _own(measure: str | DateFunction, named: Callable[[str], str] | None = None) -> str:
    """Return an attribute, or a function of dates: *days from ordered to delivered*; ``named`` words an attribute."""
    if isinstance(measure, str):
        return (named or _quoted)(measure)
    dates = list(map(_quoted, measure.dates))
    return f"days from {dates[0]} to {dates[1]}" if measure.op == "days" else f"{measure.op} of {dates[0]}"


def _quoted(attribute: str) -> str:
    """Return the heading of an attribute, in quotation marks if it reads as a clause of its own: *'is active'*."""
    heading = attribute_heading(attribute)
    return f"'{heading}'" if heading.casefold().startswith(("is ", "has ")) else heading
