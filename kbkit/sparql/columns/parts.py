"""Parts of terms as columns: tag, lexical form, value as a number or time; and numbers whose kind varies by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kbkit.sparql.columns.rows import SqlRows
from kbkit.sparql.columns.terms import (
    NUMBER_CODES,
    NUMBERS,
    XSD,
    SqlValue,
    beyond,
    decimal_text,
    double_number,
    double_text,
    exact_number,
    has_zone,
    is_literal,
    is_time,
    literal_tag,
    literal_text,
    moment_epoch,
    number_code,
    promoted,
    typed,
)


@dataclass
class PartsOfTerm:
    """The parts of a column of internal text, each a column that is computed when it is first used."""

    rows: SqlRows
    term: str

    @cached_property
    def is_literal(self) -> str:
        """Whether the term is a literal."""
        return is_literal(self.term)

    @cached_property
    def tag(self) -> str:
        """The tag of a literal, NULL for other terms."""
        return self.rows.compute(f"CASE WHEN {self.is_literal} THEN {literal_tag(self.term)} END")

    @cached_property
    def text(self) -> str:
        """The lexical form of a literal, NULL for other terms."""
        return self.rows.compute(f"CASE WHEN {self.is_literal} THEN {literal_text(self.term)} END")

    @cached_property
    def simple(self) -> str:
        """The text of an xsd:string, NULL for other terms."""
        return self.rows.compute(f"""CASE WHEN starts_with({self.term}, '""') THEN substr({self.term}, 3) END""")

    @cached_property
    def string(self) -> str:
        """The text of an xsd:string or a literal with a language, NULL for other terms."""
        t = self.term
        tagged = f"""WHEN starts_with({t}, '"@') THEN {literal_text(t)}"""
        return self.rows.compute(f"""CASE WHEN starts_with({t}, '""') THEN substr({t}, 3) {tagged} END""")

    @cached_property
    def code(self) -> str:
        """The kind of a valid number, of :data:`NUMBER_CODES`; NULL for other terms."""
        return self.rows.compute(number_code(self.tag, self.text))

    @cached_property
    def exact(self) -> str:
        """The value of an integer or decimal."""
        return self.rows.compute(exact_number(self.code, self.text))

    @cached_property
    def double(self) -> str:
        """The value of any number as a double."""
        return self.rows.compute(double_number(self.code, self.text))

    @cached_property
    def epoch(self) -> str:
        """Microseconds since 1970 of a date or dateTime."""
        return self.rows.compute(moment_epoch(self.tag, self.text))

    @cached_property
    def zoned(self) -> str:
        """Whether a date or dateTime has a time zone."""
        return has_zone(self.text)

    @cached_property
    def is_known_or_resource(self) -> str:
        """Whether the term differs from every other one in value: not so for literals of unknown datatypes."""
        return self.rows.compute(
            f"NOT {self.is_literal} OR {self.tag} = '' OR starts_with({self.tag}, '@') OR {self.code} IS NOT NULL"
            f" OR {self.boolean} IS NOT NULL OR {self.epoch} IS NOT NULL"
        )

    @property
    def boolean(self) -> str:
        """The value of an xsd:boolean."""
        return f"""CASE {self.term} WHEN '"^{XSD}boolean"true' THEN true WHEN '"^{XSD}boolean"false' THEN false END"""


def parts_of(rows: SqlRows, value: SqlValue) -> PartsOfTerm:
    """Return the parts of a value of kind ``term``."""
    return PartsOfTerm(rows, rows.plain(value).sql)


@dataclass(frozen=True)
class NumberParts(SqlValue):
    """A number whose kind varies by row: the value as internal text, and columns for its parts."""

    code: str = "NULL"
    """Its kind, of :data:`NUMBER_CODES`; NULL: not a number."""
    exact: str = "NULL"
    double: str = "NULL"
    is_time: str = "false"
    """Whether a value that is not a number is a date, a time or a duration."""

    @classmethod
    def of(cls, rows: SqlRows, code: str, exact: str, double: str) -> NumberParts:
        """Return the number with the internal text of its parts. Integers beyond 64 bits are errors."""
        whole = typed(f"{exact}::DECIMAL(38,0)::VARCHAR", "integer")
        text = rows.compute(
            f"CASE WHEN {code} = 1 AND abs({exact}) <= 9223372036854775807 THEN {whole}"
            f" WHEN {code} = 2 AND {exact} IS NOT NULL THEN {typed(decimal_text(exact), 'decimal')}"
            f" WHEN {code} = 3 AND abs({double}) >= 1e9 AND isfinite({double}) THEN {beyond('large floats', 'VARCHAR')}"
            f" WHEN {code} = 3 AND {double} IS NOT NULL THEN {typed(double_text(f'{double}::FLOAT'), 'float')}"
            f" WHEN {code} = 4 AND {double} IS NOT NULL THEN {typed(double_text(double), 'double')} END"
        )
        valid = rows.compute(f"if({text} IS NULL, NULL, {code})")
        return cls(text, "term", True, valid, exact, rows.compute(f"coalesce({double}, {exact}::DOUBLE)"))


def number_of(rows: SqlRows, value: SqlValue) -> NumberParts:
    """Return a value that is not ``id`` or ``node`` as a number."""
    if isinstance(value, NumberParts):
        return value
    if value.kind in NUMBERS:
        sql = rows.plain(value).sql
        exact = promoted(SqlValue(sql, value.kind), "decimal") if value.kind != "double" else "NULL::DECIMAL(38,18)"
        code = f"if({sql} IS NULL, NULL, {NUMBER_CODES[value.kind]})"
        double = promoted(SqlValue(sql, value.kind), "double")
        return NumberParts(
            value.sql, value.kind, value.nullable, rows.compute(code), rows.compute(exact), rows.compute(double)
        )
    if value.kind != "term":
        return NumberParts(
            value.sql, value.kind, value.nullable, "NULL::INTEGER", "NULL::DECIMAL(38,18)", "NULL::DOUBLE"
        )
    parts = parts_of(rows, value)
    return NumberParts(
        value.sql, "term", value.nullable, parts.code, parts.exact, parts.double, rows.compute(is_time(parts.tag))
    )


def truth(rows: SqlRows, value: SqlValue) -> str:
    """Return the effective boolean value (SPARQL 1.1, section 17.2.2)."""
    if value.kind == "boolean":
        return value.sql
    if value.kind in ("iri", "node", "date", "dateTime"):
        return "NULL::BOOLEAN"
    if value.kind == "string":
        return f"({value.sql} <> '')"
    if value.kind in ("integer", "decimal"):
        return f"({value.sql} <> 0)"
    value = rows.plain(rows.decoded(value))
    if value.kind == "double":
        return f"({value.sql} <> 0 AND NOT isnan({value.sql}))"
    parts = parts_of(rows, value)
    boolean = parts.boolean
    return (
        f"CASE WHEN {parts.tag} = '' THEN {parts.text} <> '' WHEN {boolean} IS NOT NULL THEN {boolean}"
        f" WHEN {parts.code} IS NOT NULL THEN {parts.double} <> 0 AND NOT isnan({parts.double}) END"
    )


def quotient(a: str, b: str) -> str:
    """Divide decimals; the result is cut after 18 decimals, as Oxigraph does."""
    scale, tiny = "1000000000000000000::HUGEINT", "0.000000000000000001::DECIMAL(18,18)"
    one, other = (f"({x}::DECIMAL(28,8) * 1000000::DECIMAL(7,0))::HUGEINT" for x in (a, b))
    return (
        f"CASE WHEN {b} = 0 THEN NULL WHEN {a} = trunc({a}) AND {b} = trunc({b}) AND abs({a}) < 1e19"
        f" THEN (({a}::HUGEINT * {scale}) // {b}::HUGEINT)::DECIMAL(38,0) * {tiny}"
        f" WHEN abs({a}) < 1e13 AND abs({b}) < 1e13 AND round({a}, 6) = {a} AND round({b}, 6) = {b}"
        f" THEN (({one} * {scale}) // {other})::DECIMAL(38,0) * {tiny}"
        f" WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {beyond('quotients of decimals', 'DECIMAL(38,18)')} END"
    )
