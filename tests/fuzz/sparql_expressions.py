"""Random SPARQL expressions and conditions, with errors, and the names and values that queries use."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
_CASTS = ("integer", "decimal", "double", "float", "boolean", "string", "dateTime", "date")
_TEXTS = ('""', '"a"', '"b"', '"abc"', '"é"', '"1"', '"A"', '"/"', '"a"@en', '"b"@de')
_TAGS, _RANGES = ('"en"', '"de-CH"'), ('"*"', '"en"', '"de"', '""', '"EN"')
_FLAGS = ("", "", "", ', "i"', ', "s"', ', "m"', ', "q"', ', "x"', ', "ix"')
_PATTERNS = ('"a"', '"^a"', '"b$"', '"[0-9]+"', '"."', '"^$"', '"B"', '"(a|b)c?"')
_OPEN = ("RAND() < 1", "isIRI(UUID())", "STRLEN(STRUUID())", "NOW() = NOW()", "isBLANK(BNODE())", "YEAR(NOW()) > 2000")
"""Calls whose results depend on chance, in expressions that do not."""


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
class Expressions:
    """Draws expressions over variables."""

    rng: random.Random
    words: Vocabulary
    _fresh: int = field(default=0, init=False)
    _triples: int = field(default=0, init=False)

    def _group(self, depth: int, inherited: Sequence[str] = ()) -> tuple[str, list[str]]:
        """Return a group and the variables that it may bind; ``inherited`` ones are shared with what is around it."""
        raise NotImplementedError

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
        length = rng.choice((", 1", ", 2", ", 1, 2", ", 0, 2", ", 2, 10", ", -1, 3", f", STRLEN({text})", ", 1.6, 1"))
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
                f"REPLACE({text}, {rng.choice(_PATTERNS)}, {rng.choice(_TEXTS)}{rng.choice(_FLAGS)})",
                f'REPLACE({text}, "(a|b)(.)", "$2-$1")',
                f"CONCAT({text})",
                f'CONCAT({text}, {two}, "c"@en)',
                f"LCASE(UCASE({text}))",
                f"ENCODE_FOR_URI({text})",
                f"{rng.choice(('MD5', 'SHA1', 'SHA256', 'SHA384', 'SHA512'))}({text})",
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
                f"COALESCE({one})",
                f"IF({one}, {two}, {self._leaf(known)})",
                f"IF(BOUND({rng.choice([*known, '?unbound'])}), {one}, 1 / 0)",
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
            return f"({one} {rng.choice(COMPARISONS)} {two})"
        text = f"STR({one})" if rng.random() < 0.5 else one
        listed = ", ".join(self.expression(0, known) for _ in range(rng.randint(0, 3)))
        return rng.choice(
            (
                f"({one} {rng.choice(('IN', 'NOT IN'))} ({listed}))",
                f"BOUND({rng.choice([*known, '?a', '?unbound'])})",
                f"sameTerm({one}, {two})",
                f"{rng.choice(('isIRI', 'isURI', 'isBLANK', 'isLITERAL', 'isNUMERIC'))}({one})",
                f"({one} IN ({two}, 1 / 0, {self._leaf(known)}))",
                f"({one} NOT IN (1 / 0, {two}))",
                f"(DATATYPE({one}) = {rng.choice(('xsd:integer', 'xsd:decimal', 'xsd:string', 'xsd:double'))})",
                f"{rng.choice(('CONTAINS', 'STRSTARTS', 'STRENDS'))}({text}, {two})",
                *([rng.choice(_OPEN)] if rng.random() < 0.2 else []),
                f"REGEX({text}, {rng.choice(_PATTERNS)}{rng.choice(_FLAGS)})",
                f"{rng.choice(('CONTAINS', 'STRSTARTS', 'STRENDS'))}({text}, {rng.choice(_TEXTS)})",
                f"LANGMATCHES(LANG({one}), {rng.choice(_RANGES)})",
                one,
                "true",
            )
        )
