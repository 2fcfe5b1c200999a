"""Random SPARQL queries whose results do not depend on chance: patterns, expressions, groups, paths, order."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
_CASTS = ("integer", "decimal", "double", "float", "boolean", "string", "dateTime", "date")
_TEXTS = ('""', '"a"', '"b"', '"abc"', '"é"', '"1"', '"A"', '"/"')
_TAGS, _RANGES, _FLAGS = ('"en"', '"de-CH"'), ('"*"', '"en"', '"de"', '""'), ("", ', "i"')
_PATTERNS = ('"a"', '"^a"', '"b$"', '"[0-9]+"', '"."', '"^$"', '"B"', '"(a|b)c?"')


@dataclass(frozen=True)
class Vocabulary:
    """The names and values that queries of a dataset use."""

    prefixes: str
    predicates: Sequence[str]
    subjects: Sequence[str]
    constant: Callable[[random.Random], str]
    """Draws a literal or an IRI."""
    graphs: Sequence[str] = ()
    facts: Sequence[tuple[str, str, str]] = ()
    """Triples of the default graph, from which patterns are drawn that match."""


@dataclass
class Queries:
    """Draws queries; ``depth`` limits how deep patterns nest."""

    rng: random.Random
    words: Vocabulary
    depth: int = 2
    _fresh: int = field(default=0, init=False)
    _triples: int = field(default=0, init=False)
    _names: dict[str, str] = field(default_factory=dict, init=False)
    """The variable of each term of the facts that a pattern was drawn from."""

    def query(self) -> str:
        """Return a query."""
        self._fresh = self._triples = 0
        self._names.clear()
        draw = self.rng.random()
        if draw < 0.04:
            text, _ = self._group(self.depth)
            return f"{self.words.prefixes}ASK {text}"
        if draw < 0.08:
            text, known = self._group(self.depth)
            return f"{self.words.prefixes}CONSTRUCT {{ {self._template(known)} }} WHERE {text}"
        return self.words.prefixes + self._select(self.depth, top=True)[0]

    # -- queries ------------------------------------------------------------------------------------------------------

    def _select(self, depth: int, *, top: bool = False) -> tuple[str, list[str]]:
        """Return a SELECT and its columns."""
        where, known = self._group(depth)
        if known and self.rng.random() < 0.28:
            return self._grouped(where, known, top=top)
        columns = self._some(known) or known
        shown = list(columns)
        if self.rng.random() < 0.3:
            name = self._new()
            shown.append(f"({self.expression(2, known)} AS {name})")
            columns = [*columns, name]
        star = not shown or (shown == columns and self.rng.random() < 0.25)
        distinct = "DISTINCT " if self.rng.random() < 0.25 else ""
        columns = known if star else columns
        text = f"SELECT {distinct}{'*' if star else ' '.join(shown)} WHERE {where}"
        return text + (self._order(columns) if top else ""), columns

    def _grouped(self, where: str, known: list[str], *, top: bool) -> tuple[str, list[str]]:
        rng, keys, shown, columns = self.rng, [], [], []
        for variable in rng.sample(known, rng.choice((0, 1, 1, 2)) if len(known) > 1 else rng.choice((0, 1))):
            if rng.random() < 0.2:
                name = self._new()
                keys.append(f"({self._textual(1, known)} AS {name})")
                columns.append(name)
            else:
                keys.append(variable)
                columns.append(variable)
        shown += columns
        grouped = list(columns)
        for _ in range(rng.choice((1, 1, 2, 3))):
            name = self._new()
            value = self._aggregate(known, grouped)
            if rng.random() < 0.1:
                value = f"({value} {rng.choice('+*-')} {self._aggregate(known, grouped)})"
            shown.append(f"({value} AS {name})")
            columns.append(name)
        text = f"SELECT {' '.join(shown)} WHERE {where}"
        if keys:
            text += f" GROUP BY {' '.join(keys)}"
        if keys and rng.random() < 0.25:
            text += f" HAVING ({self._aggregate(known, grouped)} {rng.choice(_COMPARISONS)} {rng.choice('012')})"
        return text + (self._order(columns) if top else ""), columns

    def _aggregate(self, known: list[str], grouped: list[str]) -> str:
        rng = self.rng
        variable = rng.choice(known) if rng.random() < 0.85 else self.expression(1, known)
        some = "DISTINCT " if rng.random() < 0.3 else ""
        kind = rng.choice(("COUNT", "COUNT", "*", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"))
        if kind == "*":
            return f"COUNT({some}*)" if rng.random() < 0.2 else "COUNT(*)"
        if kind == "SAMPLE":  # of one value, because the choice is open
            return f"SAMPLE({rng.choice(grouped)})" if grouped else "COUNT(*)"
        if kind == "GROUP_CONCAT":  # its order is open
            sign = rng.choice(("", '; SEPARATOR=", "', '; SEPARATOR=""'))
            return f"STRLEN(GROUP_CONCAT({some}{variable}{sign}))"
        return f"{kind}({some}{variable})"

    def _order(self, columns: list[str]) -> str:
        rng, text = self.rng, ""
        if columns and rng.random() < 0.3:
            keys = rng.sample(columns, rng.randint(1, min(2, len(columns))))
            text = " ORDER BY " + " ".join(rng.choice(("{}", "ASC({})", "DESC({})")).format(key) for key in keys)
        if rng.random() < (0.5 if text else 0.05):
            text += f" LIMIT {rng.choice((0, 1, 2, 5, 10))}"
        if rng.random() < (0.2 if text else 0.02):
            text += f" OFFSET {rng.choice((0, 1, 3))}"
        return text

    def _template(self, known: list[str]) -> str:
        rng = self.rng
        things = [*known, *known, *self.words.subjects[:2]]
        verb = rng.choice(self.words.predicates)
        return " . ".join(f"{rng.choice(things)} {verb} {rng.choice(things)}" for _ in range(rng.choice((1, 2))))

    # -- patterns -----------------------------------------------------------------------------------------------------

    def _group(self, depth: int, inherited: Sequence[str] = ()) -> tuple[str, list[str]]:
        """Return a group and the variables that it may bind; ``inherited`` ones are shared with what is around it."""
        rng = self.rng
        parts, known = self._basic(inherited) if rng.random() < 0.95 else ([], [])
        outside = [*dict.fromkeys([*known, *inherited])]
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3)) if depth else rng.choice((0, 0, 0, 1))):
            text, more = self._part(depth, known, outside)
            parts.append(text)
            known = [*dict.fromkeys([*known, *more])]
            outside = [*dict.fromkeys([*known, *outside])]
        if rng.random() < 0.15:
            more_parts, more = self._basic(known)
            parts += more_parts
            known = [*dict.fromkeys([*known, *more])]
        return f"{{ {' '.join(parts)} }}", known

    def _part(self, depth: int, known: list[str], outside: list[str]) -> tuple[str, list[str]]:
        rng = self.rng
        if depth and self._triples < 7:
            kind = rng.choice(("optional", "optional", "union", "minus", "select", "graph", "filter", "bind", "values"))
        else:
            kind = rng.choice(("filter", "filter", "bind", "values"))
        if kind == "optional":
            text, more = self._group(depth - 1, known)
            return f"OPTIONAL {text}", more
        if kind == "union":
            (one, first), (two, second) = self._group(depth - 1, known), self._group(depth - 1, known)
            return f"{one} UNION {two}", [*dict.fromkeys([*first, *second])]
        if kind == "minus":
            return f"MINUS {self._group(depth - 1, known)[0]}", []
        if kind == "select":
            text, more = self._select(depth - 1)
            return f"{{ {text} }}", more
        if kind == "graph" and self.words.graphs:
            text, more = self._group(depth - 1, known)
            if rng.random() < 0.6:
                name = self._variable(known)
                return f"GRAPH {name} {text}", [*dict.fromkeys([*more, name])]
            return f"GRAPH {rng.choice(self.words.graphs)} {text}", more
        if kind == "bind":
            name = self._new()
            return f"BIND({self.expression(2, known)} AS {name})", [name]
        if kind == "values":
            return self._values(known)
        return f"FILTER({self._condition(2, outside, depth)})", []

    def _values(self, known: list[str]) -> tuple[str, list[str]]:
        rng = self.rng
        names = [*dict.fromkeys(self._variable(known) for _ in range(rng.choice((1, 1, 2))))]

        def value() -> str:
            return "UNDEF" if rng.random() < 0.15 else self._constant()

        if len(names) == 1:
            return f"VALUES {names[0]} {{ {' '.join(value() for _ in range(rng.randint(0, 4)))} }}", names
        rows = " ".join(f"({' '.join(value() for _ in names)})" for _ in range(rng.randint(1, 3)))
        return f"VALUES ({' '.join(names)}) {{ {rows} }}", names

    def _basic(self, inherited: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """Return one to four triple patterns, most of them connected, and their variables."""
        rng, known, parts = self.rng, list(inherited), []
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4)) if self._triples < 6 else 1):
            self._triples += 1
            if self.words.facts and rng.random() < 0.75:
                subject, verb, value = self._fact(known)
            else:
                subject, verb, value = self._any(known)
            parts.append(f"{subject} {verb} {value} .")
            known = [*dict.fromkeys([*known, *(part for part in (subject, verb, value) if part[0] == "?")])]
        return parts, [name for name in known if any(f"{name} " in part for part in parts)]

    def _fact(self, known: Sequence[str]) -> tuple[str, str, str]:
        """Return the pattern of a triple, which shares a variable with known ones if it can."""
        rng = self.rng
        near = [f for f in self.words.facts if {self._names.get(f[0]), self._names.get(f[2])} & set(known)]
        subject, verb, value = rng.choice(near or self.words.facts)
        return self._named(subject), self._verb([]) if rng.random() < 0.15 else verb, self._named(value)

    def _named(self, term: str) -> str:
        """Return the variable of a term, or the term."""
        if term not in self._names and (term.startswith("_:") or self.rng.random() < 0.9):
            free = [name for name in ("?a", "?b", "?c", "?d", "?e") if name not in self._names.values()]
            self._names[term] = self.rng.choice(free or ["?a", "?b", "?c", "?d"])
        return self._names.get(term, term)

    def _any(self, known: Sequence[str]) -> tuple[str, str, str]:
        rng = self.rng
        subject = rng.choice(self.words.subjects) if rng.random() < 0.12 else self._variable(known)
        if rng.random() < 0.04:
            subject = "_:n" + str(self._triples)
        value = self._constant() if rng.random() < 0.15 else self._variable([])
        if known and rng.random() < 0.3:
            value = rng.choice(known)
        return subject, self._verb(known), value

    def _verb(self, known: Sequence[str]) -> str:
        draw = self.rng.random()
        if draw < 0.12:
            return self.rng.choice(("?p", "?p", self._variable(known)))
        if draw < 0.24:
            return self.path(2)
        return self.rng.choice(self.words.predicates)

    def path(self, depth: int) -> str:
        """Return a property path."""
        rng, verb = self.rng, self.rng.choice(self.words.predicates)
        if not depth or rng.random() < 0.2:
            return verb
        inner = self.path(depth - 1)
        other = self.path(depth - 1)
        return rng.choice(
            (
                f"({inner})*",
                f"({inner})+",
                f"({inner})?",
                f"^({inner})",
                f"({inner}/{other})",
                f"({inner}|{other})",
                f"!{verb}",
                f"!(^{verb})",
                f"!({verb}|^{rng.choice(self.words.predicates)})",
            )
        )

    def _variable(self, known: Sequence[str]) -> str:
        """Return a variable, more often than not one that is known."""
        if known and self.rng.random() < 0.7:
            return self.rng.choice(known)
        return self.rng.choice(("?a", "?b", "?c", "?d"))

    def _new(self) -> str:
        self._fresh += 1
        return f"?v{self._fresh}"

    def _some(self, known: list[str]) -> list[str]:
        return self.rng.sample(known, self.rng.randint(1, min(4, len(known)))) if known else []

    def _constant(self) -> str:
        return self.words.constant(self.rng)

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self, depth: int, known: Sequence[str]) -> str:
        """Return an expression; it may be an error for some or all solutions."""
        rng = self.rng
        if not depth or rng.random() < 0.25:
            return self._leaf(known)
        make = rng.choice((self._numeric, self._numeric, self._textual, self._textual, self._other))
        return make(depth, known) if rng.random() < 0.85 else f"({self._condition(depth, list(known), 0)})"

    def _leaf(self, known: Sequence[str]) -> str:
        draw = self.rng.random()
        if known and draw < 0.7:
            return self.rng.choice(known)
        return self._constant() if draw < 0.95 else self.rng.choice(("?a", "?unbound"))

    def _numeric(self, depth: int, known: Sequence[str]) -> str:
        rng, one = self.rng, self.expression(depth - 1, known)
        if rng.random() < 0.5:
            two = self.expression(depth - 1, known) if rng.random() < 0.6 else rng.choice(("1", "2", "0", "1.5", "1e0"))
            return f"({one} {rng.choice('+-*/')} {two})"
        name = rng.choice(
            ("ABS", "CEIL", "FLOOR", "ROUND", "STRLEN", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "-", "+")
        )
        return f"({name}{one})" if name in "-+" else f"{name}({one})"

    def _textual(self, depth: int, known: Sequence[str]) -> str:
        rng, one = self.rng, self.expression(depth - 1, known)
        text = f"STR({one})" if rng.random() < 0.5 else one
        two = rng.choice((*_TEXTS, self.expression(depth - 1, known)))
        length = rng.choice((", 1", ", 2", ", 1, 2", ", 0, 2", ", 2, 10", ", -1, 3"))
        return rng.choice(
            (
                f"STR({one})",
                f"LANG({one})",
                f"DATATYPE({one})",
                f"UCASE({text})",
                f"LCASE({text})",
                f"CONCAT({text}, {two})",
                f"SUBSTR({text}{length})",
                f"STRBEFORE({text}, {two})",
                f"STRAFTER({text}, {two})",
                f"REPLACE({text}, {rng.choice(_PATTERNS)}, {rng.choice(_TEXTS)})",
                f"ENCODE_FOR_URI({text})",
                f"{rng.choice(('MD5', 'SHA1', 'SHA256'))}({text})",
                f"{rng.choice(('TZ', 'TIMEZONE'))}({one})",
                f"STRLANG({text}, {rng.choice(_TAGS)})",
                f"STRDT({text}, {rng.choice(('xsd:integer', 'xsd:date', '<http://e/type>', 'xsd:string'))})",
                f"IRI({text})",
            )
        )

    def _other(self, depth: int, known: Sequence[str]) -> str:
        rng = self.rng
        one, two = self.expression(depth - 1, known), self.expression(depth - 1, known)
        return rng.choice(
            (
                f"IF({self._condition(depth - 1, list(known), 0)}, {one}, {two})",
                f"COALESCE({one}, {two})",
                f"COALESCE({one}, {self._leaf(known)}, {two})",
                f"xsd:{rng.choice(_CASTS)}({one})",
                f"xsd:{rng.choice(_CASTS)}(STR({one}))",
            )
        )

    def _condition(self, depth: int, known: list[str], nested: int) -> str:
        """Return a condition; ``nested`` is how deep EXISTS may nest patterns."""
        rng = self.rng
        if depth and rng.random() < 0.35:
            one, two = self._condition(depth - 1, known, nested), self._condition(depth - 1, known, nested)
            return rng.choice((f"({one} && {two})", f"({one} || {two})", f"(!({one}))"))
        if nested and self._triples < 7 and rng.random() < 0.25:
            return f"{rng.choice(('EXISTS', 'NOT EXISTS'))} {self._group(nested - 1, known)[0]}"
        one = self.expression(max(0, depth - 1), known)
        two = self.expression(max(0, depth - 1), known) if rng.random() < 0.5 else self._constant()
        if rng.random() < 0.4:
            return f"({one} {rng.choice(_COMPARISONS)} {two})"
        text = f"STR({one})" if rng.random() < 0.5 else one
        listed = ", ".join(self.expression(0, known) for _ in range(rng.randint(0, 3)))
        return rng.choice(
            (
                f"({one} {rng.choice(('IN', 'NOT IN'))} ({listed}))",
                f"BOUND({rng.choice([*known, '?a', '?unbound'])})",
                f"sameTerm({one}, {two})",
                f"{rng.choice(('isIRI', 'isBLANK', 'isLITERAL', 'isNUMERIC'))}({one})",
                f"REGEX({text}, {rng.choice(_PATTERNS)}{rng.choice(_FLAGS)})",
                f"{rng.choice(('CONTAINS', 'STRSTARTS', 'STRENDS'))}({text}, {rng.choice(_TEXTS)})",
                f"LANGMATCHES(LANG({one}), {rng.choice(_RANGES)})",
                one,
                "true",
            )
        )
