"""RDF terms in SQL: their representations, and SQL expressions for their parts and conversions.

A term whose kind is not known before the query runs is *internal text*: ``<iri``, ``_label`` of a blank node, or
``"tag"lexical form`` of a literal, where the tag is empty (xsd:string), ``@language`` or ``^datatype``. Two terms are
the same exactly if their texts are equal, because literals are written as Oxigraph stores them.

Functions that repeat an argument in their result take the name of a column, so that texts stay short.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from kbkit.errors import QueryError
from kbkit.schema import STANDARD_PREFIXES
from kbkit.schema import literal as sql_string

XSD = STANDARD_PREFIXES["xsd"]
NUMBERS = ("integer", "decimal", "double")
"""Representations of numbers, each of which can be promoted to those after it."""
SQL_TYPES = {
    "id": "INTEGER", "node": "INTEGER", "integer": "BIGINT", "decimal": "DECIMAL(38,18)", "double": "DOUBLE",
    "boolean": "BOOLEAN", "date": "DATE", "dateTime": "TIMESTAMP", "string": "VARCHAR", "iri": "VARCHAR",
    "term": "VARCHAR",
}  # fmt: skip
"""The SQL type of each representation."""


class UnsupportedQueryError(QueryError):
    """The columns cannot answer a query; Oxigraph may."""

    def __init__(self, feature: str) -> None:
        super().__init__(f"Not supported on columns: {feature}")


@dataclass(frozen=True)
class SqlValue:
    """An SQL expression for a term, in one representation; NULL is unbound or an error.

    Representations are those of :data:`SQL_TYPES`: ``id`` is that of the dictionary, ``node`` the id of a node of the
    KB, ``term`` the internal text, and the others are IRIs and literals.
    """

    sql: str
    kind: str
    nullable: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether the expression is a column or a constant, so that it can be repeated."""
        return _PLAIN.fullmatch(self.sql) is not None


_PLAIN = re.compile(r"[a-z]\d+|'(?:[^']|'')*'(::[A-Z0-9(),]+)?|true|false|NULL")


@dataclass(frozen=True)
class ConstantTerm:
    """A term of a query, as internal text."""

    text: str

    @property
    def kind(self) -> str:
        """The representation that suits it."""
        return self.value.kind

    @property
    def value(self) -> SqlValue:
        """The term in the narrowest representation."""
        kind, sql = self._narrowest()
        return SqlValue(sql, kind, nullable=False)

    def _narrowest(self) -> tuple[str, str]:
        if self.text.startswith("<"):
            return "iri", sql_string(self.text[1:])
        tag, _, text = self.text[1:].partition('"')
        if self.text.startswith('"') and not tag:
            return "string", sql_string(text)
        name = tag[1:].removeprefix(XSD) if tag.startswith("^" + XSD) else ""
        form = _NARROW.get(name)
        if form is None or not form.fullmatch(text):
            return "term", sql_string(self.text)
        if name == "integer" and not -(2**63) <= int(text) < 2**63:
            return "term", sql_string(self.text)
        return name, text if name == "boolean" else f"{sql_string(text)}::{SQL_TYPES[name]}"


_NARROW = {
    "integer": re.compile("-?[0-9]+"),
    "decimal": re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,18})?"),
    "double": re.compile(r"-?[0-9]+(\.[0-9]+)?|NaN|-?INF"),
    "boolean": re.compile("true|false"),
}


def iri(text: str) -> ConstantTerm:
    """Return the constant of an IRI."""
    return ConstantTerm("<" + text)


def literal(text: str, language: str = "", datatype: str = "", *, canonical: bool = True) -> ConstantTerm:
    """Return the constant of a literal, as Oxigraph stores it or, if it is not ``canonical``, as it is written."""
    if language:
        return ConstantTerm(f'"@{language.lower()}"{text}')
    if not datatype or datatype == XSD + "string":
        return ConstantTerm(f'""{text}')
    return ConstantTerm(_canonical(text, datatype) if canonical else f'"^{datatype}"{text}')


def number(text: str, *, canonical: bool = True) -> ConstantTerm:
    """Return the constant of a number in SPARQL's syntax."""
    kind = "double" if "e" in text.lower() else "decimal" if "." in text else "integer"
    return literal(text, datatype=XSD + kind, canonical=canonical)


@lru_cache(maxsize=4096)
def _canonical(text: str, datatype: str) -> str:
    """Ask Oxigraph how it stores a typed literal."""
    import pyoxigraph as ox

    store = ox.Store()
    node = ox.NamedNode("urn:x")
    store.add(ox.Quad(node, node, ox.Literal(text, datatype=ox.NamedNode(datatype))))
    [quad] = store
    stored = quad.object
    assert isinstance(stored, ox.Literal)
    tag = "" if stored.datatype.value == XSD + "string" else "^" + stored.datatype.value
    return f'"{tag}"{stored.value}'


@lru_cache(maxsize=4096)
def cast_constant(term: str, kind: str) -> ConstantTerm | None:
    """Ask Oxigraph for the cast of a constant to a datatype of XML Schema, None if it has none."""
    import pyoxigraph as ox

    tag, _, text = term[1:].partition('"')
    if not term.startswith('"') or tag.startswith("@"):
        return None
    argument = ox.Literal(text, datatype=ox.NamedNode(tag[1:]) if tag else None)
    solutions = ox.Store().query(f"SELECT (<{XSD}{kind}>({argument}) AS ?cast) {{}}")
    assert isinstance(solutions, ox.QuerySolutions)
    [solution] = solutions
    cast = solution["cast"]
    return literal(cast.value, datatype=cast.datatype.value) if isinstance(cast, ox.Literal) else None


# -- texts ------------------------------------------------------------------------------------------------------------

BEYOND = "kbkit:columns"
"""How the message starts with which SQL leaves a value to Oxigraph, on which the whole query then runs."""


def beyond(what: str, type_name: str = "") -> str:
    """Return an expression that raises the error for values whose exact treatment is left to Oxigraph."""
    call = f"error('{BEYOND} {what}')"
    return f"{call}::{type_name}" if type_name else call


def typed(lexical: str, datatype: str) -> str:
    """Return internal text for an SQL expression of a lexical form and the local name of an XML Schema datatype."""
    return f"""('"^{XSD}{datatype}"' || {lexical})"""


def decimal_text(x: str) -> str:
    """Return the lexical form of a decimal column."""
    return f"if({x} = trunc({x}), {x}::DECIMAL(38,0)::VARCHAR, rtrim({x}::VARCHAR, '0'))"


def double_text(x: str) -> str:
    """Return the lexical form of a double column: all digits, without an exponent."""
    s = f"{x}::VARCHAR"
    digits = f"replace(ltrim(split_part({s}, 'e', 1), '-'), '.', '')"
    sign = f"if({x} < 0, '-', '')"
    return (
        f"CASE WHEN isnan({x}) THEN 'NaN' WHEN isinf({x}) THEN if({x} > 0, 'INF', '-INF')"
        f" WHEN {x} = 0 THEN if(signbit({x}), '-0', '0')"
        f" WHEN abs({x}) < 1e-4 THEN {sign} || '0.' || repeat('0', split_part({s}, 'e-', 2)::INTEGER - 1) || {digits}"
        f" WHEN contains({s}, 'e+') THEN {sign} || rpad({digits}, 1 + split_part({s}, 'e+', 2)::INTEGER, '0')"
        f" ELSE regexp_replace({s}, '[.]0$', '') END"
    )


def date_text(x: str) -> str:
    """Return the lexical form of a DATE or TIMESTAMP column."""
    return f"if(year({x}) BETWEEN 1 AND 9999, replace({x}::VARCHAR, ' ', 'T'), {beyond('years beyond four digits')})"


def lexical(value: SqlValue) -> str:
    """Return the lexical form or the IRI of a column, unless it is ``id`` or ``node``; NULL for a blank node."""
    x = value.sql
    if value.kind in ("iri", "string"):
        return x
    if value.kind == "term":
        return f"CASE {x}[1] WHEN '\"' THEN {literal_text(x)} WHEN '<' THEN substr({x}, 2) END"
    texts = {"decimal": decimal_text, "double": double_text, "date": date_text, "dateTime": date_text}
    return texts[value.kind](x) if value.kind in texts else f"{x}::VARCHAR"


def as_term(value: SqlValue) -> SqlValue:
    """Convert a column to internal text, unless it is ``id`` or ``node``."""
    x = value.sql
    if value.kind == "term":
        return value
    if value.kind == "iri":
        return replace(value, sql=f"('<' || {x})", kind="term")
    if value.kind == "string":
        return replace(value, sql=f"""('""' || {x})""", kind="term")
    return replace(value, sql=typed(lexical(value), value.kind), kind="term")


def promoted(value: SqlValue, kind: str) -> str:
    """Return a number in a wider representation."""
    return value.sql if value.kind == kind else f"({value.sql})::{SQL_TYPES[kind]}"


# -- parts of internal text -------------------------------------------------------------------------------------------

NUMBER_CODES = {"integer": 1, "decimal": 2, "float": 3, "double": 4}


def literal_text(t: str) -> str:
    """Return the lexical form of a column of literals."""
    return f"substr({t}, strpos(substr({t}, 2), '\"') + 2)"


def literal_tag(t: str) -> str:
    """Return the tag of a column of literals."""
    return f"substr({t}, 2, strpos(substr({t}, 2), '\"') - 1)"


def is_literal(t: str) -> str:
    """Return whether a term is a literal."""
    return f"starts_with({t}, '\"')"


def number_code(tag: str, text: str) -> str:
    """Return a value of :data:`NUMBER_CODES` for tag and lexical form of a valid number, NULL for other literals."""
    forms = {
        "integer": f"regexp_full_match({text}, '-?[0-9]+') AND TRY_CAST({text} AS BIGINT) IS NOT NULL",
        "decimal": f"regexp_full_match({text}, '-?[0-9]{{1,20}}([.][0-9]{{1,18}})?')",
        "float": f"regexp_full_match({text}, '-?[0-9]+([.][0-9]+)?|NaN|-?INF')",
        "double": f"regexp_full_match({text}, '-?[0-9]+([.][0-9]+)?|NaN|-?INF')",
    }
    cases = "".join(f" WHEN '^{XSD}{name}' THEN if({forms[name]}, {code}, NULL)" for name, code in NUMBER_CODES.items())
    return f"CASE {tag}{cases} END"


def exact_number(code: str, text: str) -> str:
    """Return the value of a number that is an integer or a decimal."""
    return f"CASE WHEN {code} <= 2 THEN TRY_CAST({text} AS DECIMAL(38,18)) END"


def double_number(code: str, text: str) -> str:
    """Return the value of a number as a double."""
    return (
        f"CASE WHEN {code} = 3 THEN TRY_CAST({text} AS FLOAT)::DOUBLE WHEN {code} IS NOT NULL"
        f" THEN TRY_CAST({text} AS DOUBLE) END"
    )


_YEAR = "-?[0-9]{4,}"
_ZONE = "(Z|[-+][0-9]{2}:[0-9]{2})"
_DATE = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME = "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
_TIMES = "(dateTime|date|time|g[A-Z][A-Za-z]*|[a-zA-Z]*[dD]uration|dateTimeStamp)"


def is_time(tag: str) -> str:
    """Return whether a tag is that of a date, a time or a duration."""
    return f"coalesce(regexp_full_match({tag}, '\\^{re.escape(XSD)}{_TIMES}'), false)"


def moment_epoch(tag: str, text: str) -> str:
    """Return the microseconds since 1970 of a valid date or dateTime; NULL for other literals."""
    local = f"regexp_replace({text}, '{_ZONE}$', '')"
    zone = zone_of(text)
    offset = (
        f"CASE WHEN {zone} IN ('', 'Z') THEN 0 ELSE if(starts_with({zone}, '-'), -1, 1)"
        f" * (substr({zone}, 2, 2)::BIGINT * 3600 + substr({zone}, 5, 2)::BIGINT * 60) * 1000000 END"
    )
    return (
        f"CASE WHEN ({tag} = '^{XSD}dateTime' AND regexp_full_match({text}, '{_DATE}T{_TIME}{_ZONE}?'))"
        f" OR ({tag} = '^{XSD}date' AND regexp_full_match({text}, '{_DATE}{_ZONE}?'))"
        f" THEN CASE WHEN TRY_CAST({local} AS TIMESTAMP) IS NOT NULL AND regexp_matches({text}, '^[0-9]{{4}}-')"
        f" THEN epoch_us(TRY_CAST({local} AS TIMESTAMP)) - {offset}"
        f" WHEN regexp_matches({text}, '^[0-9]{{4}}-') THEN NULL ELSE {beyond('years beyond four digits')} END"
        f" WHEN {tag} = '^{XSD}dateTime' AND regexp_matches({text}, '[.][0-9]{{7,}}')"
        f" THEN {beyond('long fractions of seconds')} END"
    )


def zone_of(text: str) -> str:
    """Return the time zone of the lexical form of a date or dateTime, empty without one."""
    return f"regexp_extract({text}, '{_ZONE}$', 1)"


def has_zone(text: str) -> str:
    """Return whether the lexical form of a date or dateTime has a time zone."""
    return f"regexp_matches({text}, '{_ZONE}$')"


def part_of_moment(name: str, text: str) -> str:
    """Return the YEAR, MONTH, DAY, HOURS or MINUTES of a lexical form, without a check."""
    patterns = {"YEAR": f"^({_YEAR})", "MONTH": f"^{_YEAR}-([0-9]{{2}})", "DAY": f"^{_YEAR}-[0-9]{{2}}-([0-9]{{2}})"}
    patterns |= {"HOURS": "T([0-9]{2}):", "MINUTES": "T[0-9]{2}:([0-9]{2}):"}
    return f"TRY_CAST(regexp_extract({text}, '{patterns[name]}', 1) AS BIGINT)"


def plain_case(s: str) -> str:
    """Return a string whose case mapping is the same in all libraries; others are left to Oxigraph."""
    special = "[ßŉǰΐΰևẖẗẘẙẚẞΣİıǅǈǋǲᾀ-ᾯᾲ-ᾴᾶᾷᾼῂ-ῄῆῇῌῒΐῖῗῢ-ῤῦῧῲ-ῴῶῷῼﬀ-ﬆﬓ-ﬗ]"
    unusual = f"strlen({s}) <> length({s}) AND regexp_matches({s}, '{special}')"
    return f"if({unusual}, {beyond('letters with several cases')}, {s})"


def term_rank(value: SqlValue) -> str:
    """Return the place of a column's kind in SPARQL's order: unbound 0, blank node 1, IRI 2, literal 3."""
    x = value.sql
    if value.kind == "term":
        return f"CASE {x}[1] WHEN '_' THEN 1 WHEN '<' THEN 2 WHEN '\"' THEN 3 ELSE 0 END"
    return f"if({x} IS NULL, 0, {2 if value.kind == 'iri' else 3})"
