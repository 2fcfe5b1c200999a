"""Results of SPARQL as RDF terms, and their comparison: as multisets, up to the names of blank nodes, and in order."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyoxigraph as ox

XSD = "http://www.w3.org/2001/XMLSchema#"
Term = Any
"""An IRI, a blank node, a literal or a quoted triple of pyoxigraph; None: unbound."""
Row = tuple[Term, ...]
INEXACT = {XSD + "double": 1e-9, XSD + "float": 1e-5}
"""Datatypes whose sums depend on the order of the summands, with the relative difference that this explains."""
_NUMERIC = {XSD + name for name in ("integer", "decimal", "double", "float")}


@dataclass(frozen=True)
class Answer:
    """The result of a query: ``select``, ``ask`` (one row of one boolean) or ``triples``."""

    kind: str
    variables: tuple[str, ...]
    rows: tuple[Row, ...]

    def show(self, most: int = 12) -> str:
        """Return the first rows as text."""
        lines = ["  ".join(self.variables)]
        lines += ["  ".join("-" if term is None else str(term) for term in row) for row in self.rows[:most]]
        return "\n".join([*lines, *([f"... {len(self.rows)} rows"] if len(self.rows) > most else [])])


Engine = Callable[[Any, str], Answer]
"""Run a query on a KB (or what a test has instead)."""


def answer(result: Any) -> Answer:
    """Return a result of pyoxigraph."""
    if isinstance(result, ox.QueryBoolean):
        return Answer("ask", ("ask",), ((ox.Literal(bool(result)),),))
    if isinstance(result, ox.QueryTriples):
        rows = tuple((triple.subject, triple.predicate, triple.object) for triple in result)
        return Answer("triples", ("subject", "predicate", "object"), rows)
    variables = tuple(variable.value for variable in result.variables)
    return Answer("select", variables, tuple(tuple(solution) for solution in result))


def canonical(found: Answer) -> Answer:
    """Return the answer with its literals as Oxigraph stores them: ``01`` becomes ``1``."""
    store, verb = ox.Store(), ox.NamedNode("urn:p")
    known: dict[Term, Term] = {None: None}

    def stored(term: Term) -> Term:
        if term not in known:
            store.clear()
            store.add(ox.Quad(ox.BlankNode(), verb, term))
            known[term] = next(iter(store)).object
        return known[term]

    return replace(found, rows=tuple(tuple(stored(term) for term in row) for row in found.rows))


def difference(wanted: Answer, found: Answer, *, inexact: bool = False, ties: bool = False) -> str:
    """Return how two answers differ as multisets, empty if they do not.

    The names of blank nodes do not matter. ``inexact`` allows for floating-point sums in another order, ``ties`` for
    other terms of the same numeric value, such as the minimum of 1 and 1.0.
    """
    if wanted.kind != found.kind:
        return f"the result is {found.kind}, not {wanted.kind}"
    if set(wanted.variables) != set(found.variables):
        return f"the variables are {found.variables}, not {wanted.variables}"
    order = [found.variables.index(name) for name in wanted.variables]
    rows = [tuple(row[at] for at in order) for row in found.rows]
    mine = list(dict.fromkeys(wanted.rows)) if wanted.kind == "triples" else list(wanted.rows)
    rows = list(dict.fromkeys(rows)) if wanted.kind == "triples" else rows
    missing, more = Counter(mine) - Counter(rows), Counter(rows) - Counter(mine)
    if not missing and not more:
        return ""
    left, right = list(missing.elements()), list(more.elements())
    if inexact and len(left) == len(right) and all(_take(row, right, ties=ties) for row in left) and not right:
        return ""
    if len(mine) == len(rows) and _isomorphic(mine, rows):
        return ""
    parts = [f"{len(rows)} rows where {len(mine)} are right"]
    parts += [f"{name}: {_shown(some)}" for name, some in (("missing", missing), ("wrong", more)) if some]
    return "; ".join(parts)


def _row(row: Row) -> str:
    return f"({', '.join('-' if term is None else str(term) for term in row)})"


def _shown(rows: Counter[Row]) -> str:
    first = [_row(row) for row in list(rows.elements())[:4]]
    return " ".join(first) + (f" and {rows.total() - 4} more" if rows.total() > 4 else "")


def _take(row: Row, rows: list[Row], *, ties: bool) -> bool:
    """Remove the first row that is nearly ``row``, and return whether there was one."""
    for at, other in enumerate(rows):
        if all(nearly(a, b, ties=ties) for a, b in zip(row, other, strict=True)):
            del rows[at]
            return True
    return False


def nearly(a: Term, b: Term, *, ties: bool = False) -> bool:
    """Return whether two terms are the same, or floating-point numbers that a rounding error explains."""
    if a == b or not (isinstance(a, ox.Literal) and isinstance(b, ox.Literal)):
        return bool(a == b)
    tolerance = INEXACT.get(a.datatype.value)
    if a.datatype == b.datatype and tolerance is not None:
        try:
            one, other = float(a.value), float(b.value)
        except ValueError:  # an invalid literal
            return False
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-300) or (math.isnan(one) and math.isnan(other))
    return ties and (value := number(a)) is not None and value == number(b)


# -- blank nodes ------------------------------------------------------------------------------------------------------


def _blank(term: Term) -> Iterable[ox.BlankNode]:
    if isinstance(term, ox.BlankNode):
        yield term
    elif isinstance(term, ox.Triple):
        for part in (term.subject, term.object):
            yield from _blank(part)


def _blanks(rows: Iterable[Row]) -> list[ox.BlankNode]:
    return list(dict.fromkeys(blank for row in rows for term in row for blank in _blank(term)))


def _renamed(row: Row, names: dict[ox.BlankNode, Term]) -> Row:
    def change(term: Term) -> Term:
        if isinstance(term, ox.Triple):
            return ox.Triple(change(term.subject), term.predicate, change(term.object))
        return names.get(term, term) if isinstance(term, ox.BlankNode) else term

    return tuple(change(term) for term in row)


def _colours(rows: Sequence[Row], blanks: Sequence[ox.BlankNode]) -> dict[ox.BlankNode, int]:
    """Return a number for each blank node that depends on where it occurs only."""
    colours = dict.fromkeys(blanks, 0)
    for _ in range(4):
        places: dict[ox.BlankNode, list[int]] = {blank: [] for blank in blanks}
        for row in rows:
            seen = hash(tuple(("blank", colours[t]) if isinstance(t, ox.BlankNode) else str(t) for t in row))
            for at, term in enumerate(row):
                for blank in _blank(term):
                    places[blank].append(hash((at, seen)))
        colours = {blank: hash((colours[blank], tuple(sorted(places[blank])))) for blank in blanks}
    return colours


def _isomorphic(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Return whether a renaming of blank nodes, one to one, makes the rows of both sides the same."""
    mine, theirs = _blanks(left), _blanks(right)
    if len(mine) != len(theirs) or not mine:
        return False
    from_left, from_right = _colours(left, mine), _colours(right, theirs)
    wanted = Counter(right)

    def match(at: int, names: dict[ox.BlankNode, ox.BlankNode]) -> bool:
        if at == len(mine):
            return Counter(_renamed(row, names) for row in left) == wanted
        taken = set(names.values())
        same = (b for b in theirs if b not in taken and from_right[b] == from_left[mine[at]])
        return any(match(at + 1, {**names, mine[at]: blank}) for blank in same)

    return match(0, {})


# -- order ------------------------------------------------------------------------------------------------------------


def _class(term: Term) -> int:
    return next((n for n, kind in enumerate((ox.BlankNode, ox.NamedNode, ox.Literal), 1) if isinstance(term, kind)), 0)


def is_less(a: Term, b: Term) -> bool:
    """Return whether SPARQL puts ``a`` before ``b``: only where the specification says so, among all terms."""
    if _class(a) != _class(b):
        return _class(a) < _class(b)
    if isinstance(a, ox.NamedNode):
        return bool(a.value < b.value)
    if not isinstance(a, ox.Literal):
        return False
    if a.datatype.value in _NUMERIC and b.datatype.value in _NUMERIC:
        one, other = number(a), number(b)
        return one is not None and other is not None and one < other
    if a.datatype != b.datatype or a.language or b.language:
        return False
    if a.datatype.value == XSD + "string":
        return bool(a.value < b.value)
    return a.datatype.value == XSD + "boolean" and (a.value, b.value) == ("false", "true")


def number(term: ox.Literal) -> Decimal | float | None:
    """Return the value of a numeric literal, None if it is invalid or not comparable."""
    if term.datatype.value not in _NUMERIC:
        return None
    try:
        if term.datatype.value in INEXACT:
            value = float(term.value)
            return None if math.isnan(value) else value
        return Decimal(term.value) if term.datatype.value == XSD + "decimal" else Decimal(int(term.value))
    except (ValueError, ArithmeticError):
        return None


def is_before(one: Row, other: Row, descending: Sequence[bool]) -> bool:
    """Return whether ORDER BY puts a row before another, for certain; the rows hold the values of the conditions."""
    for first, second, down in zip(one, other, descending, strict=True):
        low, high = (second, first) if down else (first, second)
        if is_less(low, high):
            return True
        if first != second:  # a tie of different terms, or terms that have no order, or the other order
            return False
    return False


def disorder(keys: Sequence[Row], descending: Sequence[bool]) -> str:
    """Return the first neighbours that ORDER BY puts the other way round, empty if there are none."""
    for at, (one, other) in enumerate(itertools.pairwise(keys)):
        if is_before(other, one, descending):
            return f"row {at + 2} {_row(other)} belongs before row {at + 1} {_row(one)}"
    return ""
