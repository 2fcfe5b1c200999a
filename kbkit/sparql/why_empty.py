"""Explain an empty result: the smallest set of patterns that have no solution together, and the counts of each.

The parts of the query's pattern run as queries of their own, alone and joined one after the other. Joining never adds
solutions to none, so the first part without any, and those it needs for that, are the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lark import Token, Tree

from kbkit.errors import KbError, QuerySyntaxError, clipped, plural
from kbkit.schema import STANDARD_PREFIXES, Wikibase
from kbkit.sparql import blazegraph
from kbkit.sparql.context import Context, QueryPrefixes
from kbkit.sparql.parse import parse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import Node, ParseTree, child, children, nodes, pairs, tokens, variables, visible
from kbkit.stores.sparql_text import string_literal

MOST = 10_000
"""Solutions of a pattern above which they are not counted."""
SECONDS = 20.0
"""Time for an explanation, and a sixth of it for each of its queries."""
_LONGEST = 200
_MOST_PARTS = 40
_MOST_EXAMPLES, _EXAMPLE = 3, "?kbExample"
_LABELS = Wikibase.ONTOLOGY + "label"

Run = Callable[[str, float], int]
"""``run(query, seconds)`` returns the only value of a query: the answer of ASK, or a count."""
Sample = Callable[[str, float], Iterable[Mapping[str, Any]]]
"""``sample(query, seconds)`` returns RDF terms of the only column of a query, with the ``name`` of its node."""


@dataclass(frozen=True)
class CountedPattern:
    """A part of a query, and the number of its solutions alone: at most :data:`MOST` + 1, None if unknown."""

    text: str
    count: int | None

    def __str__(self) -> str:
        if self.count is None:
            return self.text
        counted = f"over {plural(MOST, 'solution')}" if self.count > MOST else plural(self.count, "solution")
        return f"{self.text}  ({counted})"


@dataclass(frozen=True)
class EmptyResult:
    """Why a result is empty: ``reason`` in a sentence, the ``conflict`` of patterns, all counted ``patterns``, and
    ``examples`` of values that would match.
    """

    reason: str
    conflict: Sequence[CountedPattern] = ()
    patterns: Sequence[CountedPattern] = field(default_factory=tuple)
    examples: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """The explanation as lines: the reason, the patterns in conflict, examples, and the others."""
        others = [pattern for pattern in self.patterns if pattern not in self.conflict]
        more = ["The other patterns alone:", *(f"  {pattern}" for pattern in others)] if others else []
        return [self.reason, *(f"  {pattern}" for pattern in self.conflict), *self.examples, *more]


@dataclass(eq=False)
class _PatternPart:
    """A part of a group: a triple, a filter, or another pattern."""

    node: Node
    text: str
    kind: str
    binds: set[str]
    needs: set[str] | None = None
    """Variables that must be bound before it, if it is evaluated for each solution: a filter, an assignment."""

    @property
    def wanted(self) -> set[str]:
        """Variables that must be bound before it."""
        return self.needs or set()


def explain(
    text: str,
    run: Run,
    prefixes: dict[str, str],
    seconds: float = SECONDS,
    sample: Sample | None = None,
    has_row: bool = False,
) -> EmptyResult | None:
    """Return why a query has no rows; None if that cannot be told, such as for a query that does not parse.

    ``has_row`` says that the result is a row without values: of an aggregate of no solutions, or of ASK.
    """
    try:
        tree = parse(text)
        names = QueryPrefixes(tree, {**Wikibase.PREFIXES, **STANDARD_PREFIXES, **prefixes})
        context = Context(names, taken={str(token)[1:] for token in tokens(tree) if token.type == "VAR"})
        blazegraph.inline_subqueries(tree, context)
    except QuerySyntaxError:
        return None
    query = next(nodes(tree, "select_query", "construct_query", "ask_query"), None)
    where = None if query is None else child(query, "where_clause")
    if query is None or where is None:
        return None
    prologue = child(tree, "prologue")
    head = "" if prologue is None else to_text(prologue) + "\n"
    work = _Explanation(head, run, sample, context, seconds)
    group = where.children[-1]
    assert isinstance(group, Tree)
    found = work.group(group, children(query, "values_clause"))
    return found if found is not None or has_row else work.modifiers(query, group)


class _Explanation:
    """One explanation, within its time."""

    def __init__(self, head: str, run: Run, sample: Sample | None, context: Context, seconds: float) -> None:
        self._head, self._run, self._sample, self._context = head, run, sample, context
        self._end, self._each = time.monotonic() + seconds, seconds / 6

    def _ask(self, parts: Sequence[_PatternPart]) -> bool | None:
        where = " ".join(part.text for part in parts)
        truth = self._started(f"ASK {{ {where} }}")
        return None if truth is None else bool(truth)

    def _count(self, part: _PatternPart) -> CountedPattern:
        return CountedPattern(_shown(part.node), self._counted(f"{{ {part.text} }}"))

    def _counted(self, group: str) -> int | None:
        return self._started(f"SELECT (COUNT(*) AS ?kbCount) {{ {{ SELECT * {group} LIMIT {MOST + 1} }} }}")

    def _started(self, text: str) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            return None
        try:
            return self._run(self._head + text, min(left, self._each))
        except KbError:
            return None

    def group(self, group: ParseTree, more: Sequence[ParseTree] = ()) -> EmptyResult | None:
        """Return why a group has no solutions; None if it has some, or if that is unknown."""
        parts = self._parts(group, more)
        if not parts or len(parts) > _MOST_PARTS:
            return None
        counts = {id(part): self._count(part) for part in parts if part.needs is None}
        listed = [counts[id(part)] for part in parts if id(part) in counts]
        empty = [part for part in parts if id(part) in counts and counts[id(part)].count == 0]
        if empty:
            return self._alone(empty, [counts[id(part)] for part in empty], listed)
        conflict = self._conflict(parts)
        if conflict is None:
            return None
        told = [counts.get(id(part)) or CountedPattern(_shown(part.node), None) for part in conflict]
        last = _shown(conflict[-1].node)
        joined = (
            f"the {plural(len(conflict) - 1, 'pattern')} before it" if len(conflict) > 2 else "the pattern before it"
        )
        reason = f"Each pattern has solutions, but {last} has none in common with {joined}:"
        if conflict[-1].needs is not None:
            reason = f"{last} excludes every solution of {joined}:"
        return EmptyResult(reason, told, listed, self._before(conflict))

    def _alone(
        self, parts: list[_PatternPart], counted: list[CountedPattern], listed: list[CountedPattern]
    ) -> EmptyResult:
        """Return the explanation of parts that have no solutions alone, in terms of what is inside the first one."""
        node, kind = parts[0].node, parts[0].kind
        inner = next(nodes(node, "group_graph_pattern"), None) if isinstance(node, Tree) else None
        branches = children(node, "group_graph_pattern") if isinstance(node, Tree) else []
        if inner is not None and kind not in ("triple", "service_graph_pattern") and len(branches) < 2:
            explanation = self.group(inner)
            if explanation is not None:
                return explanation
        reason = "This pattern alone has no solutions:"
        if len(parts) > 1:
            reason = "Each of these patterns alone has no solutions:"
        examples = [found for part in parts[:_MOST_EXAMPLES] if (found := self._instead(part))]
        return EmptyResult(reason, counted, listed, examples)

    def _instead(self, part: _PatternPart) -> str:
        """Return examples of what occurs in the place of the object, else of the subject, of a triple."""
        if part.kind != "triple" or not isinstance(part.node, Tree) or len(part.node.children) != 2:
            return ""
        subject, properties = part.node.children
        assert isinstance(properties, Tree)
        verb, value = next(pairs(properties))
        at, written = to_text(subject), to_text(value)
        verb_text = to_text(verb)
        close = ""
        if written.startswith(('"', "'")):  # first the same text with another language or datatype
            close = f"FILTER(STRSTARTS(LCASE(STR({_EXAMPLE})), LCASE(STR({written}))))"
        for text, word, pattern in (
            (written, "Values", f"{at} {verb_text} {_EXAMPLE} . {close}"),
            (written, "Values", f"{at} {verb_text} {_EXAMPLE} ."),
            (at, "Subjects", f"{_EXAMPLE} {verb_text} {written} ."),
        ):
            if text.startswith(("?", "$", "[", "(", "_:")):
                continue
            found = self._examples(f"SELECT DISTINCT {_EXAMPLE} {{ {pattern} }} LIMIT {_MOST_EXAMPLES}")
            if found:
                return f"{word} that occur in place of {clipped(text, 80)}: {found}"
        return ""

    def _before(self, conflict: Sequence[_PatternPart]) -> list[str]:
        """Return examples of the values that a filter excludes."""
        last, rest = conflict[-1], " ".join(part.text for part in conflict[:-1])
        names = sorted(last.wanted) if last.kind == "filter" else []
        found = (
            (
                name,
                self._examples(f"SELECT DISTINCT ?{name} {{ {rest} FILTER(BOUND(?{name})) }} LIMIT {_MOST_EXAMPLES}"),
            )
            for name in names[:2]
        )
        return [f"Values of ?{name} without it: {examples}" for name, examples in found if examples]

    def _examples(self, query: str) -> str:
        """Return the terms of a query as text, empty if there are none."""
        left = self._end - time.monotonic()
        if left <= 0 or self._sample is None:
            return ""
        try:
            terms = list(self._sample(self._head + query, min(left, self._each)))
        except KbError:
            return ""
        return ", ".join(clipped(_written(term, self._context), 80) for term in terms)

    def _conflict(self, parts: list[_PatternPart]) -> list[_PatternPart] | None:
        """Return the first parts without a common solution, as few as possible, in their order."""
        ordered = _ordered(parts)
        for end in range(2, len(ordered) + 1):
            answer = self._ask(ordered[:end])
            if answer is None:
                return None
            if not answer:
                return self._fewest(ordered[:end])
        return None

    def _fewest(self, parts: list[_PatternPart]) -> list[_PatternPart]:
        """Leave out the parts without which the others have no common solution either."""
        kept = list(parts)
        for part in parts[:-1]:
            rest = [other for other in kept if other is not part]
            used = set().union(*(variables(other.node) for other in rest if other.needs is not None))
            needed = used - set().union(*(other.binds for other in rest))
            needed |= set().union(*(other.binds for other in rest if other.kind == "optional_graph_pattern"))
            if not needed & part.binds and self._ask(rest) is False:
                kept = rest
        return kept

    def modifiers(self, query: ParseTree, group: ParseTree) -> EmptyResult | None:
        """Return the explanation of a query whose pattern has solutions."""
        count = self._counted(to_text(group))
        modifier = child(query, "solution_modifier")
        if not count or modifier is None:
            return None
        counted = [CountedPattern("the whole pattern", count)]
        for rule, reason in (
            ("having_clause", "HAVING excludes every group:"),
            ("limit_offset_clauses", "LIMIT and OFFSET leave no row:"),
        ):
            part = child(modifier, rule)
            if part is not None:
                return EmptyResult(f"{reason} {to_text(part)}", counted)
        return None

    def _parts(self, group: ParseTree, more: Sequence[ParseTree]) -> list[_PatternPart]:
        required: list[_PatternPart] = []
        optional: list[_PatternPart] = []
        for node in (*group.children, *more):
            if not isinstance(node, Tree) or self._is_label(node):
                continue
            if node.data == "triples_block":
                required += [
                    _PatternPart(triple, to_text(triple) + " .", "triple", variables(triple))
                    for same_subject in children(node, "triples_same_subject_path", "triples_same_subject")
                    for triple in _single(same_subject)
                ]
            else:
                (optional if node.data == "optional_graph_pattern" else required).append(_part(node))
        bound = set().union(*(part.binds for part in required))
        needed = set().union(*(part.wanted for part in required)) - bound
        return [*required, *(part for part in optional if part.binds & needed)]

    def _is_label(self, node: ParseTree) -> bool:
        return node.data == "service_graph_pattern" and self._context.is_iri(node.children[-2], _LABELS)


def _single(same_subject: ParseTree) -> list[ParseTree]:
    """Return the triples of a subject, each with a subject of its own."""
    subject, *rest = same_subject.children
    if not rest or (isinstance(subject, Tree) and subject.data != "nil"):  # brackets must stay together
        return [same_subject]
    lists = [part for part in rest if isinstance(part, Tree)]
    return [
        Tree(same_subject.data, [subject, Tree(part.data, [verb, Tree("object_list_path", [value])])])
        for part in lists
        for verb, value in pairs(part)
    ]


def _part(node: ParseTree) -> _PatternPart:
    text, kind = to_text(node), str(node.data)
    if kind == "filter":
        inside = set().union(*map(variables, nodes(node, "exists_func", "not_exists_func")))
        return _PatternPart(node, text, kind, set(), variables(node) - inside)
    if kind == "minus_graph_pattern":
        return _PatternPart(node, text, kind, set(), set())
    if kind == "bind":
        return _PatternPart(node, text, kind, {str(node.children[-2])[1:]}, variables(node.children[2]))
    if kind == "optional_graph_pattern":
        return _PatternPart(node, text, kind, set(visible(node)), set())
    return _PatternPart(node, f"{{ {text} }}" if kind == "sub_select" else text, kind, set(visible(node)))


def _ordered(parts: list[_PatternPart]) -> list[_PatternPart]:
    """Return the parts so that each is joined with one before it, and follows those that bind its variables.

    Filters and assignments of variables come as early as that allows, those with EXISTS, and MINUS, after all others.
    """
    rest, done, bound = list(parts), list[_PatternPart](), set[str]()
    every = set().union(*(part.binds for part in parts))
    while rest:
        ready = [part for part in rest if part.needs is not None and not (part.needs & every) - bound]
        patterns = [part for part in rest if part.needs is None]
        order = [
            *(part for part in ready if part.kind == "bind" or part.needs),
            *(part for part in patterns if part.binds & bound),
            *patterns,
            *(part for part in ready if part.binds),  # OPTIONAL
            *ready,
            *rest,
        ]
        rest.remove(order[0])
        done.append(order[0])
        bound |= order[0].binds
    return done


def _shown(node: Node) -> str:
    """Return a pattern on one line."""
    text = " ".join((str(node) if isinstance(node, Token) else to_text(node)).split()).removesuffix(" .")
    return clipped(text, _LONGEST)


def _written(term: Mapping[str, Any], context: Context) -> str:
    """Return an RDF term as a query has it."""
    if term["type"] == "uri":
        name = " ".join(term["name"].split())
        return context.names.short(term["value"]) + (f" ({name})" if name else "")
    if term["type"] != "literal":
        return str(term["value"])
    datatype, text = str(term["datatype"] or ""), string_literal(str(term["value"]))
    if datatype.rpartition("#")[2] in ("integer", "decimal", "double", "boolean"):
        return str(term["value"])
    if term["language"]:
        return f"{text}@{term['language']}"
    return text if not datatype or datatype.endswith("#string") else f"{text}^^{context.names.short(datatype)}"
